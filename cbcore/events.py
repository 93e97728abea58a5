"""What observers of a run are told: one frozen record per hook, which can grow."""

from __future__ import annotations

import attrs

from cbcore.results import EvalResult, EvalRow, RunConfig


@attrs.frozen(eq=False)
class RunStarted:
    """A run is about to process its first example.

    `total` is the number of rows to come, where the datasets can tell.
    """

    run_id: str
    config: RunConfig
    systems: tuple[str, ...]
    datasets: tuple[str, ...]
    total: int | None = None


@attrs.frozen(eq=False)
class RowFinished:
    """One row is complete: processed and scored, or errored."""

    run_id: str
    row: EvalRow
    index: int


@attrs.frozen(eq=False)
class RunFinished:
    """The run is over, whole or not; `state` is `finished`, `interrupted` or `failed`."""

    run_id: str
    state: str
    result: EvalResult
