"""The plan of a run: the calls that it would make, the cached outputs, and the likely cost."""

from __future__ import annotations

import attrs

from cbcore.costs import declare_cost
from cbcore.exceptions import ColumnError, UsageError
from cbcore.protocols import Cost
from cbcore.run.pair import Attempt, Pair
from cbcore.run.runner import Runner

_HINT = "Write a column, or a path such as prediction.contexts, original.… or processed.…"


@attrs.define
class PlannedCalls:
    """One system on one benchmark. A cost is None if no price is known."""

    system: str
    dataset: str
    examples: int = 0
    cached: int = 0
    calls: int = 0
    unusable: int = 0
    input_tokens: int = 0
    cost: Cost | None = None
    judging: Cost | None = None


def plan_run(run: Runner) -> list[PlannedCalls]:
    """Count what each system has to do on each benchmark. No system is called."""
    run.check_examples()
    run.find_keys()
    return [
        _plan(Pair(run, system, run.examples[place], scorers))
        for (system, place), scorers in run.scorers.items()
    ]


def _plan(pair: Pair) -> PlannedCalls:
    planned = PlannedCalls(pair.system.name, pair.examples.benchmark.name)
    group: list[Attempt] = []  # repeats of one example
    for attempt in pair.attempts:
        example = attempt.example.data
        # Columns are tried on the first usable example: the others are alike, or fail.
        if attempt.error is None and planned.examples == planned.unusable:
            _check_columns(pair, attempt)
        planned.examples += 1
        planned.unusable += attempt.error is not None
        planned.cached += attempt.is_cached
        if attempt.needs_call:
            planned.calls += 1
            planned.input_tokens += pair.run.counter.visible(example)
            planned.cost = _add(planned.cost, declare_cost(pair.system, example))
        judges = pair.list_judges(attempt)
        group = [*group, attempt] if attempt.repeat else [attempt]
        if len(group) == pair.repeats > 1:
            pair.join_repeats(attempt, group)
            judges += pair.list_judges(attempt)
        for judge in judges:
            planned.judging = _add(planned.judging, declare_cost(judge, example))
    if pair.data_error is not None:
        raise pair.data_error
    return planned


def _add(total: Cost | None, cost: Cost | None) -> Cost | None:
    if cost is None or cost.usd is None:
        return total
    is_bound = cost.is_bound and (total is None or total.is_bound)
    return attrs.evolve(cost + (total or Cost()), is_bound=is_bound)


def _check_columns(pair: Pair, attempt: Attempt) -> None:
    """Try column mappings on an example, and on its output if that is cached."""
    for scorer in pair.scorers:
        read = getattr(scorer.value, "read_columns", None)
        if read is None or not scorer.can_score(attempt.example.data, attempt.output or {}):
            continue
        try:
            read(attempt.example.data, attempt.output)
        except ColumnError as error:
            raise UsageError(error.message, hint=_HINT) from error
