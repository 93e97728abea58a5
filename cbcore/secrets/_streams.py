"""The gate for what is printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cbcore.secrets._known import blot


class RedactedStream:
    """A stream of text or bytes that shows no known secret."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, data: Any) -> int:
        if isinstance(data, str):
            self._stream.write(blot(data))
        else:
            shown = blot(bytes(data).decode("utf-8", "surrogateescape"))
            self._stream.write(shown.encode("utf-8", "surrogateescape"))
        return len(data)

    @property
    def buffer(self) -> RedactedStream:
        return RedactedStream(self._stream.buffer)

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
