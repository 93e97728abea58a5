"""Messages between the run and its envoy: pickled, each after its length, over a pipe."""

from __future__ import annotations

import pickle
import struct
import threading
from typing import Any, BinaryIO

_LENGTH = struct.Struct(">Q")


class Writer:
    """The end of a pipe that messages go into, from any thread."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, *message: Any) -> None:
        """Send one. Raises OSError when nobody is at the other end."""
        data = pickle.dumps(message, protocol=5)
        with self._lock:
            self._stream.write(_LENGTH.pack(len(data)))
            self._stream.write(data)
            self._stream.flush()


def read(stream: BinaryIO) -> tuple[Any, ...] | None:
    """The next message; None when the other end is gone, in the middle of one too."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        return None
    message: tuple[Any, ...] = pickle.loads(data)  # noqa: S301 - from the process at the other end
    return message
