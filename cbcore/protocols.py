"""The roles a component can play. They are structural: implement the methods, subclass nothing.

Examples and outputs are plain dicts. What each optional method adds is said in its own
protocol; the runner looks for the method, never for the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from cbcore.exceptions import DataError
from cbcore.results import EvalResult, EvalRow, Scored

if TYPE_CHECKING:
    import pluggy

    from cbcore.results import RunConfig
    from cbcore.workers import Batch, Recipe, Reply

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
"""What a system returns: `response` when it answers, `context` when it rewrites the context,
`contexts` when it retrieves or reranks, `messages` when it compacts a history, `usage`
(`prompt_tokens` and `completion_tokens`) when an endpoint reported it, and `metadata` for anything
worth keeping in the row."""

Scores: TypeAlias = dict[str, float]
"""Score name → finite number. A score that cannot be given is left out or raised, never 0."""


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

    The optional attributes `identity`, `identity_files`, `identity_without` and `name_is_label`
    say what the store knows it by, and hold for evaluators too; see `cbcore.identity`.

    One that asks for money has `estimate_usd(calls, input_tokens)`, which is None where the
    price is not known, and may have `most_reply_tokens`, the limit of a reply. What a failure
    cost is the `cost` of its `ProcessError`. One that limits its calls may have
    `divide_limits(workers)`, called before any other where it is one of so many: all together
    keep to the limits then. One that calls a model lists its `requests` in the output: metrics
    read from them what they cost, and would cost with a prompt cache; see `cbcore.requests`.
    """

    @property
    def name(self) -> str:
        """How the system is called in results; unique within a run."""

    def process(self, example: Example) -> Output:
        """Work on a private copy of the example."""


@runtime_checkable
class AsyncSystem(Protocol):
    """A system that is awaited. Preferred over `process` where a system has both.

    One that puts its calls in an order of its own has `calls_at_once`, how many it wants to be
    given: it then keeps itself to what `--concurrency` allows. One that only waits may name by
    `bottlenecks` what for, such as its endpoint: with `--overlap`, systems that have none in
    common run at the same time.
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


@runtime_checkable
class Crew(Protocol):
    """Workers that an executor has started for one recipe. Used by one thread at a time.

    `size` is the number of workers it is meant to have. `free` says how many batches could be
    sent now: workers that have opened their bench and have nothing to do. One that dies is
    replaced, and until that one is ready it is not free. No more batches are sent than are free,
    so the deadline of a batch begins when it is sent.

    `wait` returns replies as soon as there are any; an empty list when `timeout_s` has passed, or
    earlier, when a worker got free. Each batch that was sent is replied to once: by its worker's
    payload, or as lost. After `abandon`, which ends the worker that has the batch, there is no
    reply to it any more. `close` ends all workers, also those at work, and does not hang.

    With `reopen(recipe)` it goes on with another recipe, when no batch is out: its workers close
    their benches and open those of that recipe, and are free again when they have.

    What makes all further work impossible, such as workers that cannot be started at all, is
    raised as `RunError`, by any of the methods but `close`.
    """

    @property
    def size(self) -> int: ...

    def free(self) -> int: ...

    def send(self, batch: Batch) -> None: ...

    def wait(self, timeout_s: float) -> Sequence[Reply]: ...

    def abandon(self, batch_id: int) -> None: ...

    def close(self) -> None: ...


@runtime_checkable
class Executor(Protocol):
    """Decides where calls run: other processes, other machines. See `cbcore.workers`.

    `open` starts workers for a recipe, and returns at once: they get ready by themselves. It is
    called for the first system that has anything to do. For those after it, a crew that can is
    told to `reopen`; another is closed when its system is done. `workers` is how many the run
    asks for (`--concurrency`); None leaves it to the executor. An optional `start_timeout_s` says
    how long the run waits for a first worker to get ready.
    """

    @property
    def name(self) -> str: ...

    def open(self, recipe: Recipe, *, workers: int | None) -> Crew: ...


class Run(Protocol):
    """A run that is under way, as the observing hooks get it.

    `config` is the configuration that the result records, `total` the number of rows to come if
    the datasets have a length, and `failures` maps datasets that ended early to their reason.
    `hooks` are those of this run: register an object with hooks of its own to keep state.
    """

    run_id: str
    config: RunConfig
    show_progress: bool

    @property
    def hooks(self) -> pluggy.PluginManager: ...

    @property
    def system_names(self) -> Sequence[str]: ...

    @property
    def total(self) -> int | None: ...

    @property
    def failures(self) -> Mapping[str, str]: ...
