"""The last gate: no known secret gets to standard output or standard error, whoever writes it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO, Any

from cbcore.secrets import blot


def guard_streams() -> None:
    """From now on, blot known secrets out of what is printed: results, tracebacks, plugins' own.

    To the end of the process, as threads and exit handlers may print until then. What goes past
    Python's streams (a child process, `os.write`) cannot be seen here.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None:
            setattr(sys, name, guarded(stream))


def guarded(stream: Any) -> Any:
    """A text stream that shows no secret."""
    return stream if isinstance(stream, _Guarded) else _Guarded(stream)


def unguarded(stream: Any) -> Any:
    """The stream that a guarded one stands for."""
    return stream._stream if isinstance(stream, _Guarded) else stream


class _Guarded:
    """A text stream without secrets; in all else the stream that it stands for."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        shown = blot(text) if isinstance(text, str) else text
        written = self._stream.write(shown)
        return written if shown is text else len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """The bytes behind the text, for who writes those; guarded as well."""
        return _GuardedBytes(self._stream.buffer)  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _GuardedBytes:
    """The same for bytes, which are looked at as UTF-8."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, data: Any) -> int:
        text = bytes(data).decode("utf-8", "surrogateescape")
        if (shown := blot(text)) == text:
            return self._stream.write(data)
        self._stream.write(shown.encode("utf-8", "surrogateescape"))
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
