"""What a run would do: the calls it would make, what is stored already, what it might cost."""

from __future__ import annotations

import contextlib
from collections import Counter

import attrs

from cbcore._run.benchmark import Benchmark
from cbcore._run.context import RunContext
from cbcore._run.parts import Part
from cbcore._run.run import Run
from cbcore._run.scorers import Scorer
from cbcore._run.work import Work
from cbcore.boundary import contained
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
    judging_usd: float | None = None


def plan(run: Run) -> list[PlannedWork]:
    """Count what each system has to do on each dataset. No system is called."""
    context = run.context
    with contextlib.ExitStack() as stack:
        if context.store is not None:
            stack.callback(context.store.close)
        return [
            _planned(context, system, benchmark)
            for system, benchmarks in stack.enter_context(run.execution.opened())
            for benchmark in benchmarks
        ]


def _planned(context: RunContext, system: Part, benchmark: Benchmark) -> PlannedWork:
    work = context.works(benchmark, context.memo(system, benchmark), scoring=False)
    examples = stored = unusable = tokens = 0
    judged = {s.key: (s.part, Counter[str]()) for s in benchmark.scorers if _is_paid(s)}
    for item in work:
        # Columns are tried on the first example that can be used: others are alike, or errored.
        if not examples - unusable and item.problem is None:
            _check_columns(benchmark, item)
        examples += 1
        if item.problem is not None:
            unusable += 1
        elif item.recalled is not None:
            stored += 1
        else:
            tokens += context.counter.visible(item.example)
        if judged and item.problem is None:
            for key, (_, counted) in judged.items():
                if item.recalled is None or key not in item.recalled.scores:
                    size = context.counter.visible(item.example)
                    counted.update(calls=1, tokens=size)
    calls = examples - stored - unusable
    usd = _estimated_usd(context, system, calls, tokens)
    judging = [
        _estimated_usd(context, part, n["calls"], n["tokens"]) for part, n in judged.values()
    ]
    known = [cost for cost in judging if cost is not None]
    return PlannedWork(
        *(system.name, benchmark.name, examples, stored, calls, unusable, tokens, usd),
        judging_usd=sum(known) if known else None,
    )


def _is_paid(scorer: Scorer) -> bool:
    return hasattr(scorer.evaluator, "ascore") and hasattr(scorer.evaluator, "estimate_usd")


def _check_columns(benchmark: Benchmark, work: Work) -> None:
    """Try column mappings on an example, and on its output where that is stored already."""
    processed = None if work.recalled is None else work.recalled.output()
    for scorer in (*benchmark.scorers, *benchmark.pooled):
        read = getattr(scorer.evaluator, "read_columns", None)
        if read is None or not scorer.can_score(work.example, processed or {}):
            continue
        try:
            read(work.example, processed)
        except ColumnError as error:
            raise UsageError(error.message, hint=COLUMNS_HINT) from error


def _estimated_usd(context: RunContext, system: Part, calls: int, tokens: int) -> float | None:
    """What this many calls and tokens would cost, where somebody knows the prices."""
    estimate = getattr(system.value, "estimate_usd", None)
    if not callable(estimate):
        return None
    with contained() as tried:
        return float(estimate(calls, tokens))
    context.warn(f"{system.name!r} could not estimate its cost: {tried.reason}")
    return None
