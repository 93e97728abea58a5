"""What a run would do: the calls it would make, what is stored already, what it might cost."""

from __future__ import annotations

from typing import Any

import attrs

from cbcore._examples import Replayable, number
from cbcore._runner import Run


@attrs.frozen
class PlannedWork:
    """One system on one dataset, as a dry run counts it."""

    system: str
    dataset: str
    examples: int
    stored: int
    calls: int
    unusable: int
    input_tokens: int
    usd: float | None


def plan(run: Run) -> list[PlannedWork]:
    """Count what each system has to do on each dataset. No system is called."""
    planned = []
    replays = [
        Replayable(source.examples, limit=run.options.max_examples, passes=len(run.systems) + 1)
        for source in run.sources
    ]
    for system in run.systems:
        for source, examples in zip(run.sources, replays, strict=True):
            planned.append(_planned(run, system, attrs.evolve(source, examples=examples)))
    for replay in replays:
        replay.close()
    if run.store is not None:
        run.store.close()
    return planned


def _planned(run: Run, system: Any, source: Any) -> PlannedWork:
    work = number(source.examples, source.tag, repeats=run.options.repeats)
    memo = run.memo(system, source)
    if memo is not None:
        work = memo.recall(work)
    examples = stored = unusable = tokens = 0
    for item in work:
        examples += 1
        if item.problem is not None:
            unusable += 1
        elif item.recalled is not None:
            stored += 1
        else:
            tokens += run.counter.visible(item.example)
    calls = examples - stored - unusable
    # A system that knows its prices says what this many calls and tokens would cost.
    estimate = getattr(system, "estimate_usd", None)
    usd = estimate(calls, tokens) if callable(estimate) else None
    return PlannedWork(system.name, source.tag, examples, stored, calls, unusable, tokens, usd)
