"""The roles a component can play. They are structural: implement the methods, subclass nothing.

Examples and outputs are plain dicts. What each optional method adds is said in its own
protocol; the runner looks for the method, never for the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import attrs

from cbcore.exceptions import DataError
from cbcore.results import EvalResult, EvalRow, Scored

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pluggy

    from cbcore.components import Built
    from cbcore.results import RunConfig
    from cbcore.run.examples import Benchmark
    from cbcore.settings import RunSettings

Example: TypeAlias = dict[str, Any]
"""One example of a dataset: an `id` and what a system works on; the rest is the dataset's.

That is a `question`, and a context in one of three forms: `context` (a text), `contexts` (a ranked
list of texts, or of mappings with `text`, `id` and `title`) or `messages` (a chat history in the
OpenAI format). `cbcore.contexts.context_of` reads any of them.

With `turns` a system answers a conversation. It returns the last reply as `response`, all replies
as `turn_responses`, and may return the usage of every turn as a list. With
`loglikelihood_requests`, a list of `[context, continuation]`, a system that can returns
`loglikelihoods`: for each request the natural logarithm of the probability and whether the
continuation is the likeliest one. Other systems answer the question. Only a system on its own gets
these requests: a stage of a chain would change a context that they already contain.

Where it says how text is to be generated, `generation` has `until` (texts that end a reply) and
may have `max_gen_toks`, `temperature` and `do_sample`; systems take of it what they can."""

Output: TypeAlias = dict[str, Any]
"""A system's result: `response` when it answers, `context` when it rewrites the context,
`contexts` when it retrieves or reranks, `messages` when it compacts a history, `usage`
(`prompt_tokens` and `completion_tokens`) when an endpoint reported it, and `metadata` for anything
worth keeping in the row."""

Scores: TypeAlias = dict[str, float]
"""Score name → finite number. A score that cannot be given is left out or raised, never 0."""


@attrs.frozen
class Cost:
    """Dollars and tokens of a call. `usd` is None if no price is known.

    `is_bound` is False if the call may also cost more.
    """

    usd: float | None = 0.0
    tokens: int = 0
    is_bound: bool = True

    def __add__(self, other: Cost) -> Cost:
        return Cost((self.usd or 0.0) + (other.usd or 0.0), self.tokens + other.tokens)

    def largest(self, other: Cost) -> Cost:
        """The larger amount of each."""
        return Cost(max(self.usd or 0.0, other.usd or 0.0), max(self.tokens, other.tokens))

    @staticmethod
    def of_all(costs: Iterable[Cost]) -> Cost:
        """The sum of what is declared: without a price if one has none, a bound if all are."""
        costs = list(costs)
        total = sum(costs, Cost())
        is_known = all(cost.usd is not None for cost in costs)
        is_bound = all(cost.is_bound for cost in costs)
        return Cost(total.usd if is_known else None, total.tokens, is_bound)


@runtime_checkable
class Dataset(Protocol):
    """Examples, pulled one at a time and only as many as are needed. A plain list is one.

    Each has an `id` of its own, or none has one and they are numbered. A `DataError` in place
    of an example becomes one errored row, and the run goes on; one that is raised ends it.
    Optional attributes: `name` (the tag of its rows), `tasks` (its main task first), by which
    evaluators are chosen, and `main_score`, the score that its quality means. Without it, quality
    is the first score of the only installed evaluator that names the main task, or else F1.
    """

    def __iter__(self) -> Iterator[Example | DataError]: ...


@runtime_checkable
class System(Protocol):
    """The thing under test: takes an example, returns what became of it.

    Latency is the time inside `process`. What only the first call would take (loading a model,
    opening a client) belongs into an optional `warm_up()`, plain or `async`, which is called
    once before the first call that is measured; when it fails, a warning is told and the run
    goes on. A system that waits for a turn says so with `cbcore.timing.waiting`.

    The optional attributes `identity` and `identity_files` tell it from others in the cache, and
    hold for evaluators too; see `cbcore.store.identity`.

    A system that asks for money has `max_cost(example)`, which returns the most that a call may
    cost as a `Cost`. What a failure cost is the `cost` of its `ProcessError`. A system that calls a
    model lists its `requests` in the output: metrics read from them what they cost, and would cost
    with a prompt cache; see `cbcore.requests`.
    """

    @property
    def name(self) -> str:
        """How the system is called in results; unique within a run."""

    def process(self, example: Example) -> Output:
        """Work on a private copy of the example."""


@runtime_checkable
class AsyncSystem(Protocol):
    """A system that is awaited. Preferred over `process` if a system has both.

    A system that puts its calls in an order of its own has `concurrency`, how many it wants to be
    given, and then keeps to the `--concurrency` of the run itself. A system that only waits may
    name what for by `endpoints`: neighboring systems that have none in common run at the same time.
    """

    @property
    def name(self) -> str: ...

    async def aprocess(self, example: Example) -> Output: ...


@runtime_checkable
class Evaluator(Protocol):
    """Scores one output against the example it came from.

    Optional attributes: `emits` (score names; without it, names are learned from the rows),
    `applies_to` (tasks, or `"*"`) and `automatic = True` to join runs on data of these tasks that
    name no evaluator, `needs` and `needs_output` (fields of the example and of the output without
    which no score can be given), `reads` (all fields it looks at, of either; columns of other names
    can then not be mapped by mistake). With `for_system(name)` it makes the evaluator that
    scores the rows of one system. With `read_columns(original, processed)` it lets a dry run try
    its own column parameters; `processed` is None if there is no output yet. `cbcore.columns`
    helps with both.
    """

    @property
    def name(self) -> str: ...

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores | Scored:
        """Return the scores, or raise `MissingScoreError` with the reason there are none.

        A `Scored` in their place also says why some are missing, and carries details.
        """


@runtime_checkable
class AsyncEvaluator(Protocol):
    """An evaluator that waits for something, such as a judge model."""

    @property
    def name(self) -> str: ...

    async def ascore(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> Scores | Scored: ...


@runtime_checkable
class Metric(Protocol):
    """Aggregates the rows of one system. NaN or infinity means: no finite value.

    A value that is `cbcore.stats.Measured` also gets its standard error and interval. With an
    optional `section(rows_by_system, config)` it adds a `cbcore.results.Section` to the result,
    under its name, or None where it has nothing to show; `config` is that of the result.
    """

    @property
    def name(self) -> str: ...

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]: ...


@runtime_checkable
class ComparingMetric(Protocol):
    """A metric that ranks systems against each other."""

    @property
    def name(self) -> str: ...

    def compare(
        self, rows_by_system: Mapping[str, Sequence[EvalRow]]
    ) -> dict[str, dict[str, float]]: ...


@runtime_checkable
class Reporter(Protocol):
    """Turns a result into a document. `extension` names the file type it writes."""

    @property
    def name(self) -> str: ...

    def render(self, result: EvalResult) -> str: ...


@runtime_checkable
class Tokenizer(Protocol):
    """Counts the tokens of a text."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


class WorkerLost(Exception):  # noqa: N818 - it is an event, and reads as one
    """The worker of a task died, or was ended. Its text says how."""


@runtime_checkable
class WorkerPool(Protocol):
    """Workers that an executor has started for one system. May be used from any thread.

    `submit` sends a task to a worker that has none. It calls `begin` when the worker takes the task,
    since the time limit of the call starts then. If the worker dies, the future raises
    `WorkerLost`; other tasks are not affected, and another worker takes its place. `end` ends the
    worker that holds a task. `close` ends all of them, also those at work, and does not hang.
    `cbcore.threaded_pool.ThreadedPool` is a pool of workers that block.
    """

    @property
    def n_workers(self) -> int: ...

    def submit(self, task: bytes, begin: Callable[[], None]) -> Future[bytes]: ...

    def end(self, future: Future[bytes]) -> None: ...

    def close(self) -> None: ...


@runtime_checkable
class Executor(Protocol):
    """Makes the calls of blocking systems and evaluators in other processes, or on other machines.

    `open` starts workers, and may return before they are ready. Each calls
    `cbcore.run.workers.open_worker(worker)` once, and what that returns for each task. `workers`
    is how many the run asks for (`--concurrency`); None leaves it to the executor. What makes all
    work impossible is raised as `RunError`, by `open` or by the futures of tasks.
    """

    @property
    def name(self) -> str: ...

    def open(self, worker: bytes, *, workers: int | None) -> WorkerPool: ...


class Run(Protocol):
    """A run that is under way, as the observing hooks get it.

    `settings` are those of the run, `config` is the configuration that the result records, `total`
    the number of rows to come if the datasets have a length. `failures` has the reason of every
    benchmark that ended early, by its name, and `stopped` that of every system, by its name. `hooks`
    are those of this run: register an object with hooks of its own to keep state.
    """

    run_id: str
    config: RunConfig
    settings: RunSettings
    systems: Sequence[Built]
    benchmarks: Sequence[Benchmark]

    @property
    def failures(self) -> Mapping[str, str]: ...

    @property
    def stopped(self) -> Mapping[str, str]: ...

    @property
    def hooks(self) -> pluggy.PluginManager: ...

    @property
    def total(self) -> int | None: ...

    def call_again(self, system: Built, examples: Iterable[Example]) -> list[Output | None]:
        """Further calls of a system for `cb_summarize`, within the cache and the budget.

        None stands for a call that failed. After an early end the list is empty.
        """
