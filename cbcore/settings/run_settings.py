"""The settings of a run. Each is declared here, and nowhere else.

From these declarations come the flags of `cb run`, the keys of run files, the keywords of
`evaluate`, their checks, the reference, and the record of the settings in a result. A new setting
is one new field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import attrs

from cbcore.exceptions import UsageError
from cbcore.introspection import function_name
from cbcore.secrets import redact_value
from cbcore.settings.options import option, options_of

__all__ = ()

DEFAULT_CACHE_DIR = ".cb"
DEFAULT_THRESHOLD = 0.7
DEFAULT_TOKENIZER = "o200k_base"
LONGEST_TIMEOUT_S = 365 * 24 * 60 * 60
"""A year: the operating system's timers do not take much more."""


def _parse_error_limit(text: str) -> float:
    """The value of `5`, `2%` or `none`."""
    number = text.strip()
    if number == "none":
        return math.inf
    try:
        limit = float(number[:-1]) / 100 if number.endswith("%") else int(number)
    except ValueError:
        limit = -1
    if limit < 0:
        raise ValueError(f"must be a number of rows, a share such as 5%, or none, not {text!r}")
    return limit


def _parse_field(text: str) -> tuple[str, str]:
    """Field and column of `FIELD=COLUMN`; the column may be a path or `py:./file.py:function`."""
    field, _, column = text.partition("=")
    if not field.strip().isidentifier() or not column.strip():
        raise ValueError(f"must be FIELD=COLUMN, such as context=passage, not {text!r}")
    return field.strip(), column.strip()


def _check_change(settings: RunSettings, field: attrs.Attribute[Any], value: Any) -> Any:
    """The value as the field holds it. Refuses changes to frozen settings and unusable values."""
    if settings._is_frozen:
        raise UsageError(f"the settings of this run are fixed: {field.name} cannot be changed")
    declared = options_of(type(settings)).get(field.name)  # type: ignore[arg-type]
    if declared is None or (value is None and field.default is None):
        return value
    return declared.check(value, field.name)


@attrs.define(kw_only=True, eq=False, repr=False, on_setattr=_check_change)
class RunSettings:
    """Everything a run can be asked for, before names are looked up.

    The lists of components take specs and ready-made objects. `evaluators` and `metrics` that are
    None are chosen automatically; those in `added_evaluators` and `added_metrics` join either way.
    Each function in `select` gets a `cbcore.run.examples.NumberedExample`, and returns whether it
    takes part.
    `plugin_options` are the values of plugins' options, by their keys. `order` names the settings
    in the order in which they were given, once for each value. `run_id` continues
    a recorded run, `rescored_from` is the run whose outputs are scored again, `argv` the command.
    """

    systems: list[Any] = option(
        *("-s", "--system"),
        kind="system",
        help='System under test; chain with "a | b". Repeatable.',
        default=(),
    )
    datasets: list[Any] = option(
        *("-d", "--dataset"),
        kind="dataset",
        help="Dataset by name, or the path of a .jsonl, .json, .csv or .parquet file. Repeatable.",
        default=(),
    )
    fields: Mapping[str, Any] | None = option(
        "--field",
        parse=_parse_field,
        metavar="FIELD=COLUMN",
        help="Column of the datasets that holds a field: context, question, answer, id. "
        "Repeatable.",
        keep_on_rescore=True,
    )
    unique_ids: bool = option(
        "--unique-ids",
        help="Number ids that come again, instead of refusing them.",
        default=False,
        keep_on_rescore=True,
    )
    evaluators: list[Any] | None = option(
        *("-e", "--evaluator"),
        kind="evaluator",
        help="Evaluator; without it, those that apply to each dataset's tasks. Repeatable.",
    )
    metrics: list[Any] | None = option(
        *("-m", "--metric"),
        kind="metric",
        help="Metric; without it, the automatic ones. Repeatable.",
    )
    added_evaluators: list[Any] = option(kind="evaluator", key=None, keyword=False, default=())
    added_metrics: list[Any] = option(kind="metric", key=None, keyword=False, default=())
    outputs: list[str] = option(
        *("-o", "--output"),
        metavar="FORMAT|FILE",
        help="Report to print, or FILE to write, by its ending or as FORMAT=FILE. The table is "
        "printed too, unless another is. Repeatable.",
        key="output",
        default=(),
        keyword=False,
        recorded=False,
    )
    max_examples: int | None = option(
        *("-n", "--max-examples"),
        help="Use the first N examples of each dataset, in file order.",
        at_least=1,
        keep_on_rescore=True,
    )
    sample: int | None = option(
        "--sample",
        help="Use N examples of each dataset, chosen at random by --seed.",
        at_least=1,
        keep_on_rescore=True,
    )
    examples: list[str] | None = option(
        "--example",
        metavar="ID",
        help="Run only the example of this id. Repeatable.",
        key="example",
    )
    failed: str | None = option(
        "--failed",
        metavar="RUN",
        help="Run only the examples that failed in a run; without RUN, in the latest.",
        implied="latest",
        key=None,
        keyword=False,
    )
    score: str | None = option(
        "--score",
        aliases=("--score-field",),
        metavar="NAME",
        help="The score that quality means. Default: that of the dataset or of its task.",
    )
    threshold: float = option(
        "--threshold",
        help=f"Score that passes. Default: {DEFAULT_THRESHOLD}.",
        default=DEFAULT_THRESHOLD,
        keep_on_rescore=True,
    )
    concurrency: int | None = option(
        "--concurrency",
        aliases=("--max-workers",),
        help="Concurrent calls of each system.",
        at_least=1,
        affects_rows=False,
    )
    interleave: bool = option(
        "--interleave",
        help="Run the systems example by example, not one after the other.",
        default=False,
    )
    executor: Any = option(
        "--executor",
        kind="executor",
        help="Who makes the calls, instead of threads of this process.",
    )
    repeats: int = option(
        "--repeats",
        metavar="K",
        help="Run each example K times.",
        default=1,
        at_least=1,
        keep_on_rescore=True,
    )
    timeout_s: float | None = option(
        "--timeout",
        metavar="S",
        help="Seconds a system may take for one example.",
        key="timeout",
        above=0,
        at_most=LONGEST_TIMEOUT_S,
    )
    max_errors: float | None = option(
        "--max-errors",
        type=Real,
        parse=_parse_error_limit,
        metavar="N|P%|none",
        help="Stop a system after more failed rows: N, or P% of its rows. Default: if its first 10 "
        "examples fail with the same error.",
        at_least=0,
        affects_rows=False,
    )
    fail_fast: bool = option(
        "--fail-fast",
        help="Stop at the first row that fails, or that an evaluator fails on.",
        default=False,
        affects_rows=False,
    )
    budget_tokens: int | None = option(
        "--budget-tokens",
        help="Stop before calls exceed N tokens; stored results are free.",
        at_least=1,
        affects_rows=False,
    )
    budget_usd: float | None = option(
        "--budget-usd",
        help="Stop before calls exceed X dollars, for systems that report cost.",
        above=0,
        affects_rows=False,
    )
    rows: Literal["memory", "disk"] = option(
        "--rows",
        help="Where finished rows are kept during the run. Default: memory.",
        default="memory",
        recorded=False,
    )
    cache_dir: str | Path | None = option(
        "--cache-dir",
        metavar="DIR",
        help=f"Where outputs and scores are stored. Default: {DEFAULT_CACHE_DIR}",
        recorded=False,
    )
    fresh: bool = option(
        "--fresh",
        help="Call systems and evaluators again, and replace what is stored.",
        default=False,
        key=None,
        affects_rows=False,
    )
    no_examples: bool = option(
        "--no-examples",
        help="Keep numbers and error messages only, no text of examples or outputs.",
        default=False,
        affects_rows=False,
    )
    seed: int | None = option(
        "--seed",
        help="Seed for every component that takes one.",
        keep_on_rescore=True,
        fill=True,
    )
    tokenizer: Any = option(
        "--tokenizer",
        kind="tokenizer",
        help=f"How tokens are counted. Default: {DEFAULT_TOKENIZER}.",
        default=DEFAULT_TOKENIZER,
    )
    text_fields: list[str] | None = option(
        "--text-field",
        metavar="NAME",
        help="Field whose tokens count. Repeatable. Default: context, question and turns.",
        keep_on_rescore=True,
    )
    imports: list[str] = option(
        "--import",
        metavar="MODULE",
        help="Import a module first, so that what it registers can be used. Repeatable.",
        key="import",
        default=(),
        keyword=False,
        recorded=False,
    )
    cluster_column: str | None = option(
        "--cluster-column",
        metavar="NAME",
        help="Field that names the source an example shares with others. Default: cluster.",
        keep_on_rescore=True,
    )
    dry_run: bool = option(
        "--dry-run",
        help="Show what would run, and how much is stored; call nothing.",
        default=False,
        key=None,
        keyword=False,
        recorded=False,
    )
    traceback: bool = option(
        "--traceback",
        help="Print the traceback of every row that fails, in your own code.",
        default=False,
        key=None,
        recorded=False,
    )
    pdb: bool = option(
        "--pdb",
        help="Open the debugger where a row fails, in your own code.",
        default=False,
        key=None,
        recorded=False,
    )
    progress: bool = option(
        help="Show the progress if there is a terminal.",
        key=None,
        default=True,
        recorded=False,
    )
    on_error: Literal["continue", "raise"] = option(
        help="`raise` is short for fail_fast.",
        key=None,
        default="continue",
        recorded=False,
    )
    plugin_options: dict[str, Any] = attrs.Factory(dict)
    select: list[Callable[[Any], bool]] = attrs.Factory(list)
    order: list[str] = attrs.Factory(list)
    run_id: str | None = None
    rescored_from: str | None = None
    argv: list[str] | None = None
    _is_frozen: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._check()

    def _check(self) -> None:
        for name in options_of(type(self)):  # type: ignore[arg-type]
            setattr(self, name, getattr(self, name))  # which converts and checks it

    def copy(self) -> RunSettings:
        """The same settings, to be changed without changing these."""
        copied = attrs.evolve(self)
        for field in attrs.fields(RunSettings):
            if isinstance(value := getattr(self, field.name), list | dict):
                setattr(copied, field.name, value.copy())
        return copied

    def freeze(self) -> None:
        """Check what was added to lists, then allow no more changes."""
        self._check()
        for field in attrs.fields(RunSettings):
            value = getattr(self, field.name)
            if isinstance(value, list):
                object.__setattr__(self, field.name, tuple(value))
            elif isinstance(value, dict):
                object.__setattr__(self, field.name, MappingProxyType(value))
        self._is_frozen = True

    @staticmethod
    def neutral_names() -> frozenset[str]:
        """The names of the settings that do not affect finished rows."""
        options = options_of(RunSettings).items()
        return frozenset(name for name, declared in options if not declared.affects_rows)

    def get(self, flag: str) -> Any:
        """The value of a plugin's option; None if it is not given."""
        return self.plugin_options.get(flag.lstrip("-").replace("-", "_"))

    def components(self) -> Iterator[tuple[str, Any]]:
        """Every component that is asked for, with its kind: specs, or a ready-made object."""
        for name, declared in options_of(RunSettings).items():
            if declared.kind and (wanted := getattr(self, name)) is not None:
                yield from ((declared.kind, one) for one in (wanted if declared.many else [wanted]))

    def record(self) -> dict[str, Any]:
        """The settings as they were given, for the result. Secrets are replaced.

        Components have records of their own; places of this machine are left out, and what
        plugins declare is added by whoever knows their options.
        """
        options = options_of(RunSettings).items()
        given = {name: getattr(self, name) for name, declared in options if declared.recorded}
        recorded = {name: redact_value(name, value) for name, value in given.items()}
        if self.max_errors == math.inf:
            recorded["max_errors"] = "none"
        if self.fields is not None:
            recorded["fields"] = {
                field: f"py:{function_name(column)}" if callable(column) else str(column)
                for field, column in self.fields.items()
            }
        return recorded
