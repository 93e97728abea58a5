"""Columns: an evaluator pointed at data that is laid out differently than it expects.

Any evaluator takes `<field>_column=` beside its own parameters. The value says where the field
is read from:

    ground_truth_column="my_ground_truth_col"             a column
    contexts_column="prediction.contexts"                 a path into it, of any depth
    contexts_column="retrieved.0.text"                    an item of a list; -1 is the last
    contexts_column="docs.*.text"                         that of every item of a list
    contexts_column="'a.b'.text"                          quoted: a name, whatever is in it
    contexts_column="predictions.{system}.contexts"       the system under test, as one name
    contexts_column="original.contexts"                   only the example; `processed.`: only
                                                          what the system returned
    contexts_column=lambda row: [row["pred"]["message"]]  a function of the row
    contexts_column="py:./mine.py:contexts"               the same, by name

A name that really contains dots wins over the path. A name that both the example and the
output have is taken from the side the field belongs to: gold from the example, what a system
produces from the output. All columns are read before any is replaced, so two can be swapped.

`mapped(evaluator, answer_column="meta.gold")` does this for any evaluator from Python, and the
core does it wherever specs are written. An evaluator whose constructor has `…_column`
parameters of its own gets them itself, and reads with `ColumnReader`.

Any dataset takes them as well: `data.jsonl:context_column=passage.text,id_column=qid`. Then
everybody in the run sees the field, systems too; `evaluate(fields=…)` does it from Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cbcore.columns._guesses import propose_fields
from cbcore.columns._paths import Side
from cbcore.columns._predictions import RecordedPredictions
from cbcore.columns._reader import SUFFIX, Column, ColumnReader
from cbcore.columns._watched import Watched
from cbcore.exceptions import MissingScoreError
from cbcore.names import asking, near_matches

__all__ = [
    "SUFFIX",
    "Column",
    "ColumnReader",
    "RecordedPredictions",
    "Side",
    "bound_to_system",
    "mapped",
    "propose_fields",
]

OUTPUT_FIELDS = frozenset({"response", "context", "contexts", "turn_responses"})
"""Fields that are a system's to produce, where an evaluator does not say otherwise."""


def side_of(evaluator: Any, field: str) -> Side:
    """Where a field of an evaluator is looked for first: where it says, or where it belongs."""
    needed = field in getattr(evaluator, "needs", ())
    needed_output = field in getattr(evaluator, "needs_output", ())
    if needed != needed_output:
        return "original" if needed else "processed"
    return "processed" if field in OUTPUT_FIELDS else "original"


def mapped(evaluator: Any, **columns: Column) -> Mapped:
    """An evaluator that reads fields from elsewhere: `mapped(evaluator, answer_column="gold")`.

    Raises ValueError for a keyword that is not `<field>_column`, for a path that cannot be
    read, and for a field that the evaluator, if it declares what it `reads`, does not.
    """
    fields = {}
    for keyword, column in columns.items():
        if not keyword.endswith(SUFFIX) or keyword == SUFFIX:
            raise ValueError(f"{keyword!r} is not the name of a field followed by {SUFFIX}")
        fields[keyword.removesuffix(SUFFIX)] = column
    return Mapped(evaluator, fields)


class Mapped:
    """An evaluator that is shown the mapped fields in the places where it looks for them.

    A field it `needs` is shown in the example, one it lists in `needs_output` in the output,
    any other in both, as only the evaluator knows where it looks. The rest is its own.
    """

    def __init__(
        self, evaluator: Any, columns: Mapping[str, Column], system: str | None = None
    ) -> None:
        reads = tuple(getattr(evaluator, "reads", ()))
        for field in columns:
            if reads and field not in reads:
                told = asking(
                    near_matches(field, reads, limit=1),
                    shown=lambda name: f"{name}{SUFFIX}",
                    then=f"it reads {', '.join(reads)}",
                )
                raise ValueError(f"{evaluator.name} does not read a field {field!r}; {told}")
        self.evaluator = evaluator
        sides = {field: side_of(evaluator, field) for field in columns}
        self._reader = ColumnReader(evaluator.name, columns, sides, system=system)
        self.columns = self._reader.columns
        needs = tuple(getattr(evaluator, "needs", ()))
        needs_output = tuple(getattr(evaluator, "needs_output", ()))
        self._only_example = set(needs) - set(needs_output)
        self._only_output = set(needs_output) - set(needs)
        self._unmet = tuple(n for n in needs if n not in columns)
        self._unmet_output = tuple(n for n in needs_output if n not in columns)
        self._unread: set[str] | None = None
        # Part of what the store knows scores by, where it can change them.
        self.system = system if self._reader.depends_on_system else None

    @property
    def needs(self) -> tuple[str, ...]:
        """What the example itself must still have."""
        return self._unmet

    @property
    def needs_output(self) -> tuple[str, ...]:
        """What the output itself must still have."""
        return self._unmet_output

    @property
    def unread_columns(self) -> frozenset[str]:
        """Mapped fields that the evaluator did not look at in any row it was shown."""
        return frozenset(self._unread or ())

    def __repr__(self) -> str:
        columns = ", ".join(f"{field}{SUFFIX}={c!r}" for field, c in self.columns.items())
        return f"mapped({self.evaluator!r}, {columns})"

    def __getattr__(self, name: str) -> Any:
        # An identity of the evaluator's own would leave the mapping out of it.
        if name.startswith("_") or name in ("identity", "identity_files"):
            raise AttributeError(name)
        own = getattr(self.evaluator, name)
        scoring = {"score": self._score, "ascore": self._ascore, "score_batch": self._score_batch}
        return scoring.get(name, own)

    def for_system(self, name: str) -> Mapped:
        """This evaluator for the rows of one system."""
        evaluator = bound_to_system(self.evaluator, name)
        if evaluator is self.evaluator and not self._reader.depends_on_system:
            return self
        return Mapped(evaluator, self.columns, system=name)

    def check_columns(
        self, original: Mapping[str, Any], processed: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Try the mapping on one example; see `ColumnReader.check`."""
        unchecked = self._reader.check(original, processed)
        inner = getattr(self.evaluator, "check_columns", None)
        return unchecked if inner is None else [*unchecked, *inner(original, processed)]

    def _shown(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        values = self._reader.read(original, processed)
        if self._unread is None:
            self._unread = set(self.columns)
        example, output = Watched(original, self._unread), Watched(processed, self._unread)
        for field, value in values.items():
            if field not in self._only_output:
                example[field] = value
            if field not in self._only_example:
                output[field] = value
        return example, output

    def _score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Any:
        return self.evaluator.score(*self._shown(original, processed))

    async def _ascore(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Any:
        return await self.evaluator.ascore(*self._shown(original, processed))

    def _score_batch(
        self, originals: Sequence[Mapping[str, Any]], processed: Sequence[Mapping[str, Any]]
    ) -> list[Any]:
        outcomes: list[Any] = []
        shown = []
        for pair in zip(originals, processed, strict=True):
            try:
                shown.append(self._shown(*pair))
                outcomes.append(None)
            except MissingScoreError as error:
                outcomes.append(error)
        examples, outputs = [e for e, _ in shown], [o for _, o in shown]
        scored = iter(self.evaluator.score_batch(examples, outputs))
        return [next(scored) if outcome is None else outcome for outcome in outcomes]


def bound_to_system(evaluator: Any, name: str) -> Any:
    """The evaluator for the rows of one system: what its `for_system` makes, or itself."""
    bind = getattr(evaluator, "for_system", None)
    return evaluator if bind is None else bind(name)
