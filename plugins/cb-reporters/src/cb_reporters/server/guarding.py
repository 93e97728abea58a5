"""Who may ask: whoever knows the token, from a page that came from here.

A server on loopback can be reached by every page that is open in the browser. So a request needs
the token, which is in the address that the user was given; it has to be addressed to loopback by
name, so that a foreign name that was made to point here gets nothing; and a page of another
origin is refused even if it knew the token.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import attrs

NAMES = ("127.0.0.1", "localhost")
"""How loopback may be called."""


@attrs.frozen
class Guard:
    """Decides by a request's path and headers."""

    port: int
    token: str = attrs.field(factory=lambda: secrets.token_urlsafe(24))

    @property
    def address(self) -> str:
        """What the user opens."""
        return f"http://{NAMES[0]}:{self.port}/{self.token}/"

    def refusal(self, headers: Mapping[str, str]) -> str | None:
        """Why a request is refused, whatever it asks for; None where it is not."""
        hosts = {f"{name}:{self.port}" for name in NAMES}
        host = headers.get("Host", "")
        if host.lower() not in hosts:
            return "this server answers on loopback only, by its own name"
        origin = headers.get("Origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in hosts}:
            return "this server answers its own pages only"
        site, mode = headers.get("Sec-Fetch-Site", ""), headers.get("Sec-Fetch-Mode", "")
        if site in ("cross-site", "same-site") and mode != "navigate":
            return "this server answers its own pages only"
        return None

    def inside(self, path: str) -> str | None:
        """The path behind the token; None without it."""
        given, slash, rest = path.removeprefix("/").partition("/")
        is_known = secrets.compare_digest(given.encode(), self.token.encode())
        return rest if is_known and slash else None
