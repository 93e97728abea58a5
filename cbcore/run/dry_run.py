"""What a run would do: the calls that it would make, what is cached, what it might cost."""

from __future__ import annotations

from typing import Any

import attrs

from cbcore.components import Built
from cbcore.exceptions import ColumnError, UsageError
from cbcore.protocols import Cost
from cbcore.run.budget import declare_cost
from cbcore.run.examples import Examples
from cbcore.run.pair import Attempt
from cbcore.run.runner import Runner
from cbcore.run.scorers import Scorer
from cbcore.store.cache import Cache
from cbcore.store.database import Reader

COLUMNS_HINT = "Write a column, or a path such as prediction.contexts, original.… or processed.…"


@attrs.define
class PlannedCalls:
    """One system on one benchmark. Dollars are None if a price is not known."""

    system: str
    dataset: str
    examples: int = 0
    cached: int = 0
    calls: int = 0
    unusable: int = 0
    input_tokens: int = 0
    cost: Cost | None = None
    judging: Cost | None = None


class UnwrittenStore:
    """Stands for a store that is only read."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def put(self, statement: str, values: tuple[Any, ...]) -> None:
        """Write nothing."""

    def flush(self) -> None:
        """Nothing waits."""

    def shorten(self, value: Any, text: str) -> str:
        return text


def plan_run(run: Runner, reader: Reader | None) -> list[PlannedCalls]:
    """Count what each system has to do on each benchmark. No system is called."""
    if reader is not None:
        run.find_keys()
    planned = []
    for system in run.systems:
        cache = None
        if reader is not None:
            store: Any = UnwrittenStore(reader)
            is_read = not run.settings.fresh
            key = run.find_key(system)
            cache = Cache(store, run.run_id, key, system.name, is_read=is_read)
        for place, examples in enumerate(run.examples):
            planned.append(_plan(run, system, examples, run.scorers[system, place], cache))
    return planned


def _plan(
    run: Runner, system: Built, examples: Examples, scorers: list[Scorer], cache: Cache | None
) -> PlannedCalls:
    planned = PlannedCalls(system.name, examples.benchmark.name)
    judges = [s for s in scorers if s.is_awaited and not s.is_of_repeats]
    for example in examples:
        for repeat in range(run.count_repeats(examples.benchmark)):
            attempt = Attempt(None, example, repeat)  # type: ignore[arg-type]
            if cache is not None:
                cache.look_up([attempt], scorers)
            # Columns are tried on the first usable example: the others are alike, or fail.
            if attempt.error is None and planned.examples == planned.unusable:
                _check_columns(scorers, attempt)
            planned.examples += 1
            if attempt.error is not None:
                planned.unusable += 1
                continue
            if attempt.is_cached:
                planned.cached += 1
            else:
                planned.calls += 1
                planned.input_tokens += run.counter.visible(example.data)
                planned.cost = _add(planned.cost, declare_cost(system, example.data))
            for scorer in judges:
                if scorer not in attempt.scores:
                    cost = declare_cost(scorer.built, example.data)
                    planned.judging = _add(planned.judging, cost)
    return planned


def _add(total: Cost | None, cost: Cost | None) -> Cost | None:
    if cost is None or cost.usd is None:
        return total
    is_bound = cost.is_bound and (total is None or total.is_bound)
    return attrs.evolve(cost + (total or Cost()), is_bound=is_bound)


def _check_columns(scorers: list[Scorer], attempt: Attempt) -> None:
    """Try column mappings on an example, and on its output if that is cached."""
    for scorer in scorers:
        read = getattr(scorer.value, "read_columns", None)
        if read is None or not scorer.can_score(attempt.example.data, attempt.output or {}):
            continue
        try:
            read(attempt.example.data, attempt.output)
        except ColumnError as error:
            raise UsageError(error.message, hint=COLUMNS_HINT) from error
