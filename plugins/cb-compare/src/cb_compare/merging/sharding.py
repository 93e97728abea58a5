"""A run cut into shards: which examples are whose, and what is noted so that they can be joined.

Every shard reads the whole of the data, numbers it as a run without shards would, and keeps the
examples whose content falls to it. So neither the order of the data nor what was appended to it
decides where an example goes, examples of equal content go together, and all shards agree about
ids and positions without having talked to each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import attrs

from cbcore.identity import content_key
from cbcore.json_data import to_json
from cbcore.results import EvalRow

if TYPE_CHECKING:
    from cbcore._run.benchmark import Benchmark
    from cbcore._run.work import Work

SOURCE = "shard_source"
POSITION = "shard_position"
"""In the metadata of a shard's rows: which benchmark of the run their example is of, and where in it
it stands. `cb merge` orders rows by these, and takes them out."""

_WRITTEN = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*")
_UNIT = "shard_unit"
"""The field of an example that names the unit it is in: examples of one unit go to one shard."""


@attrs.frozen(repr=False)
class Shard:
    """One of `count` parts of a run; the first is number 1."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """A shard as it is written, `3/16`. Raises ValueError with what is wrong."""
        written = _WRITTEN.fullmatch(text)
        if written is None:
            raise ValueError(f"must be K/N, such as 3/16, not {text!r}")
        number, count = int(written[1]), int(written[2])
        if not 1 <= number <= count:
            raise ValueError(f"must be K/N with K from 1 to N, not {text!r}")
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def holds(self, key: bytes) -> bool:
        """Whether what has this digest falls to it."""
        return int.from_bytes(key[:8], "big") % self.count == self.number - 1


class Sharding:
    """The shard that a run is, while it goes on.

    Of every benchmark that was read to its end it notes how many examples all shards together have,
    and a digest of them: shards of other data are not joined.
    """

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self._data: dict[int, dict[str, Any]] = {}

    def own(self, works: Iterable[Work], benchmark: Benchmark) -> Iterator[Work]:
        """Of the work on a benchmark, what falls to this shard; repeats go with their example."""
        digest, n_examples, is_own = blake2b(digest_size=16), 0, False
        for work in works:
            if not work.repeat:
                n_examples += 1
                content, decisive = _keys(work)
                digest.update(content)
                is_own = self.shard.holds(decisive)
            if is_own:
                yield work
        told = {"dataset": benchmark.name, "examples": n_examples, "digest": digest.hexdigest()}
        self._data[benchmark.place] = told

    def place(self, row: EvalRow, benchmark: Benchmark, index: int) -> EvalRow:
        """The row, with where its example stands."""
        row.metadata[SOURCE] = benchmark.place
        row.metadata[POSITION] = index
        return row

    @property
    def data(self) -> list[dict[str, Any]]:
        """What was read of each benchmark, in their order; those not read to their end are not there."""
        return [{"source": place, **told} for place, told in sorted(self._data.items())]

    @property
    def remark(self) -> str:
        """What has to be said beside every number of this run."""
        number, count = self.shard.number, self.shard.count
        return f"this is shard {number} of {count}: `cb merge` joins all of them"


def _keys(work: Work) -> tuple[bytes, bytes]:
    """A digest of the example, and the one that decides whose it is.

    Examples of one unit go together, for example questions that share an expensive preparation. What is not plain data, or cannot be read, is known by its id: what is said of it
    may name a place, which is another on another machine.
    """
    try:
        if work.example:
            content = content_key(to_json(work.example, sort_keys=True))
            unit = work.example.get(_UNIT)
            if unit is None:
                return content, content
            return content, content_key(to_json(unit, sort_keys=True))
    except TypeError:
        pass
    known = content_key(to_json([work.dataset, str(work.example_id)], sort_keys=True))
    return known, known
