"""Chains of systems: `a | b` passes the output of each stage to the next one."""

from __future__ import annotations

import inspect
import os
import time
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbcore.boundary import describe_exception
from cbcore.contexts import FORMS, find_unreadable, is_same, pass_on, returned_forms
from cbcore.exceptions import CBError, ProcessError
from cbcore.protocols import Cost, Example, Output
from cbcore.timing import current_waits, waiting

if TYPE_CHECKING:
    import asyncio

__all__ = ("Renamed", "chain")

USAGE_FIELDS = ("usage", "api_usage")
"""The fields of an output with what an endpoint counted."""
_REPORTS = (*USAGE_FIELDS, "stage_usage", "requests")
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
            passage.begin()
            try:
                output = stage.process(passage.current)
            except (Exception, SystemExit) as error:  # a stage may raise anything
                raise passage.failure(stage, error) from error
            passage.take(stage, output)
        return passage.output()


class AsyncChain(Chain):
    """A chain with at least one awaited stage; the others run in threads next to the loop."""

    async def aprocess(self, example: Example) -> Output:
        passage = _Passage(example)
        for stage in self.stages:
            passage.begin()
            try:
                if hasattr(stage, "aprocess"):
                    output = await stage.aprocess(passage.current)
                else:
                    output = await _process_in_thread(stage, passage.current)
            except (Exception, SystemExit) as error:  # a stage may raise anything
                raise passage.failure(stage, error) from error
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
        self._example = dict(example)  # a stage may change what it is given
        self.current = _leave_out_likelihoods(example)
        self._forms: set[str] = set()  # of the context, as stages returned it or handed it back
        self._usage: Any = None
        self._stage_usage: list[dict[str, Any]] = []
        self._stage_s: dict[str, float] = {}
        self._requests: list[dict[str, Any]] = []
        self._is_answered = False
        self._usd: float | None = None
        self._n_unknown = 0
        self._is_unreported = False
        self._began = self._waited = 0.0

    def begin(self) -> None:
        """A stage begins now."""
        self._waited = current_waits().seconds
        self._began = time.perf_counter()

    def take(self, stage: Any, output: Any) -> None:
        """Go on with what a stage returned."""
        took = time.perf_counter() - self._began - (current_waits().seconds - self._waited)
        if not isinstance(output, dict):
            raise ProcessError(f"stage {stage.name!r} returned {type(output).__name__}, not a dict")
        before = self.current
        if (problem := find_unreadable(before, output)) is not None:
            raise ProcessError(f"stage {stage.name!r} {problem}")
        reports = {
            field: output[field]
            for field in _REPORTS
            if field in output and not is_same(output[field], before.get(field))
        }
        passed = {field: value for field, value in output.items() if field not in reports}
        passed |= {field: before[field] for field in reports if field in before}
        metadata, facts = passed.get("metadata"), {}
        if isinstance(metadata, Mapping) and metadata is not before.get("metadata"):
            facts = passed["metadata"] = dict(metadata)
        inner_s = facts.pop("stage_s", None)
        seconds = inner_s if isinstance(inner_s, Mapping) else {stage.name: max(0.0, took)}
        for name in seconds:
            self._stage_s[name] = self._stage_s.get(name, 0.0) + (_read_amount(seconds, name) or 0)
        cost = self._add_cost(stage, facts)
        usage, answers = self._add_usage(stage, reports, passed)
        self._add_requests(stage, reports, usage, cost, answers)
        if returned := returned_forms(before, passed):
            self._forms = returned
        else:
            self._forms |= {form for form in FORMS if form in passed and form in self._example}
        self.current = pass_on(before, passed)

    def _add_cost(self, stage: Any, facts: Mapping[str, Any]) -> float | None:
        """Add what a stage cost to the total. Returns its dollars, None if it reports none."""
        cost: float | None = _read_amount(facts, _COST)
        if cost is not None:
            self._usd = (self._usd or 0.0) + cost
        elif hasattr(stage, "max_cost"):
            self._is_unreported = True
        self._n_unknown += _read_amount(facts, _UNKNOWN) or 0
        return cost

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

    def _add_usage(
        self, stage: Any, reports: Mapping[str, Any], passed: Mapping[str, Any]
    ) -> tuple[Any, bool]:
        """Add the usage of a stage. Returns it, and whether the stage gave an answer."""
        before = self.current
        reported = [reports[field] for field in USAGE_FIELDS if field in reports]
        inner = reports.get("stage_usage")
        if isinstance(inner, list):  # of a chain inside this one
            self._stage_usage += [dict(one) for one in inner if isinstance(one, Mapping)]
        else:
            self._stage_usage += [{"stage": stage.name, "usage": usage} for usage in reported]
        answers = any(
            field in passed and not is_same(passed[field], before.get(field)) for field in _ANSWERS
        )
        # A model may give the same answer as the stage before it. A stage that hands back all
        # that it was given did not answer.
        if reported and not before.keys() <= passed.keys():
            answers = answers or any(field in passed for field in _ANSWERS)
        if answers:
            self._usage = reported[0] if reported else None
        if isinstance(inner, list):
            return [one.get("usage") for one in inner if isinstance(one, Mapping)], answers
        return reported[0] if reported else None, answers

    def _add_requests(
        self,
        stage: Any,
        reports: Mapping[str, Any],
        usage: Any,
        cost: float | None,
        answers: bool,
    ) -> None:
        """Add the requests of a stage.

        A stage that lists none, but reports a usage or a cost, has made one all the same. A stage
        that gives the answer is listed as `answered`: a model in its place would be asked.
        """
        requests = reports.get("requests")
        if requests:
            for one in requests if isinstance(requests, list | tuple) else [requests]:
                entry = one if isinstance(one, Mapping) else {"messages": one}
                self._requests.append({"stage": stage.name, **entry})
        elif usage or cost is not None or (answers and not self._is_answered):
            entry = {"stage": stage.name}
            if answers and "stage_usage" not in reports:
                entry["answered"] = True
            else:
                usage = add_turns(usage)
            if usage:
                entry["usage"] = usage
            if cost is not None:
                entry[_COST] = cost
            self._requests.append(entry)
        self._is_answered = self._is_answered or answers

    def failure(self, stage: Any, error: BaseException) -> ProcessError:
        """The error of a chain of which a stage failed, with what all stages cost until then."""
        reason = error.message if isinstance(error, CBError) else describe_exception(error)
        cost = dict(error.cost) if isinstance(error, ProcessError) else {}
        if not cost and hasattr(stage, "max_cost"):
            cost[_UNKNOWN] = 1
        counts = [count_tokens(add_turns(one.get("usage"))) for one in self._stage_usage]
        if n_tokens := sum(n or 0 for n in counts):
            cost[_TOKENS] = n_tokens + (_read_amount(cost, _TOKENS) or 0)
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


def add_turns(usage: Any) -> Mapping[str, Any]:
    """The usage of a call. A list has the usage of every turn, which are added up."""
    if isinstance(usage, Mapping):
        return usage
    total: dict[str, Any] = {}
    for turn in usage if isinstance(usage, list | tuple) else ():
        for key, value in turn.items() if isinstance(turn, Mapping) else ():
            is_number = isinstance(value, int | float)
            total[key] = total.get(key, 0) + value if is_number else value
    return total


def count_tokens(usage: Mapping[str, Any]) -> int | None:
    """The tokens of prompt and completion; None if neither was counted."""
    counts = [usage.get(key) for key in ("prompt_tokens", "completion_tokens")]
    known = [n for n in counts if type(n) is int and n >= 0]
    return sum(known) if known else None


def _read_amount(facts: Mapping[str, Any], name: str) -> Any:
    """A reported amount; None unless it is a finite number of zero or more."""
    amount: Any = facts.get(name)
    is_number = type(amount) in (int, float)
    return amount if is_number and 0 <= amount < float("inf") else None
