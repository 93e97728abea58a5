"""The shards of a run: every example goes to one of them, by its content.

Each shard reads all of the data, and numbers it as the uncut run does. So neither the order of the
data nor what is appended to it moves an example to another shard, and all shards agree about ids
and positions.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Any

import attrs

from cbcore.json_data import to_json, to_json_safe
from cbcore.settings import Option

_WRITTEN = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*")
_UNIT = "shard_unit"
"""Examples with the same value of this field go to one shard."""


@attrs.frozen(repr=False)
class Shard:
    """One of `count` parts of a run. The first has number 1."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """The shard that `3/16` means. Raises ValueError that ends the sentence "NAME …"."""
        written = _WRITTEN.fullmatch(text)
        if written is None:
            raise ValueError(f"must be K/N, such as 3/16, not {text!r}")
        number, count = int(written[1]), int(written[2])
        if not 1 <= number <= count:
            raise ValueError(f"must be K/N with K from 1 to N, not {text!r}")
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def holds(self, example: Any) -> bool:
        """Whether an example goes to this shard.

        What is not plain data goes by its dataset and id: its error may name a file, which is in
        another place on another machine.
        """
        unit: Any = example.data.get(_UNIT)
        key = example.key
        if unit is not None:
            key = _digest(to_json(to_json_safe(unit), sort_keys=True))
        elif not key:
            key = _digest(to_json([example.dataset, str(example.id)]))
        return int(key[:16], 16) % self.count == self.number - 1


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


SHARD = Option(
    help="Of N shards, run the K-th: examples by their content. `cb merge` joins them.",
    metavar="K/N",
    parse=lambda text: str(Shard.read(text)),
    keep_on_rescore=True,
)
