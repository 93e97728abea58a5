"""Chains of systems: `a | b` passes the output of each stage to the next one."""

from __future__ import annotations

import contextlib
import inspect
import os
import time
import weakref
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbcore.boundary import describe_exception
from cbcore.contexts import FORMS, find_returned, find_unreadable, is_same, pass_on
from cbcore.costs import add_turns, count_tokens, read_cost, usage_of
from cbcore.exceptions import CBError, ProcessError
from cbcore.protocols import Cost, Example, Output
from cbcore.timing import current_waits, waiting

if TYPE_CHECKING:
    import asyncio

__all__ = ("Renamed", "chain")

_REPORTS = ("usage", "api_usage", "stage_usage", "requests")
"""Fields in which a stage reports on itself. The next stage does not get them."""
_ANSWERS = ("response", "tool_calls")
_LIKELIHOODS = "loglikelihood_requests"
"""Contain the whole context, so that stages would have no effect on the answers to them."""
_COST, _TOKENS, _UNKNOWN = "cost_usd", "spent_tokens", "requests_of_unknown_cost"


class Chain:
    """Runs its stages in order; the fields that a stage returns replace those for the next.

    A context that a stage returns, as `context`, `contexts` or `messages`, becomes the context of
    the next stage. The output is the union of what the stages returned, without the fields of the
    example that they handed back. `usage` is that of the stage that gave the answer,
    `stage_usage` has the usage of each stage, `requests` those of all stages, and the `metadata`
    have the seconds of each stage as `stage_s`. Stages of the same name are added up.
    """

    def __init__(self, stages: Sequence[Any], name: str | None = None) -> None:
        self.stages = tuple(stages)
        self.name = name or " | ".join(stage.name for stage in self.stages)

    @property
    def max_cost(self) -> Callable[[Example], Cost]:
        """The most that all stages together may cost, if each got what the first one gets.

        A chain without a stage that declares its cost lacks this attribute.
        """
        declared = [stage.max_cost for stage in self.stages if hasattr(stage, "max_cost")]
        if not declared:
            raise AttributeError("max_cost")

        def add_costs(example: Example) -> Cost:
            example = _leave_out_likelihoods(example)
            return Cost.of_all(declare(example) for declare in declared)

        return add_costs

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The endpoints of all stages; none if a stage computes here."""
        of_stages = [getattr(stage, "endpoints", None) or () for stage in self.stages]
        return tuple(name for names in of_stages for name in names) if all(of_stages) else ()

    def warm_up(self) -> Awaitable[None] | None:
        """Let every stage prepare itself; awaitable if one of them is."""
        begun = [stage.warm_up() for stage in self.stages if hasattr(stage, "warm_up")]
        awaited = [one for one in begun if inspect.isawaitable(one)]
        return _gather(awaited) if awaited else None

    def process(self, example: Example) -> Output:
        passage = _Passage(example)
        for stage in self.stages:
            with passage.call(stage):
                passage.take(stage, stage.process(passage.current))
        return passage.output()


class AsyncChain(Chain):
    """A chain with at least one awaited stage; the others run in threads next to the loop."""

    async def aprocess(self, example: Example) -> Output:
        passage = _Passage(example)
        for stage in self.stages:
            with passage.call(stage):
                if hasattr(stage, "aprocess"):
                    output = await stage.aprocess(passage.current)
                else:
                    output = await _process_in_thread(stage, passage.current)
                passage.take(stage, output)
        return passage.output()

    async def aclose(self) -> None:
        for stage in self.stages:
            if hasattr(stage, "aclose"):
                await stage.aclose()


def _leave_out_likelihoods(example: Example) -> Example:
    return {key: value for key, value in example.items() if key != _LIKELIHOODS}


class Renamed:
    """A system under another name; everything else is the system's own."""

    def __init__(self, system: Any, name: str) -> None:
        self.system = system
        self.name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "system":  # not there yet while being unpickled
            raise AttributeError(attribute)
        return getattr(self.system, attribute)


def chain(stages: Sequence[Any], name: str | None = None) -> Chain:
    """A chain of systems that is awaited when one of its stages is."""
    kind = AsyncChain if any(hasattr(stage, "aprocess") for stage in stages) else Chain
    return kind(stages, name)


class _Passage:
    """An example on its way through the stages of a chain, and what each of them reported."""

    def __init__(self, example: Example) -> None:
        self._example = _leave_out_likelihoods(example)
        self.current = self._example
        self._forms: set[str] = set()  # of the context, as stages returned it or handed it back
        self._usage: Any = None
        self._stage_usage: list[dict[str, Any]] = []
        self._stage_s: dict[str, float] = {}
        self._requests: list[dict[str, Any]] = []
        self._is_answered = False
        self._usd: float | None = None
        self._n_unknown = 0
        self._is_unreported = False

    @contextlib.contextmanager
    def call(self, stage: Any) -> Iterator[None]:
        """The call of a stage: it gets `current`, and `take` its output."""
        self._before, self.current = self.current, dict(self.current)  # a stage may change it
        waits = current_waits()
        self._started = time.perf_counter() - waits.seconds
        try:
            yield
        except (Exception, SystemExit) as error:  # a stage may raise anything
            raise self._describe_failure(stage, error) from error

    def take(self, stage: Any, output: Any) -> None:
        """Go on with what a stage returned."""
        took = max(0.0, time.perf_counter() - current_waits().seconds - self._started)
        if not isinstance(output, dict):
            raise ProcessError(f"it returned {type(output).__name__}, not a dict")
        before = self._before
        if (problem := find_unreadable(before, output)) is not None:
            raise ProcessError(f"it {problem}")
        # Of a stage that hands back all it was given, only what it changed is its own.
        own = output
        if before.keys() <= output.keys():
            own = {f: v for f, v in output.items() if not is_same(v, before.get(f))}
        reports = {field: own[field] for field in _REPORTS if field in own}
        passed = {
            field: before[field] if field in reports else value
            for field, value in output.items()
            if field not in reports or field in before
        }
        facts = own.get("metadata")
        if isinstance(facts, Mapping):
            passed["metadata"] = facts = dict(facts)
        else:
            facts = {}
        inner_s = facts.pop("stage_s", None)
        seconds = inner_s if isinstance(inner_s, Mapping) else {stage.name: took}
        for name, value in seconds.items():
            known = float(value) if type(value) in (int, float) else 0.0
            self._stage_s[name] = self._stage_s.get(name, 0.0) + known
        is_answer = any(field in own for field in _ANSWERS)
        self._add_requests(stage, reports, self._add_cost(stage, facts), is_answer=is_answer)
        if returned := find_returned(before, passed):
            self._forms = returned
        else:
            self._forms |= {form for form in FORMS if form in passed and form in self._example}
        self.current = pass_on(before, passed)

    def _add_cost(self, stage: Any, facts: Mapping[str, Any]) -> float | None:
        """Add what a stage cost to the total. Returns its dollars, None if it reports none."""
        spent = read_cost(facts)
        if spent.cost.usd is not None:
            self._usd = (self._usd or 0.0) + spent.cost.usd
        elif hasattr(stage, "max_cost"):
            self._is_unreported = True
        self._n_unknown += spent.n_unknown
        return spent.cost.usd

    def _write_cost(self, facts: dict[str, Any]) -> None:
        """Write what all stages cost into the metadata of an output, or the cost of a failure.

        If a stage that costs something does not report how much, the sum is unknown.
        """
        if self._n_unknown:
            facts[_UNKNOWN] = self._n_unknown
        if self._is_unreported:
            facts.pop(_COST, None)
        elif self._usd is not None:
            facts[_COST] = self._usd

    def _add_requests(
        self, stage: Any, reports: Mapping[str, Any], usd: float | None, *, is_answer: bool
    ) -> None:
        """Add the usage and the requests of a stage.

        A stage that lists no request, but reports a usage or a cost, has made one all the same. A
        stage that gives the answer is listed as `answered`: a model in its place would be asked.
        """
        usage = usage_of(reports)
        if is_answer:
            self._usage = usage
        inner = reports.get("stage_usage")
        if isinstance(inner, list):  # of a chain inside this one
            stages = [dict(one) for one in inner if isinstance(one, Mapping)]
            usage = [one.get("usage") for one in stages]
        else:
            stages = [{"stage": stage.name, "usage": usage}] if usage else []
        self._stage_usage += stages
        requests = reports.get("requests")
        if requests:
            for one in requests if isinstance(requests, list | tuple) else [requests]:
                entry = one if isinstance(one, Mapping) else {"messages": one}
                self._requests.append({"stage": stage.name, **entry})
        elif usage or usd is not None or (is_answer and not self._is_answered):
            entry = {"stage": stage.name}
            if is_answer and inner is None:
                entry["answered"] = True
            else:
                usage = add_turns(usage)
            entry |= {"usage": usage} if usage else {}
            entry |= {} if usd is None else {_COST: usd}
            self._requests.append(entry)
        self._is_answered = self._is_answered or is_answer

    def _describe_failure(self, stage: Any, error: BaseException) -> ProcessError:
        """The error of a chain of which a stage failed, with what all stages cost until then."""
        reason = error.message if isinstance(error, CBError) else describe_exception(error)
        cost = dict(error.cost) if isinstance(error, ProcessError) else {}
        if not cost and hasattr(stage, "max_cost"):
            cost[_UNKNOWN] = 1
        counts = [count_tokens(add_turns(one.get("usage"))) for one in self._stage_usage]
        if n_tokens := sum(n or 0 for n in counts) + read_cost(cost).cost.tokens:
            cost[_TOKENS] = n_tokens
        requests = [
            {key: value for key, value in one.items() if key not in ("messages", "tools", "reply")}
            for one in self._requests
            if "usage" in one or "answered" not in one
        ]
        own = cost.get("requests")
        if isinstance(own, list):
            requests += [{"stage": stage.name, **one} for one in own if isinstance(one, Mapping)]
        elif cost.get(_COST):
            requests.append({"stage": stage.name, _COST: cost[_COST]})
        if requests:
            cost["requests"] = requests
        self._add_cost(None, cost)
        self._write_cost(cost)
        return ProcessError(f"stage {stage.name!r}: {reason}", cost=cost)

    def output(self) -> Output:
        """The output of the chain. A context that was handed back stays: it is what was sent."""
        given = self._example
        output = {
            field: value
            for field, value in self.current.items()
            if (
                field in self._forms
                if field in FORMS
                else field not in given or not is_same(value, given[field])
            )
        }
        if self._usage is not None:
            output["usage"] = self._usage
        if self._stage_usage:
            output["stage_usage"] = self._stage_usage
        if not all("answered" in request for request in self._requests):
            output["requests"] = self._requests
        metadata = output.get("metadata")
        facts = {**metadata} if isinstance(metadata, Mapping) else {}
        self._write_cost(facts)
        if len(self._stage_s) > 1:
            facts["stage_s"] = self._stage_s
        if facts:
            output["metadata"] = facts
        return output


async def _process_in_thread(stage: Any, example: Example) -> Any:
    """Call a stage next to the event loop. Waiting for a thread is not its time."""
    import asyncio

    loop = asyncio.get_running_loop()
    if loop not in _THREADS:
        _THREADS[loop] = asyncio.Semaphore(min(32, (os.cpu_count() or 1) + 4))
    with waiting():
        await _THREADS[loop].acquire()
    try:
        return await asyncio.to_thread(stage.process, example)
    finally:
        _THREADS[loop].release()  # also of a call that was cancelled and left behind


_THREADS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
    weakref.WeakKeyDictionary()
)
"""How many stages may compute next to an event loop, so that they do not slow each other down."""


async def _gather(awaitables: Iterable[Awaitable[Any]]) -> None:
    import asyncio

    await asyncio.gather(*awaitables)
