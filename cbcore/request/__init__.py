"""What a run is asked for. Each setting is declared here, and nowhere else.

From these declarations come the flags of `cb run`, the keys of run files, the keyword arguments
of `evaluate`, their checks, the table in the reference, and what a result says of its settings.
A new setting is one new field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import attrs

from cbcore.plain import json_safe
from cbcore.request._options import (
    COLUMNS,
    COMPONENT,
    FLAG,
    FOLDER,
    INTEGER,
    LIMIT,
    NUMBER,
    PATH,
    SPEC,
    TEXT,
    ValueKind,
    option,
    options_of,
)
from cbcore.runconfig import RunConfig
from cbcore.secrets import visible
from cbcore.tokens import DEFAULT_ENCODING

if TYPE_CHECKING:
    from cbcore.plugins.catalog import Catalog

__all__ = ("Request",)

DEFAULT_CACHE_DIR = ".cb"
DEFAULT_THRESHOLD = 0.7
DEFAULT_MARGIN = 0.05
LONGEST_TIMEOUT_S = 365 * 24 * 60 * 60
"""A year: timers of the operating system do not take what is much longer."""


def _problem_of_shard(value: Any) -> str | None:
    from cbcore._run.sharding import problem_of_shard

    return problem_of_shard(value)


SHARD = ValueKind((str,), "str", "`K/N`, K from 1 to N", problem_of=_problem_of_shard)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Request:
    """Everything that defines a run, before names are looked up.

    Each list takes spec strings, `Spec`s and ready-made objects alike. `evaluators` and
    `metrics` left at None are chosen: evaluators by the tasks of each dataset, metrics by
    what they declare. Those in `added_…` join either way. `run_id` continues a recorded run;
    `rescored_from` is the one whose outputs are scored anew;
    `argv` is how it was asked for. `extensions` are objects that add to the run, and `settings`
    what was given to the flags of plugins, by their keys.
    """

    systems: Sequence[Any] = option(
        COMPONENT,
        *("-s", "--system"),
        metavar="SPEC",
        help='System under test; chain with "a | b". Repeatable.',
        default=(),
        many=True,
        recorded=False,
    )
    datasets: Sequence[Any] = option(
        COMPONENT,
        *("-d", "--dataset"),
        metavar="SPEC",
        help="Dataset by name, or the path of a .jsonl, .json, .csv or .parquet file. Repeatable.",
        default=(),
        many=True,
        recorded=False,
    )
    fields: Mapping[str, Any] | None = option(
        COLUMNS,
        "--field",
        metavar="FIELD=COLUMN",
        help="Where a field of the datasets stands: context, question, answer, id. Repeatable.",
        kept=True,
    )
    unique_ids: bool = option(
        FLAG,
        "--unique-ids",
        help="Number ids that come again, instead of refusing them.",
        default=False,
        kept=True,
    )
    evaluators: Sequence[Any] | None = option(
        COMPONENT,
        *("-e", "--evaluator"),
        metavar="SPEC",
        help="Evaluator; without it, those that apply to each dataset's tasks. Repeatable.",
        many=True,
        recorded=False,
    )
    metrics: Sequence[Any] | None = option(
        COMPONENT,
        *("-m", "--metric"),
        metavar="SPEC",
        help="Metric; without it, the automatic ones. Repeatable.",
        many=True,
        recorded=False,
    )
    max_examples: int | None = option(
        INTEGER,
        *("-n", "--max-examples"),
        metavar="N",
        help="Use the first N examples of each dataset, in file order.",
        least=1,
        kept=True,
    )
    shard: str | None = option(
        SHARD,
        "--shard",
        metavar="K/N",
        help="Of N shards, run the K-th: examples by their content. `cb merge` joins them.",
        kept=True,
    )
    score_field: str | None = option(
        TEXT,
        "--score-field",
        metavar="NAME",
        help="The score that quality means. Default: that of the dataset or its task, else f1.",
        recorded=False,
    )
    threshold: float = option(
        NUMBER,
        "--threshold",
        metavar="X",
        help=f"Score that passes. Default: {DEFAULT_THRESHOLD}.",
        default=DEFAULT_THRESHOLD,
        kept=True,
    )
    margin: float = option(
        NUMBER,
        "--margin",
        metavar="X",
        help=f"Loss of score that still counts as none, for budgets. Default: {DEFAULT_MARGIN}.",
        default=DEFAULT_MARGIN,
        least=0,
        kept=True,
    )
    adaptive: bool = option(
        FLAG,
        "--adaptive",
        help="Of swept systems, run only what finding the smallest good budget takes.",
        default=False,
    )
    max_workers: int | None = option(
        INTEGER, "--max-workers", metavar="N", help="Examples in flight per system.", least=1
    )
    interleave: bool = option(
        FLAG,
        "--interleave",
        help="Run the systems example by example, not one after the other.",
        default=False,
    )
    overlap: bool = option(
        FLAG,
        "--overlap",
        help="Run systems at the same time that wait for different endpoints.",
        default=False,
    )
    executor: Any = option(
        SPEC,
        "--executor",
        metavar="SPEC",
        help="Who makes the calls, instead of threads of this process.",
        recorded=False,
    )
    repeats: int = option(
        INTEGER,
        "--repeats",
        metavar="K",
        help="Run each example K times.",
        default=1,
        least=1,
        kept=True,
    )
    timeout_s: float | None = option(
        NUMBER,
        "--timeout",
        metavar="S",
        help="Seconds a system may take for one example.",
        key="timeout",
        above=0,
        most=LONGEST_TIMEOUT_S,
    )
    max_errors: float | None = option(
        LIMIT,
        "--max-errors",
        metavar="N|P%",
        help="Stop after more errored rows: N, or P% of rows.",
        least=0,
    )
    fail_fast: bool = option(
        FLAG,
        "--fail-fast",
        help="Stop at the first row that errs, or that an evaluator fails on.",
        default=False,
    )
    budget_tokens: int | None = option(
        INTEGER,
        "--budget-tokens",
        metavar="N",
        help="Stop before calls exceed N tokens; stored results are free.",
        least=1,
    )
    budget_usd: float | None = option(
        NUMBER,
        "--budget-usd",
        metavar="X",
        help="Stop before calls exceed X dollars, for systems that report cost.",
        above=0,
    )
    prices: str | Path | None = option(
        PATH,
        "--prices",
        metavar="FILE",
        help="What models cost, as JSON; goes before the tables of plugins.",
        recorded=False,
        kept=True,
    )
    rows: Literal["memory", "disk"] = option(
        TEXT,
        "--rows",
        help="Where finished rows are kept during the run. Default: memory.",
        default="memory",
        choices=("memory", "disk"),
        recorded=False,
    )
    cache_dir: str | Path | None = option(
        FOLDER,
        "--cache-dir",
        metavar="DIR",
        help=f"Where outputs and scores are stored. Default: {DEFAULT_CACHE_DIR}",
        recorded=False,
    )
    no_examples: bool = option(
        FLAG,
        "--no-examples",
        help="Keep numbers only in the store, no text of examples or outputs.",
        default=False,
    )
    allow_unsandboxed: bool = option(
        FLAG,
        "--allow-unsandboxed",
        help="Run generated code although no sandbox works on this machine.",
        default=False,
    )
    seed: int | None = option(
        INTEGER,
        "--seed",
        metavar="N",
        help="Seed for every component that takes one.",
        kept=True,
    )
    tokenizer: Any = option(
        SPEC,
        "--tokenizer",
        metavar="SPEC",
        help=f"How tokens are counted. Default: {DEFAULT_ENCODING}.",
        default=DEFAULT_ENCODING,
        recorded=False,
        kept=True,
    )
    text_fields: Iterable[str] | None = option(
        TEXT,
        "--text-field",
        metavar="NAME",
        help="Field whose tokens count. Repeatable. Default: context, question and turns.",
        many=True,
        kept=True,
    )
    cluster_column: str | None = option(
        TEXT,
        "--cluster-column",
        metavar="NAME",
        help="Field that names the source an example shares with others. Default: cluster.",
        kept=True,
    )
    extensions: Sequence[Any] = ()
    settings: Mapping[str, Any] = attrs.Factory(dict)
    added_evaluators: Sequence[Any] = ()
    added_metrics: Sequence[Any] = ()
    catalog: Catalog | None = None
    run_id: str | None = None
    rescored_from: str | None = None
    argv: Sequence[str] | None = None

    def components(self) -> Iterator[tuple[str, Any]]:
        """Every component that is asked for, with its kind: specs, or ready-made objects."""
        judges = (*(self.evaluators or ()), *self.added_evaluators)
        metrics = (*(self.metrics or ()), *self.added_metrics)
        executors = () if self.executor is None else (self.executor,)
        for kind, wanted in (
            *(("system", self.systems), ("dataset", self.datasets), ("evaluator", judges)),
            *(("metric", metrics), ("executor", executors), ("tokenizer", (self.tokenizer,))),
        ):
            yield from ((kind, one) for one in wanted)

    def recorded(self) -> RunConfig:
        """The settings that a result tells as they were given, secrets left out."""
        told = {
            name: json_safe(visible(name, getattr(self, name)))
            for name, declared in options_of(type(self)).items()
            if declared.recorded
        }
        if self.fields is not None:
            from cbcore.columns._reader import function_name

            told["fields"] = {
                field: f"py:{function_name(column)}" if callable(column) else str(column)
                for field, column in self.fields.items()
            }
        return cast(RunConfig, told)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Invocation:
    """What `cb run` and run files may say beside the request.

    Where reports go, what is imported first, short forms for components, and, as flags only,
    what to do with the request.
    """

    proxies: Sequence[str] = option(
        TEXT,
        "--proxy",
        metavar="URL",
        help="Endpoint or proxy under test: short for --system openai:URL. Repeatable.",
        key="proxy",
        default=(),
        many=True,
        after="systems",
    )
    names: Sequence[str] = option(
        TEXT,
        "--name",
        metavar="NAME",
        help="Name of the --proxy in the same place. Default: its host and port.",
        key="name",
        default=(),
        many=True,
        after="systems",
    )
    models: Sequence[str] = option(
        TEXT,
        "--model",
        metavar="NAME",
        help="Model to ask each --proxy for; a single one counts for all.",
        key="model",
        default=(),
        many=True,
        after="systems",
    )
    judge_url: str | None = option(
        TEXT,
        "--judge-url",
        metavar="URL",
        help="Endpoint of a model that also rates the answers.",
        after="metrics",
    )
    judge_model: str | None = option(
        TEXT,
        "--judge-model",
        metavar="NAME",
        help="The judge's model; with --judge-url.",
        after="metrics",
    )
    judge_api_key_env: str | None = option(
        TEXT,
        "--judge-api-key-env",
        metavar="VARIABLE",
        help="Environment variable with the judge's key. Default: OPENAI_API_KEY.",
        after="metrics",
    )
    judge_rubric: str | None = option(
        TEXT,
        "--judge-rubric",
        metavar="NAME|FILE",
        help="What the judge looks at, by name or as a template. Default: correctness.",
        after="metrics",
    )
    judge_pairwise: bool = option(
        FLAG,
        "--judge-pairwise",
        help="Let the judge compare the systems two by two as well.",
        default=False,
        after="metrics",
    )
    cache_model: str | None = option(
        TEXT,
        "--cache-model",
        metavar="NAME[,price_in=X,price_out=Y]",
        help="Also say what a provider would bill with its prompt cache: openai, anthropic, …",
        after="metrics",
    )
    outputs: Sequence[str] = option(
        TEXT,
        *("-o", "--output"),
        metavar="FORMAT|FILE",
        help="Report to print, or FILE to write, by its ending or as FORMAT=FILE. The table is "
        "printed too, unless another is. Repeatable.",
        key="output",
        default=(),
        many=True,
        after="metrics",
    )
    no_cache: bool = option(
        FLAG,
        "--no-cache",
        help="Store nothing and read nothing stored.",
        key=None,
        default=False,
        after="cache_dir",
    )
    dry_run: bool = option(
        FLAG,
        "--dry-run",
        help="Say what would run, and how much is stored; call nothing.",
        key=None,
        default=False,
        after="cache_dir",
    )
    locked: bool = option(
        FLAG,
        "--locked",
        help="Refuse to run with other plugins than cb-plugins.lock names.",
        key=None,
        default=False,
        after="cache_dir",
    )
    imports: Sequence[str] = option(
        TEXT,
        "--import",
        metavar="MODULE",
        help="Import a module first, so that what it registers can be used. Repeatable.",
        key="import",
        default=(),
        many=True,
        after="text_fields",
    )
