"""The table of benchmarks: where the rows of each are, and how they become examples.

The table is `table.json`: a list with the fields of a `Benchmark` each, without those that have
their default.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, TypeAlias

import attrs

from cbcore.names import canonical, hint

SAMPLE = "sample"
"""The config that every benchmark has: a few examples that come with this package."""

PARQUET_EXPORT = "refs/convert/parquet"
"""The branch on which the hub keeps a Parquet copy of what used to need a loading script."""

Example: TypeAlias = dict[str, Any]


TASK_SCORES = {
    "multiple-choice": "mc_accuracy",
    "math": "math_equiv",
    "code": "pass_at_1",
    "summarization": "rouge_l_f1",
    "nli": "nli_accuracy",
    "instruction-following": "ifeval_prompt_strict",
    "tool-use": "tool_call_accuracy",
}
"""The score that benchmarks of a task are judged by, unless a row names another. Others: F1."""


@attrs.frozen
class Choice:
    """The choice of the user: which part, and the seed of shuffled things."""

    config: str | None
    split: str
    seed: int = 0
    max_words: int = 0
    needle_set: str = ""


@attrs.frozen(kw_only=True)
class Benchmark:
    """One row of the table.

    `fields` maps fields of an example to fields of the source, as `mapping.example_from`
    explains. Three functions in `cb_datasets.entries`, named as `module.function`, do more:
    `complete` changes an example after the mapping, `examples` takes the place of the mapping
    where a row is not one example, and `rows` brings rows from several files together. `needs` are source fields that only
    such code reads. `files` says where in the repository the rows are when its layout does
    not: a pattern of Parquet files, a file, or a member of an archive, with `{config}` and
    `{split}` in it. `context` says which examples have a context of their own, so that a check
    can miss it; the others get their question for one. `published` says how the publishers score
    it and what is made of that here, `main_score` which score is its quality where it is not that
    of its main task in `TASK_SCORES`. `only_in` lists the configs of a split that not all have.
    `cluster` is the field of the source that examples about the same text share; a row without
    that field is known by its context. None says that the examples share nothing. What follows
    the last `cluster_end` in the field names one example: `CITY_DATE_ITEM` is of `CITY_DATE`.
    """

    name: str
    summary: str
    path: str
    split: str
    tasks: tuple[str, ...]
    licence: str
    homepage: str
    fields: Mapping[str, str | tuple[str, ...]] = attrs.Factory(dict)
    config: str | None = None
    configs: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    revision: str | None = None
    files: str | None = None
    instruction: str = ""
    instruction_by_config: Mapping[str, str] = attrs.Factory(dict)
    cluster: str | None = None
    cluster_end: str = ""
    first_label: int = 0
    needs: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()
    tasks_by_config: Mapping[str, tuple[str, ...]] = attrs.Factory(dict)
    published: str
    main_score: str | None = None
    main_score_by_config: Mapping[str, str] = attrs.Factory(dict)
    only_in: Mapping[str, tuple[str, ...]] = attrs.Factory(dict)
    complete: str | None = None
    examples: str | None = None
    rows: str | None = None
    seeded: bool = False
    sized: bool = False
    gated: bool = False
    context: str = attrs.field(validator=attrs.validators.in_(("all", "some", "none")))

    @context.default
    def _mapped_context(self) -> str:
        return "all" if "context" in self.fields else "none"

    def tasks_of(self, config: str | None) -> tuple[str, ...]:
        """The tasks of one part: most parts have those of the whole."""
        return self.tasks_by_config.get(config or "", self.tasks)

    def main_score_of(self, config: str | None) -> str:
        """The score that quality means for one part."""
        named = self.main_score_by_config.get(config or "", self.main_score)
        return named or TASK_SCORES.get(self.tasks_of(config)[0], "f1")

    def source_fields(self) -> tuple[str, ...]:
        """Top-level fields that a row of the source must have."""
        paths: list[str] = []
        for path in self.fields.values():
            paths += (path,) if isinstance(path, str) else path
        return tuple(dict.fromkeys(p.partition(".")[0] for p in (*paths, *self.needs)))

    def chosen_config(self, wanted: str | None) -> str | None:
        """The config a user means, `-` and `_` being equal; the default for None."""
        if wanted is None:
            return self.config
        known = {canonical(config): config for config in (*self.configs, SAMPLE)}
        found = known.get(canonical(wanted))
        if found is None:
            raise ValueError(f"there is no config {wanted!r}{_suggestion(wanted, known.values())}")
        return found

    def chosen_split(self, wanted: str | None, config: str | None = None) -> str:
        """The split of a config a user means; the one the benchmark is measured on for None."""
        if wanted is None:
            return self.split
        if self.splits and wanted not in self.splits:
            raise ValueError(f"split {wanted!r} is not one of {', '.join(self.splits)}")
        having = self.only_in.get(wanted)
        if having is not None and config not in having:
            raise ValueError(
                f"config {config!r} has no split {wanted!r}: only {', '.join(having)} has it"
            )
        return wanted


def read_table() -> list[Benchmark]:
    """All benchmarks, in the order of the table."""
    text = files("cb_datasets").joinpath("table.json").read_text("utf-8")
    return [Benchmark(**_freeze(entry)) for entry in json.loads(text)]


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _freeze(part) for key, part in value.items()}
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _suggestion(wanted: str, known: Iterable[str]) -> str:
    names = list(known)
    there = ", ".join(names) if len(names) <= 15 else len(names)
    return hint(wanted, names, f"; there are {there}", most=3, lead="; ")
