"""A stream that is read once, and then as often as needed."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator
from operator import length_hint
from typing import Any

__all__: tuple[str, ...] = ()  # for the runs of cb

_END: Any = object()


class Spool:
    """Examples that are pulled once and read again from a temporary file.

    May be iterated over several times at once, in one thread.
    """

    def __init__(self, examples: Iterable[Any]) -> None:
        self._examples = examples
        self._source: Iterator[Any] | None = None
        self._failure: BaseException | None = None
        self._offsets: list[int] = []
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it goes with this object

    def __del__(self) -> None:
        self._file.close()

    def __length_hint__(self) -> int:
        length = length_hint(self._examples, -1)
        return length if length >= 0 else NotImplemented

    def __iter__(self) -> Iterator[Any]:
        index = 0
        while index < len(self._offsets) or self._pull():
            self._file.seek(self._offsets[index])
            yield pickle.load(self._file)  # noqa: S301 - written below
            index += 1

    def _pull(self) -> bool:
        """Write the next example to the file. False at the end of the data."""
        if self._failure is not None:
            raise self._failure
        try:
            self._source = self._source or iter(self._examples)
            example = next(self._source, _END)
        except BaseException as error:  # each system gets it
            self._failure = error
            raise
        if example is not _END:
            self._offsets.append(self._file.seek(0, 2))
            pickle.dump(example, self._file, protocol=pickle.HIGHEST_PROTOCOL)
        return example is not _END
