"""Rows as lines of a table: the same columns in CSV, Parquet and data frames.

First the fields of a row, then every score by its name, every metadata key as `metadata.<key>`,
and the reasons for missing scores as one text in `missing`. A score whose name is already a
column's is `scores.<name>`. In JSON, scores and metadata stand in objects of these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from cbcore.results import EvalRow

__all__ = ("FlatColumns",)

_FIELDS = (
    *("system", "example_id", "input_tokens", "output_tokens", "latency", "dataset", "error"),
    *("response", "response_tokens", "repeat", "recalled", "example_digest"),
)
_MISSING = "missing"
_TAKEN = {*_FIELDS, _MISSING, "scores", "metadata"}


@attrs.frozen(repr=False)
class FlatColumns:
    """The columns of some rows: `fields` of every row, then scores and metadata by their names."""

    scores: dict[str, str]
    metadata: dict[str, str]
    fields: tuple[str, ...] = _FIELDS

    @classmethod
    def of(cls, rows: Iterable[EvalRow]) -> FlatColumns:
        """The columns that these rows need. They are gone through once."""
        scores: set[str] = set()
        metadata: set[str] = set()
        for row in rows:
            scores.update(row.scores)
            metadata.update(map(str, row.metadata))
        return cls(
            {name: _score_column(name) for name in sorted(scores)},
            {key: f"metadata.{key}" for key in sorted(metadata)},
        )

    @property
    def names(self) -> list[str]:
        """All columns, in order."""
        return [*self.fields, *self.scores.values(), *self.metadata.values(), _MISSING]

    def line(self, row: EvalRow) -> dict[str, Any]:
        """A row by these columns, in their order; a score or key that it lacks is left out."""
        return dict(self._cells(row))

    def _cells(self, row: EvalRow) -> Iterator[tuple[str, Any]]:
        for field in self.fields:
            yield field, getattr(row, field)
        for name, column in self.scores.items():
            if name in row.scores:
                yield column, row.scores[name]
        if row.metadata:
            by_key = {str(key): value for key, value in row.metadata.items()}
            for key, column in self.metadata.items():
                if key in by_key:
                    yield column, by_key[key]
        yield _MISSING, "; ".join(f"{name}: {why}" for name, why in row.missing.items())


def _score_column(name: str) -> str:
    clashes = name in _TAKEN or name.startswith(("scores.", "metadata."))
    return f"scores.{name}" if clashes else name
