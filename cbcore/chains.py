"""Systems in a row: `bm25:max_tokens=400 | extractive` hands each output to the next stage."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import os
import time
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbcore.components import describe_exception
from cbcore.contexts import FORMS, find_unreadable, is_same, replace_forms, returned_forms
from cbcore.exceptions import CBError, ProcessError
from cbcore.protocols import Example, Output
from cbcore.sent import SENT
from cbcore.sent._stages import Stages, facts_of, usages_by_stage
from cbcore.timing import _waits
from cbcore.timing._companions import Companion

if TYPE_CHECKING:
    import asyncio

__all__ = ("Renamed", "chain")

USAGE_FIELDS = ("usage", "api_usage")
"""Where an output says what an endpoint counted."""
_ANSWERS = ("response", "tool_calls")
_REQUESTS = "loglikelihood_requests"
"""Contain the whole context, so that stages would have no effect on the answers to them."""
_FREE = object()
_COST, _TOKENS, _UNKNOWN = "cost_usd", "spent_tokens", "requests_of_unknown_cost"


class Passed(dict[str, Any]):
    """What a chain returns: an output that also knows what each stage took, in seconds.

    Read, it is a plain dict. Stages of the same name are added up.
    """

    stage_s: Mapping[str, float]


class Chain:
    """Runs its stages in order; the fields that a stage returns replace those for the next.

    A context that a stage returns, as `context`, `contexts` or `messages`, becomes the context of
    the next stage. The output is the union of what the stages returned, without the fields of the
    example that they handed back. `usage` is that of the stage which gave the answer.
    `stage_usage` has the usage of each stage, so that none stands for another.
    """

    def __init__(self, stages: Sequence[Any], name: str | None = None) -> None:
        self.stages = tuple(stages)
        self.name = name or " | ".join(stage.name for stage in self.stages)

    @property
    def estimate_usd(self) -> Callable[[int, int], float] | None:
        """What calls would cost: the sum over the stages that have prices.

        None where one does not know its own; a chain in which no stage has any lacks this too.
        Each stage is taken to get what the first one is given, so that a stage that shortens
        makes it an upper bound.
        """
        estimates = [stage.estimate_usd for stage in self.stages if hasattr(stage, "estimate_usd")]
        if not estimates:
            raise AttributeError("estimate_usd")
        if not all(map(callable, estimates)):
            return None
        return lambda calls, tokens: sum(estimate(calls, tokens) for estimate in estimates)

    @property
    def most_reply_tokens(self) -> int | None:
        """The most tokens that all replies together can have; None where one has no limit."""
        asking = [stage for stage in self.stages if hasattr(stage, "most_reply_tokens")]
        limits = [stage.most_reply_tokens for stage in asking]
        return sum(limits) if limits and None not in limits else None

    def repriced(self, output: Output) -> Mapping[str, Any]:
        """The metadata of a stored output with what it costs by now; see `System`.

        As it was, where not all that was asked is known by stage, or a price is not.
        """
        metadata: Mapping[str, Any] = output.get("metadata") or {}
        if SENT not in output:
            return metadata
        following = iter(self.stages)  # several may have one name, and are in this order
        costs = []
        for name, usages in usages_by_stage(output):
            stage = next((stage for stage in following if stage.name == name), None)
            cost_usd_of = getattr(stage, "cost_usd_of", None)
            costs.append(None if cost_usd_of is None else cost_usd_of(usages))
        if not costs or None in costs:
            return metadata
        return {**metadata, _COST: sum(costs)}

    def divide_limits(self, workers: int) -> None:
        """Let the stages that have limits keep to their share of them; see `System`."""
        for stage in self.stages:
            if hasattr(stage, "divide_limits"):
                stage.divide_limits(workers)

    def warm_up(self) -> Awaitable[None] | None:
        """Let every stage prepare itself; to be awaited where one of them has to be."""
        begun = [stage.warm_up() for stage in self.stages if hasattr(stage, "warm_up")]
        awaited = [one for one in begun if inspect.isawaitable(one)]
        return _all_of(awaited) if awaited else None

    def process(self, example: Example) -> Output:
        passage = _Passage(example)
        for stage in self.stages:
            passage.enter()
            try:
                output = stage.process(passage.current)
            except (Exception, SystemExit) as error:  # plain, as it is passed for every row
                raise _blame(stage, error, passage) from error
            passage.take(stage, output)
        return passage.output()


class AsyncChain(Chain):
    """A chain with at least one awaited stage; the others run in threads beside the loop."""

    def warm_up(self) -> Awaitable[None]:
        """As of any chain; the threads for stages that are called are started as well."""

        begun = super().warm_up()
        return _all_of([_in_a_thread(dict, {}), *([begun] if begun is not None else [])])

    async def aprocess(self, example: Example) -> Output:
        passage = _Passage(example)
        for stage in self.stages:
            passage.enter()
            try:
                if hasattr(stage, "aprocess"):
                    output = await stage.aprocess(passage.current)
                else:
                    output = await _in_a_thread(stage.process, passage.current)
            except (Exception, SystemExit) as error:  # plain, as it is passed for every row
                raise _blame(stage, error, passage) from error
            passage.take(stage, output)
        return passage.output()

    @property
    def bottlenecks(self) -> tuple[str, ...]:
        """What all stages wait for; nothing is told where one of them computes here."""
        told = [getattr(stage, "bottlenecks", None) or () for stage in self.stages]
        return tuple(name for names in told for name in names) if all(told) else ()

    async def aclose(self) -> None:
        for stage in self.stages:
            if hasattr(stage, "aclose"):
                await stage.aclose()


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
        self._example = dict(example)  # as it was given, whatever a stage does to it
        self.current = example
        if _REQUESTS in example:
            self.current = {key: value for key, value in example.items() if key != _REQUESTS}
        self._forms: dict[str, Any] = {}  # the context as the stages returned it
        self._usage: dict[str, Any] = {}
        self._stage_usage: list[dict[str, Any]] = []
        self._spent: dict[str, Any] = {}
        self._stage_s: dict[str, float] = {}
        self._sent: Stages | None = None
        self._unpriced = False
        self._entered = self._waited = 0.0

    def enter(self) -> None:
        """A stage begins now."""
        self._waited = _waits.waited_so_far()
        self._entered = time.perf_counter()

    def take(self, stage: Any, output: Any) -> None:
        """Go on with what a stage returned."""
        took = time.perf_counter() - self._entered - (_waits.waited_so_far() - self._waited)
        inner = output.stage_s if isinstance(output, Passed) else {stage.name: max(0.0, took)}
        for name, seconds in inner.items():
            self._stage_s[name] = self._stage_s.get(name, 0.0) + seconds
        if not isinstance(output, dict):
            raise ProcessError(f"stage {stage.name!r} returned {type(output).__name__}, not a dict")
        before = self.current
        if (problem := find_unreadable(before, output)) is not None:
            raise ProcessError(f"stage {stage.name!r} {problem}")
        merged = {**before, **output}
        usage = self._set_usage_aside(stage, output, merged, before)
        cost = self._add_up(stage, before.get("metadata"), merged)
        told = merged.pop(SENT, None)
        if self._sent is not None or usage or cost is not None or told is not None:
            self._sent = self._sent or Stages()
            self._sent.take(stage.name, output, before, usage, cost)
        returned = returned_forms(before, output)
        if returned:
            self._forms = {form: output[form] for form in returned}
        else:
            known = self._forms.keys() | self._example.keys()  # the others are made from these
            self._forms |= {form: output[form] for form in FORMS if form in output.keys() & known}
        self.current = replace_forms(before, merged, returned)

    def _add_up(self, stage: Any, was: Any, merged: dict[str, Any]) -> Any:
        """The facts of the last stage replace those before, but what was paid adds up.

        Returns what this one cost; None where it does not say.
        """
        now = merged.get("metadata")
        told: Mapping[str, Any] | None = (
            now if now is not was and isinstance(now, Mapping) else None
        )
        cost, unknown = _amount(told or {}, _COST), _amount(told or {}, _UNKNOWN)
        if cost is None:
            estimate = getattr(stage, "estimate_usd", _FREE)
            if callable(estimate):
                unknown = (unknown or 0) + 1  # it was asked for money, and does not say how much
            elif estimate is None:
                self._unpriced = True  # nobody knows what it costs, so nobody knows the sum
        spent = _together(self._spent, {_COST: cost, _UNKNOWN: unknown})
        if unknown or (told is not None and self._spent) or self._unpriced:
            known = {**(now if isinstance(now, Mapping) else {}), **spent}
            if self._unpriced:
                known.pop(_COST, None)
            if known or now is not None:
                merged["metadata"] = known
        self._spent = spent
        return cost

    def spent_with(self, stage: Any, error: BaseException) -> dict[str, Any]:
        """What all stages took up to one that failed."""
        spent = dict(error.spent) if isinstance(error, ProcessError) else {}
        if not spent and callable(getattr(stage, "estimate_usd", None)):
            spent = {_UNKNOWN: 1}
        counts = [n for one in self._stage_usage for n in _tokens(one["usage"])]
        if counts:
            spent[_TOKENS] = sum(counts) + (_amount(spent, _TOKENS) or 0)
        before = self._sent.spent() if self._sent is not None else []
        asked = [*before, *facts_of(stage.name, spent)]
        if asked:
            spent[SENT] = asked
        together = {**spent, **_together(self._spent, spent)}
        if self._unpriced:
            together.pop(_COST, None)
        return together

    def _set_usage_aside(
        self, stage: Any, output: Output, merged: dict[str, Any], before: Example
    ) -> Any:
        """Keep a stage's usage from the next, which would hand it on as if it were its own.

        Returns it, of each that was asked where it lists several; None where it reports none.
        """
        reported = {}
        for field in USAGE_FIELDS:
            if field in merged and merged[field] != self._example.get(field):
                reported[field] = merged.pop(field)
                if field in self._example:
                    merged[field] = self._example[field]
        inner = merged.pop("stage_usage", None)
        if isinstance(inner, list):  # of a chain inside this one
            self._stage_usage += inner
        else:
            for usage in reported.values():
                self._stage_usage.append({"stage": stage.name, "usage": usage})
        changed = any(merged.get(field) != before.get(field) for field in _ANSWERS)
        # A model may give the same answer as the stage before it; a stage that hands back all
        # it was given has not said so.
        named = any(field in output for field in _ANSWERS) and not before.keys() <= output.keys()
        if changed or (reported and named):
            self._usage = reported
        if isinstance(inner, list):
            return [one.get("usage") for one in inner if isinstance(one, Mapping)]
        return next(iter(reported.values()), None)

    def output(self) -> Output:
        """The output of the chain. A context that was handed back stays: it is what was sent."""
        given = self._example
        passed = Passed(self._forms)
        for field, value in self.current.items():
            if field not in FORMS and (field not in given or not is_same(value, given[field])):
                passed[field] = value
        if self._stage_usage:
            passed.update(self._usage, stage_usage=self._stage_usage)
        if self._sent is not None and (told := self._sent.told(self._example, passed)):
            passed[SENT] = told
        passed.stage_s = self._stage_s
        return passed


async def _in_a_thread(function: Callable[[Example], Any], example: Example) -> Any:
    """Call a stage beside the event loop. Waiting for a thread is not the stage's time."""
    import asyncio

    waits = _waits.current_waits()
    asked = time.perf_counter()
    context = contextvars.copy_context()

    def call(example: Example) -> tuple[Any, float]:
        waits.add(time.perf_counter() - asked)
        return context.run(_waits.among_threads, function, example)

    loop = asyncio.get_running_loop()
    room = _ROOMS.get(loop)
    if room is None:
        room = _ROOMS[loop] = _Room()
    output, waited = await room.run(call, example)
    waits.add(waited)
    return output


class _Room:
    """The threads beside one event loop: as many as the interpreter has use for.

    A call that was cancelled is left behind with its thread, and another takes its place.
    """

    def __init__(self) -> None:
        import asyncio

        self._places = asyncio.Semaphore(min(32, (os.cpu_count() or 1) + 4))
        self._idle: list[Companion] = []

    async def run(self, function: Callable[[Example], Any], example: Example) -> Any:
        import asyncio

        loop = asyncio.get_running_loop()
        async with self._places:
            companion = self._idle.pop() if self._idle else Companion("cb-stage")
            answer: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

            def tell(told: tuple[Any, BaseException | None]) -> None:
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                    loop.call_soon_threadsafe(_set, answer, told)

            companion.ask(function, example, tell)
            try:
                value, error = await answer
            except asyncio.CancelledError:
                companion.leave()
                raise
            self._idle.append(companion)
        if error is not None:
            raise error
        return value


def _set(answer: asyncio.Future[Any], told: Any) -> None:
    if not answer.done():
        answer.set_result(told)


_ROOMS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Room] = weakref.WeakKeyDictionary()


async def _all_of(awaitables: Iterable[Awaitable[Any]]) -> None:
    import asyncio

    await asyncio.gather(*awaitables)


def _amount(facts: Mapping[str, Any], name: str) -> Any:
    """An amount as it is told; None unless it is a number, and not less than nothing."""
    amount: Any = facts.get(name)
    is_number = type(amount) in (int, float)
    return amount if is_number and 0 <= amount < float("inf") else None


def _together(*told: Mapping[str, Any]) -> dict[str, Any]:
    """What was paid in all, by what is known of it."""
    added = {}
    for name in (_COST, _UNKNOWN):
        known = [amount for facts in told if (amount := _amount(facts, name)) is not None]
        if known:
            added[name] = sum(known)
    return added


def _tokens(usage: Any) -> list[int]:
    """The counts of a usage, or of one for each turn."""
    turns = usage if isinstance(usage, list | tuple) else [usage]
    names = ("prompt_tokens", "completion_tokens")
    found = [turn.get(name) for turn in turns if isinstance(turn, Mapping) for name in names]
    return [n for n in found if type(n) is int and n > 0]


def _blame(stage: Any, error: BaseException, passage: _Passage) -> ProcessError:
    told = error.message if isinstance(error, CBError) else describe_exception(error)
    return ProcessError(f"stage {stage.name!r}: {told}", spent=passage.spent_with(stage, error))
