"""Sweeps: one spec with several values of a parameter becomes one spec for each value."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from cbcore import hookimpl
from cbcore.exceptions import UsageError
from cbcore.specs import Spec

if TYPE_CHECKING:
    from cbcore.protocols import Run
    from cbcore.results import EvalResult
    from cbcore.settings import RunSettings


@hookimpl(wrapper=True)
def cb_configure(settings: RunSettings, builder: Any) -> Generator[None, None, None]:
    """Replace systems and datasets that sweep a parameter by the points of the sweep.

    After all other plugins: they count the systems as they were given, and add benchmarks whose
    repeats decide what the points may share.
    """
    if settings.get("adaptive") and not settings.dry_run:
        raise UsageError(
            "--adaptive runs several benchmarks one after the other.",
            hint="Use `cb sweep --adaptive …`, or cb_sweeps.sweep() in Python.",
        )
    yield
    chains = (one if isinstance(one, list) else [one] for one in settings.systems)
    stages = [stage for chain in chains for stage in chain]
    if any(map(_may_be_swept, [*stages, *settings.datasets])):
        _expand(settings, builder)


def _expand(settings: RunSettings, builder: Any) -> None:
    from cb_sweeps.points import expand
    from cb_sweeps.sharing import share_stages
    from cbcore.assembly import Benchmark

    settings.systems = expand(builder, "system", settings.systems)
    settings.datasets = expand(builder, "dataset", settings.datasets)
    added = [one.repeats or 1 for one in settings.datasets if isinstance(one, Benchmark)]
    if max(settings.repeats, *added, 1) == 1:  # a repeat asks again
        settings.systems = share_stages(builder, settings.systems)


def cb_summarize(run: Run, result: EvalResult) -> None:
    """Report how many calls a search saved."""
    records = result.config.get("systems", ())
    if not any("sweep" in record for record in records):
        return
    from cb_sweeps.sweeps import find_sweeps

    for sweep in find_sweeps(records):
        if sweep.n_points is not None:
            n_rows = len(result.rows_by_system().get(sweep.systems[0], ()))
            n_left = sweep.n_points - len(sweep.points)
            result.problems.append(
                f"{sweep.name}: {len(sweep.points)} of {sweep.n_points} points were run, which "
                f"saved {n_left * n_rows:,} of {sweep.n_points * n_rows:,} calls"
            )


def _may_be_swept(wanted: Any) -> bool:
    if not isinstance(wanted, Spec):
        return isinstance(wanted, str)
    return bool(wanted.label or wanted.several)
