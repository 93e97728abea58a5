"""Messages between a run and a worker process, each behind its length, over a socket.

The run never waits for a worker in the middle of one: a process that is stopped, or busy with
something else, costs its own batch and its own time, and keeps nobody else waiting.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator

_LENGTH = struct.Struct("!Q")
_AT_ONCE = 1 << 18
_MOST_READS = 64
"""So many parts of a message are read before others have their turn."""


class Pipe:
    """The end of the run: what cannot be written or read now is left for later."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._socket.setblocking(False)
        self._incoming = bytearray()
        self._outgoing: memoryview = memoryview(b"")

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def has_more(self) -> bool:
        """Whether a part of a message is still to be written."""
        return len(self._outgoing) > 0

    def send(self, message: bytes) -> None:
        """Write a message as far as that goes at once; `flush` writes the rest.

        Raises OSError when nobody is at the other end.
        """
        waiting = (self._outgoing, _LENGTH.pack(len(message)), message)
        self._outgoing = memoryview(b"".join(waiting))
        self.flush()

    def flush(self) -> None:
        """Write as much as there is room for. Raises OSError as `send` does."""
        with contextlib.suppress(BlockingIOError):
            while self._outgoing:
                self._outgoing = self._outgoing[self._socket.send(self._outgoing) :]

    def received(self) -> Iterator[bytes]:
        """The messages that are complete by now. Raises EOFError behind the last of them."""
        is_over = self._take()
        while len(self._incoming) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._incoming)
            end = _LENGTH.size + length
            if len(self._incoming) < end:
                break
            message = bytes(memoryview(self._incoming)[_LENGTH.size : end])
            del self._incoming[:end]
            yield message
        if is_over:
            raise EOFError

    def _take(self) -> bool:
        """Read what is there; whether that was the last of it."""
        try:
            for _ in range(_MOST_READS):
                data = self._socket.recv(_AT_ONCE)
                if not data:
                    return True
                self._incoming += data
        except BlockingIOError:
            pass
        except OSError:
            return True
        return False

    def close(self) -> None:
        self._socket.close()


class WorkerPipe:
    """The end of a worker, which has nothing to do but wait."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.setblocking(True)  # whatever holds for other sockets of this program

    def send(self, message: bytes) -> None:
        """Raises OSError when the run is gone."""
        self._socket.sendall(_LENGTH.pack(len(message)))
        self._socket.sendall(message)

    def receive(self) -> bytes:
        """The next message. Raises EOFError or OSError when there will be none."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        return bytes(self._read(length))

    def _read(self, length: int) -> bytearray:
        data = bytearray(length)
        left = memoryview(data)
        while left:
            taken = self._socket.recv_into(left)
            if not taken:
                raise EOFError
            left = left[taken:]
        return data
