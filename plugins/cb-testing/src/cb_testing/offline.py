"""No network beyond this machine while components are tried on made-up examples.

A system with its default parameters may talk to a service that costs money. What it attempts
is refused and noted, so that the component is reported as not checked.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def no_network() -> Iterator[list[str]]:
    """Refuse connections to other machines; gives the list that attempts are noted in.

    Threads that other code left behind, such as those of a cluster, may go on.
    """
    attempts: list[str] = []
    others = set(threading.enumerate()) - {threading.current_thread()}

    def is_allowed(host: Any) -> bool:
        return _is_here(host) or threading.current_thread() in others

    def refuse(host: Any, port: Any) -> OSError:
        attempts.append(f"{host}:{port}")
        return OSError(f"a conformance check does not connect to {host}:{port}")

    def checking(method: str) -> Any:
        real = getattr(socket.socket, method)

        def connect(self: socket.socket, address: Any) -> Any:
            if isinstance(address, tuple) and not is_allowed(address[0]):
                raise refuse(address[0], address[1])
            return real(self, address)

        return connect

    def look_up(host: Any, port: Any, *arguments: Any, **keywords: Any) -> Any:
        if not is_allowed(host):
            raise refuse(host, port)
        return real_look_up(host, port, *arguments, **keywords)

    real_look_up = socket.getaddrinfo
    with contextlib.ExitStack() as restored:
        for method in ("connect", "connect_ex"):
            # The class inherits them, so that what is set here hides them and can be removed.
            setattr(socket.socket, method, checking(method))
            restored.callback(delattr, socket.socket, method)
        socket.getaddrinfo = look_up
        restored.callback(setattr, socket, "getaddrinfo", real_look_up)
        yield attempts


def _is_here(host: Any) -> bool:
    """Whether a host is this machine: nothing is looked up to find out."""
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if text in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(text).partition("%")[0]).is_loopback
    except ValueError:
        return False
