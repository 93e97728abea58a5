"""The server: loopback, one token, reading only."""

from __future__ import annotations

import gzip
import secrets
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import attrs

from cb_reporters.server import listing
from cb_reporters.server.answering import HTML, JSON, Answer, Site
from cbcore.boundary import contained

NAMES = ("127.0.0.1", "localhost")
"""How loopback may be called."""


@attrs.frozen
class Guard:
    """Decides by a request's path and headers."""

    port: int
    token: str = attrs.field(factory=lambda: secrets.token_urlsafe(24))

    @property
    def address(self) -> str:
        """The address that the user opens."""
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


# -- the server ----------------------------------------------------------------------------------


_TIME_LIMIT_S = 30
_WORTH_PACKING = 1400


class Server(ThreadingHTTPServer):
    """Serves a site on loopback until it is shut down."""

    daemon_threads = True
    # Another process that listens on the same port would get the requests, and their tokens.
    allow_reuse_port = False

    def __init__(self, site: Site, port: int = 0) -> None:
        super().__init__((NAMES[0], port), _Handler)
        self.site = site
        self.guard = Guard(self.server_port)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away in the middle is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "cb", ""
    protocol_version = "HTTP/1.1"
    timeout = _TIME_LIMIT_S

    def do_GET(self) -> None:
        self._send(self._answer())

    def do_HEAD(self) -> None:
        self.do_GET()

    def __getattr__(self, name: str) -> Any:
        # Any other method: whatever it is called, it would change something.
        if name.startswith("do_"):
            return self._refuse_method
        raise AttributeError(name)

    def log_message(self, *_: Any) -> None:
        """Addresses hold the token: nothing of a request is written anywhere."""

    def _refuse_method(self) -> None:
        self.close_connection = True  # what follows may be the body of the request
        self._send(_refused(405, "this server is only read"))

    def _answer(self) -> Answer:
        guard = self.server.guard
        headers = {name: self.headers.get(name) for name in _LOOKED_AT}
        if reason := guard.refusal({k: v for k, v in headers.items() if v is not None}):
            return _refused(403, reason)
        address = urlsplit(self.path)
        path = guard.inside(address.path)
        if path is None:
            return _refused(404, "open the address that `cb view` has printed, with its token")
        with contained() as tried:
            return self.server.site.answer(path, address.query)
        told = f"this could not be shown: {tried.reason}"
        if "/data/" in path:
            return Answer('{"error": "this could not be read"}', JSON, 500)
        return Answer(listing.message("This cannot be shown", told), HTML, 500)

    def _send(self, answer: Answer) -> None:
        body = answer.body.encode("utf-8", "replace")
        self.send_response(answer.status)
        if len(body) > _WORTH_PACKING and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, compresslevel=1, mtime=0)
            self.send_header("Content-Encoding", "gzip")
        if answer.location:
            self.send_header("Location", answer.location)
        if answer.status == 405:
            self.send_header("Allow", "GET, HEAD")
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", answer.policy)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


_LOOKED_AT = ("Host", "Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode")
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def _refused(status: int, reason: str) -> Answer:
    """For whom knows no token: a line of text, and nothing to be learned from it."""
    return Answer(f"{reason}\n", "text/plain; charset=utf-8", status)
