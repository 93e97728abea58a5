"""Columns: point an evaluator at data with other names or another layout than it expects.

Any evaluator takes `<field>_column=` next to its own parameters. The value is a column, a path
into one, or a function of the row:

    ground_truth_column="my_ground_truth_col"             a column
    contexts_column="prediction.contexts"                 a path, of any depth
    contexts_column="retrieved.0.text"                    an item of a list; -1 is the last
    contexts_column="docs.*.text"                         the text of every item of a list
    contexts_column="'a.b'.text"                          quoted: a name, even with dots in it
    contexts_column="predictions.{system}.contexts"       the system under test, as one name
    contexts_column="original.contexts"                   only the example; `processed.`: only
                                                          the output
    contexts_column=lambda row: [row["pred"]["message"]]  a function of the row
    contexts_column="py:./mine.py:contexts"               the same, by name

A name that contains dots wins over the path. If both the example and the output have a name, a
gold field is read from the example and a field that systems produce from the output. All columns
are read before any is replaced, so that two can be swapped.

`map_columns(evaluator, answer_column="meta.gold")` does this for any evaluator from Python.
An evaluator with `…_column` parameters of its own reads them with `ColumnReader`.

Any dataset takes the parameters as well: `data.jsonl:context_column=passage.text,id_column=qid`.
Then systems see the field too. `evaluate(fields=…)` does it from Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

from cbcore.boundary import describe_exception
from cbcore.exceptions import ColumnError, MissingScoreError
from cbcore.introspection import function_name
from cbcore.names import hint, near_matches, suggest
from cbcore.usercode import import_attribute

__all__ = [
    "SUFFIX",
    "Column",
    "ColumnReader",
    "map_columns",
    "propose_fields",
]

Side: TypeAlias = Literal["original", "processed"]

SUFFIX = "_column"
"""The end of a parameter that says where a field is read from."""

_SYSTEM = "{system}"
_OUTPUT_FIELDS = frozenset({"response", "context", "contexts", "turn_responses"})
"""Fields that systems produce, unless an evaluator declares otherwise."""

# -- paths -----------------------------------------------------------------------------------------

_STEP = re.compile(
    r"""(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)"|([^.'"][^.]*))(?:\.(?=.)|\Z)""", re.DOTALL
)


class Row(dict[str, Any]):
    """The columns of an example and of the output, as functions and paths see them.

    `original` and `processed` hold the two apart. `system` is the name of the system under test,
    None outside of a run. If both have a column, the preferred side wins.
    """

    def __init__(
        self,
        original: Mapping[str, Any],
        processed: Mapping[str, Any],
        *,
        system: str | None = None,
        prefer: Side = "processed",
    ) -> None:
        super().__init__({**original, **processed})
        if prefer == "original":
            self.update(original)
        self.original = original
        self.processed = processed
        self.system = system

    def __missing__(self, name: str) -> Any:
        if name in ("original", "processed"):
            return getattr(self, name)
        raise KeyError(name)


Column: TypeAlias = str | Callable[[Row], Any]
"""Where a field is read from: the name of a column, a path, or a function of the row."""


def _parse_path(text: str) -> list[tuple[str, bool]]:
    """The steps of a path, each with whether it is quoted, that is, a name whatever it looks like.

    Raises ValueError.
    """
    steps, length = [], 0
    for match in _STEP.finditer(text):
        single, double, bare = match.groups()
        quoted = double if single is None else single
        name = bare if quoted is None else quoted.replace(match[0][0] * 2, match[0][0])
        steps.append((name, bare is None))
        length += len(match[0])
    if not steps or length != len(text):
        raise ValueError(f"the path {text!r} has an empty name or a misplaced quote")
    return steps


def _read_path(steps: Sequence[tuple[str, bool]], row: Row) -> Any:
    """The value at the end of a path. Raises `MissingScoreError`."""
    if row.system is not None:  # it stays one step, whatever its name
        steps = [(name.replace(_SYSTEM, row.system), quoted) for name, quoted in steps]
    (first, _), *rest = steps
    if rest and first in ("original", "processed") and first not in row.original:
        return _walk(getattr(row, first), rest, first)
    return _walk(row, steps, "")


def _walk(value: Any, steps: Sequence[tuple[str, bool]], path: str) -> Any:
    if not steps:
        return value
    (first, is_quoted), *rest = steps
    if isinstance(value, Mapping):
        for n in range(len(steps), 0, -1):
            name = ".".join(step for step, _ in steps[:n])
            is_name = n == 1 or not any(quoted for _, quoted in steps[:n])
            if is_name and name in value:
                return _walk(value[name], steps[n:], f"{path}.{name}".lstrip("."))
        where = f"{path!r} has no {first!r}, it has {list_names(value) or 'nothing'}"
        meant = hint(first, map(str, value), "", lead="; ", shown=repr)
        raise MissingScoreError(f"{where if path else f'there is no column {first!r}'}{meant}")
    if not isinstance(value, list | tuple):
        kind = "empty (None)" if value is None else f"a {type(value).__name__}"
        raise MissingScoreError(f"{path!r} is {kind}, so it has no {first!r}")
    if first == "*" and not is_quoted:
        items = [_walk(item, rest, f"{path}.{n}") for n, item in enumerate(value)]
        is_nested = ("*", False) in rest
        return [item for nested in items for item in nested] if is_nested else items
    try:
        item = value[int(first)]
    except (ValueError, IndexError):
        reason = f"{path!r} is a list of {len(value)} items: write an index or *, not {first!r}"
        raise MissingScoreError(reason) from None
    return _walk(item, rest, f"{path}.{first}")


def list_names(names: Iterable[Any]) -> str:
    """Names from data for an error message: the first of them, shortened."""
    texts = [text if len(text) <= 40 else f"{text[:39]}…" for text in map(str, names)]
    if len(texts) > 20:
        texts[20:] = [f"… ({len(texts)} in all)"]
    return ", ".join(texts)


# -- reading ---------------------------------------------------------------------------------------


def _call(function: Callable[[Row], Any], row: Row) -> Any:
    """Call the user's function of a row. Raises `MissingScoreError` with the reason."""
    try:
        return function(row)
    except MissingScoreError:
        raise
    except Exception as error:  # the user's own function may raise anything
        wanted = str(error.args[0]) if isinstance(error, KeyError) and error.args else ""
        meant = hint(wanted, map(str, row), "", lead="; ", shown=repr) if wanted else ""
        reason = f"the function raised {describe_exception(error)}{meant}"
        raise MissingScoreError(reason) from error


def _find_reader(column: Any) -> tuple[Column, Callable[[Row], Any]]:
    """A column, and what reads it. Raises ValueError or TypeError for what is not a column."""
    if isinstance(column, str) and column.startswith("py:"):
        column = import_attribute(column)
    if isinstance(column, int | float) and not isinstance(column, bool):
        column = str(column)  # a name that YAML reads as a number
    if isinstance(column, str):
        return column, partial(_read_path, _parse_path(column))
    if callable(column):
        return column, partial(_call, column)
    yaml = ": a name such as no needs quotes in YAML" if isinstance(column, bool) else ""
    raise TypeError(f"is a column, a path or a function of the row, not {column!r}{yaml}")


class ColumnReader:
    """Reads the mapped fields of an evaluator or a dataset from rows.

    `owner` is its name for errors. `columns` maps fields to columns. `sides` names the fields that
    belong to the output (`"processed"`). `accepts` may hold a function for a field that returns
    the value as the evaluator wants it, or raises `MissingScoreError`. Raises ValueError for a
    path with a mistake, and TypeError for another type of column.
    """

    def __init__(
        self,
        owner: str,
        columns: Mapping[str, Column],
        sides: Mapping[str, Side],
        *,
        accepts: Mapping[str, Callable[[Any], Any]] | None = None,
    ) -> None:
        self.owner = owner
        self.sides = sides
        self._accepts = accepts or {}
        self.columns: dict[str, Column] = {}
        self._readers: dict[str, Callable[[Row], Any]] = {}
        for field, column in columns.items():
            try:
                self.columns[field], self._readers[field] = _find_reader(column)
            except TypeError as error:
                raise TypeError(f"{field}{SUFFIX} {error}") from error
            except ValueError as error:
                raise ValueError(f"{field}{SUFFIX}: {error}") from error

    @property
    def depends_on_system(self) -> bool:
        """Whether the name of the system may change what is read; a function can look at it."""
        return any(callable(c) or _SYSTEM in c for c in self.columns.values())

    def read(
        self,
        original: Mapping[str, Any],
        processed: Mapping[str, Any] | None,
        *,
        system: str | None = None,
        example: str | None = None,
    ) -> dict[str, Any]:
        """The value of every mapped field. Raises `ColumnError`, which names the `example`.

        `system` is the name of the system under test. Without an output, a field that only the
        output may have is left out.
        """
        values = {}
        for field, column in self.columns.items():
            side = self.sides.get(field, "original")
            row = Row(original, processed or {}, system=system, prefer=side)
            try:
                value = self._readers[field](row)
                values[field] = self._accepts[field](value) if field in self._accepts else value
            except MissingScoreError as error:
                if processed is None and self._may_be_in_output(field, original):
                    continue
                name = function_name(column) if callable(column) else repr(column)
                known = original.get("id")
                by_id = "an example without id" if known is None else f"example {known!r}"
                raise ColumnError(
                    f"{self.owner}: {field}{SUFFIX}={name} does not fit {example or by_id}: "
                    f"{error.message} (columns: {list_names(row)})"
                ) from error
        return values

    def _may_be_in_output(self, field: str, original: Mapping[str, Any]) -> bool:
        column = self.columns[field]
        if callable(column):
            return True
        first = column.partition(".")[0]
        return first == "processed" or (
            self.sides.get(field) == "processed" and first not in {"original", *original}
        )


# -- evaluators ------------------------------------------------------------------------------------


def map_columns(evaluator: Any, **columns: Column) -> MappedEvaluator:
    """An evaluator that reads fields from elsewhere: `map_columns(evaluator, answer_column="gold")`.

    Raises ValueError for a keyword that is not `<field>_column`, for a path with a mistake, and
    for a field that the evaluator does not read, if it declares what it `reads`.
    """
    fields = {}
    for keyword, column in columns.items():
        if not keyword.endswith(SUFFIX) or keyword == SUFFIX:
            raise ValueError(f"{keyword!r} is not the name of a field followed by {SUFFIX}")
        fields[keyword.removesuffix(SUFFIX)] = column
    return MappedEvaluator(evaluator, fields)


def bind_to_system(evaluator: Any, name: str) -> Any:
    """The evaluator for the rows of one system: the result of its `for_system`, or itself."""
    bind = getattr(evaluator, "for_system", None)
    return evaluator if bind is None else bind(name)


class MappedEvaluator:
    """An evaluator that finds the mapped fields in the places where it looks for them.

    A field it `needs` is shown in the example, one it lists in `needs_output` in the output, and
    any other in both. Everything else is the evaluator's own.
    """

    def __init__(
        self, evaluator: Any, columns: Mapping[str, Column], system: str | None = None
    ) -> None:
        reads = tuple(getattr(evaluator, "reads", ()))
        for field in columns:
            if reads and field not in reads:
                near = [name + SUFFIX for name in near_matches(field, reads, limit=1)]
                meant = suggest(near, then=f"it reads {', '.join(reads)}")
                raise ValueError(f"{evaluator.name} does not read a field {field!r}; {meant}")
        self.evaluator = evaluator
        needs = tuple(getattr(evaluator, "needs", ()))
        needs_output = tuple(getattr(evaluator, "needs_output", ()))
        self._only_example = set(needs) - set(needs_output)
        self._only_output = set(needs_output) - set(needs)
        produced = (_OUTPUT_FIELDS - self._only_example) | self._only_output
        sides: dict[str, Side] = {f: "processed" if f in produced else "original" for f in columns}
        self._reader = ColumnReader(evaluator.name, columns, sides)
        self.columns = self._reader.columns
        self.needs = tuple(n for n in needs if n not in columns)
        self.needs_output = tuple(n for n in needs_output if n not in columns)
        # Part of the identity, if it can change a score.
        self.system = system if self._reader.depends_on_system else None

    def __getattr__(self, name: str) -> Any:
        # The evaluator's own identity would leave the mapping out.
        if name.startswith("_") or name in ("evaluator", "identity", "identity_files"):
            raise AttributeError(name)
        own = getattr(self.evaluator, name)
        return {"score": self._score, "ascore": self._ascore}.get(name, own)

    def for_system(self, name: str) -> MappedEvaluator:
        """This evaluator for the rows of one system."""
        evaluator = bind_to_system(self.evaluator, name)
        if evaluator is self.evaluator and not self._reader.depends_on_system:
            return self
        return MappedEvaluator(evaluator, self.columns, system=name)

    def read_columns(
        self, original: Mapping[str, Any], processed: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The mapped fields of a row; see `ColumnReader.read`."""
        return self._reader.read(original, processed, system=self.system)

    def _map(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        values = self.read_columns(original, processed)
        shown = {f: v for f, v in values.items() if f not in self._only_output}
        returned = {f: v for f, v in values.items() if f not in self._only_example}
        return {**original, **shown}, {**processed, **returned}

    def _score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Any:
        return self.evaluator.score(*self._map(original, processed))

    async def _ascore(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Any:
        return await self.evaluator.ascore(*self._map(original, processed))


# -- suggestions -----------------------------------------------------------------------------------

_OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "context": (
        *("contexts", "passage", "passages", "document", "documents", "article", "body"),
        *("paragraph", "paragraphs", "source", "text", "story", "content"),
    ),
    "question": ("query", "prompt", "instruction", "ask", "input", "problem"),
    "answer": (
        *("answers", "gold", "golden", "target", "targets", "label", "reference", "truth"),
        *("expected", "solution", "output"),
    ),
    "tests": ("test", "check", "asserts"),
    "id": ("uid", "uuid", "qid", "key", "no", "index"),
}
"""Other words for a field, the likeliest first."""


def likely_column(field: str, columns: Iterable[Any]) -> str | None:
    """The column that most likely holds a field, None if none looks like it."""
    names = [str(column) for column in columns]
    for word in (field, *_OTHER_NAMES.get(field, ())):
        for name in names:
            if word in re.findall("[a-z]+", name.lower()):
                return name
    return next(iter(near_matches(field, names, limit=1)), None)


def propose_fields(example: Mapping[str, Any]) -> dict[str, str]:
    """A mapping that may fit an example with other column names. It uses each column once."""
    left = [str(column) for column, value in example.items() if value is not None]
    proposed = {}
    for field in ("context", "question", "answer", "id"):
        column = likely_column(field, left)
        if column is not None:
            left.remove(column)
            if column != field:
                proposed[field] = column
    return proposed


def format_flags(fields: Mapping[str, str]) -> str:
    """A mapping as a user types it: `--field context=Passage`."""
    import shlex

    return " ".join(f"--field {shlex.quote(f'{field}={c}')}" for field, c in fields.items())


def describe_absent(field: str, example: Mapping[str, Any]) -> str:
    """Why an example has no value in a field, and which column may be meant."""
    columns = [str(column) for column, value in example.items() if value is not None]
    near = likely_column(field, columns)
    if field in example and not near:
        return f"the {field!r} of the example is empty"
    suggestion = suggest([near] if near else [], lead="; ", shown=repr) or "."
    flag = format_flags({field: near or "COLUMN"})
    has = list_names(sorted(columns)) or "none"
    return f"the example has no {field!r} (it has {has}){suggestion} Say it with {flag}"
