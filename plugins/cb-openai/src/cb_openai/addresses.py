"""From what users write as a base URL to where requests go."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

_VERSION = re.compile(r"v\d+\w*\Z")
_ENDPOINT = re.compile(r"/(?:chat/completions|completions|responses)/*\Z")


def normalize(base_url: str) -> str:
    """The base URL with its version segment: `http://host:1` becomes `http://host:1/v1`.

    A path that already names a version is kept, and the path of an API at its end is cut off.
    Raises ValueError for what is no HTTP address.
    """
    if not isinstance(base_url, str) or not base_url.strip():
        raise ValueError("base_url is empty: give the endpoint's address, http://host:port")
    parts = urlsplit(base_url.strip())
    if parts.scheme not in ("http", "https"):
        told = f"base_url is {_without_login(base_url)!r}: it must begin with http:// or https://"
        raise ValueError(told)
    if parts.username is not None or parts.password is not None:
        raise ValueError("base_url has a login in it: give api_key or headers instead")
    try:
        known = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        known = False
    if not known:
        raise ValueError(f"base_url is {base_url!r}: it names no host, or no possible port")
    path = _ENDPOINT.sub("", parts.path).rstrip("/")
    if not any(_VERSION.match(segment) for segment in path.split("/")):
        path += "/v1"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def join_path(base_url: str, path: str) -> str:
    """The address of one API below a normalised base URL, its query kept."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(path=f"{parts.path}/{path}"))


def host_and_port(base_url: str) -> str:
    """How an endpoint is called when nobody names it: `localhost:7878`, `api.example.com`."""
    return urlsplit(base_url).netloc.rpartition("@")[2]


def _without_login(text: str) -> str:
    return f"…@{text.rpartition('@')[2]}" if "@" in text else text
