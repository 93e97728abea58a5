"""What components print in a worker, by the example that they were at."""

from __future__ import annotations

import contextlib
import contextvars
import io
import sys
import threading
from collections.abc import Iterator
from typing import Any, TextIO

_MOST_SAID = 10_000
"""Characters that are told of what components print at one example."""

_at: contextvars.ContextVar[tuple[Said, int] | None] = contextvars.ContextVar("at", default=None)
_listening = threading.Lock()
_listeners: list[Said] = []
_before: tuple[TextIO, TextIO] | None = None


class Said:
    """Standard output and standard error of one bench, by the place of their example."""

    def __init__(self) -> None:
        self._last = 0
        self._texts: dict[int, str] = {}

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Whatever is printed now is kept. Several benches of one process may listen at once."""
        global _before  # noqa: PLW0603 - there is one standard output
        with _listening:
            if not _listeners:
                _before = sys.stdout, sys.stderr
                sys.stdout = sys.stderr = _Router()
            _listeners.append(self)
        try:
            yield
        finally:
            with _listening:
                _listeners.remove(self)
                if not _listeners and _before is not None:
                    sys.stdout, sys.stderr = _before
            _at.set(None)

    def begin(self, place: int) -> None:
        """What is printed from now on, in this task or thread, belongs to this example."""
        _at.set((self, place))
        self._last = place

    def add(self, text: str, place: int | None = None) -> None:
        place = self._last if place is None else place
        self._texts[place] = (self._texts.get(place, "") + text)[: _MOST_SAID + 1]

    def taken(self, n_examples: int) -> list[tuple[int, str]]:
        """What was printed, without what is too much; places begin anew."""
        said = [
            (place, text if len(text) <= _MOST_SAID else f"{text[:_MOST_SAID]}…")
            for place, text in sorted(self._texts.items())
            if place < n_examples and text.strip()
        ]
        self._texts, self._last = {}, 0
        return said


class _Bytes(io.RawIOBase):
    """The `buffer` of the stream that stands for both."""

    def __init__(self, text: io.TextIOBase) -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        written = bytes(data)
        self._text.write(written.decode("utf-8", "replace"))
        return len(written)


class _Router(io.TextIOBase):
    """Stands for both streams: what is written goes to who is at work in this context."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self) -> None:
        self.buffer = _Bytes(self)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        """The worker's standard error, for who writes past Python's streams."""
        return super().fileno() if _before is None else _before[1].fileno()

    def write(self, text: str) -> int:
        at, listeners = _at.get(), _listeners
        if at is not None:
            at[0].add(text, at[1])
        elif len(listeners) == 1:  # a thread that a call has started
            listeners[0].add(text)
        elif _before is not None:
            _before[1].write(text)
        return len(text)
