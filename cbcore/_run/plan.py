"""What a run would do: the calls it would make, what is stored already, what it might cost."""

from __future__ import annotations

import contextlib
from typing import Any

import attrs

from cbcore._run.run import Run
from cbcore._run.work import Replayable, Work, number
from cbcore.components import describe_exception
from cbcore.exceptions import ColumnError, UsageError

COLUMNS_HINT = "write a column, a path such as prediction.contexts, original.… or processed.…"


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
    with contextlib.ExitStack() as opened:
        if run.store is not None:
            opened.callback(run.store.close)
        sources = []
        for source in run.sources:
            replay = Replayable(
                source.examples, limit=run.options.max_examples, passes=len(run.systems)
            )
            opened.callback(replay.close)
            sources.append(attrs.evolve(source, examples=replay))
        return [
            _planned(run, system, run.source_for(system, source))
            for system in run.systems
            for source in sources
        ]


def _planned(run: Run, system: Any, source: Any) -> PlannedWork:
    repeats = source.repeats or run.options.repeats
    work = number(
        source.examples,
        source.tag,
        repeats=repeats,
        ids_may_repeat=source.contained,
        warn=run.warn,
    )
    memo = run.memo(system, source)
    if memo is not None:
        work = memo.recall(work, scoring=False)
    examples = stored = unusable = tokens = 0
    for item in work:
        if not examples - unusable and item.problem is None:
            _check_columns(run, source, item)
        examples += 1
        if item.problem is not None:
            unusable += 1
        elif item.recalled is not None:
            stored += 1
        else:
            tokens += run.counter.visible(item.example)
    calls = examples - stored - unusable
    usd = _estimated_usd(run, system, calls, tokens)
    return PlannedWork(system.name, source.tag, examples, stored, calls, unusable, tokens, usd)


def _check_columns(run: Run, source: Any, work: Work) -> None:
    """Try column mappings on an example, and on its output where that is stored already."""
    processed = None if work.recalled is None else work.recalled.output()
    for scorer in (*source.evaluators, *source.pooled):
        check = getattr(scorer.evaluator, "check_columns", None)
        if check is None or not scorer.can_score(work.example, processed or {}):
            continue
        try:
            unchecked = check(work.example, processed)
        except ColumnError as error:
            raise UsageError(error.message, hint=COLUMNS_HINT) from error
        for message in unchecked:
            run.warn(message)


def _estimated_usd(run: Run, system: Any, calls: int, tokens: int) -> float | None:
    """What this many calls and tokens would cost, where the system knows its prices."""
    estimate = getattr(system, "estimate_usd", None)
    if not callable(estimate):
        return None
    try:
        return float(estimate(calls, tokens))
    except Exception as error:  # noqa: BLE001 - the plugin boundary
        run.warn(f"{system.name!r} could not estimate its cost: {describe_exception(error)}")
        return None
