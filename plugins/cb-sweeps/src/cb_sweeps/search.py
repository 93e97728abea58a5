"""The smallest budget that is good enough, found without running all points of a sweep."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from operator import sub
from typing import TYPE_CHECKING, Any

import attrs

from cb_sweeps.options import DEFAULT_MARGIN
from cb_sweeps.points import expand
from cb_sweeps.samples import find_full_context, sample_of
from cb_sweeps.sharing import memories
from cb_sweeps.smallest import ALPHA, lower_bound_of
from cb_sweeps.sweeps import TAG, find_sweeps
from cbcore.api import make_settings
from cbcore.assembly import Builder
from cbcore.exceptions import UsageError
from cbcore.plugins import default_catalog
from cbcore.results import EvalResult, EvalRow
from cbcore.settings.compose import compose
from cbcore.specs import Spec

if TYPE_CHECKING:
    from cbcore.plugins import Catalog
    from cbcore.settings import RunSettings

_folders: list[tempfile.TemporaryDirectory[str]] = []
"""The stores of searches without a `cache_dir`. Results read them until the process ends."""


def sweep(systems: Sequence[Any] = (), dataset: Any = None, **settings: Any) -> EvalResult:
    """Run like `evaluate`, but only the points of each sweep that a bisection takes.

    A point is good enough if a loss of more than `margin` is ruled out, compared with the system
    that leaves the context whole. Each of the points that a bisection may run could be taken by
    mistake, so they share the error rate of 5 %. More budget is taken to be no worse.
    """
    catalog = default_catalog()
    given = {"systems": systems, "dataset": dataset, **settings}
    return search(make_settings(given, catalog), catalog)


def search(settings: RunSettings, catalog: Catalog) -> EvalResult:
    """Run the points of each sweep that a bisection takes, then all of them from the cache."""
    settings = _prepare(settings)
    systems = expand(Builder(catalog), "system", settings.systems)
    named = [(point, system) for system in systems if (point := _point_of(system))]
    points = {point.label: system for point, system in named}
    sweeps = find_sweeps({"name": point.label, **point.tags} for point, _ in named)
    if not sweeps:
        return compose(settings, catalog).run()
    n_points = {label: len(one.points) for one in sweeps for label in one.systems}
    chosen: set[str] = set()
    token = memories.set([])
    try:
        first = _execute_others(settings, catalog, _select(systems, n_points, chosen))
        rows_of = first.rows_by_system()
        full = list(
            rows_of[find_full_context(rows_of) or ""]
        )  # the next run may replace them on disk
        margin = first.config["settings"].get("margin", DEFAULT_MARGIN)
        score = first.config["score_field"]

        def is_enough(label: str) -> bool:
            chosen.add(label)
            rows = _execute(settings, catalog, [points[label]]).rows_by_system()[label]
            alpha = ALPHA / n_points[label].bit_length()
            return is_good_enough(rows, full, score, margin, alpha)

        for one in sweeps:
            bisect(one.systems, is_enough)
        settings.fresh = False  # all of them have been called
        return _execute(settings, catalog, _select(systems, n_points, chosen))
    finally:
        memories.reset(token)


def bisect(points: Sequence[str], is_enough: Callable[[str], bool]) -> None:
    """Ask of as many points as it takes to find the first that is enough."""
    below, enough = -1, len(points)
    while enough - below > 1:
        middle = (below + enough) // 2
        if is_enough(points[middle]):
            enough = middle
        else:
            below = middle


def is_good_enough(
    rows: Sequence[EvalRow], full: Sequence[EvalRow], score: str, margin: float, alpha: float
) -> bool:
    """Whether a loss of more than the margin is ruled out, on the examples that both scored."""
    sample = sample_of({"point": rows, "full": full}, score, "output_tokens")
    mine, theirs = sample.scores["point"], sample.scores["full"]
    is_bounded = all(0 <= value <= 1 for value in (*mine, *theirs))
    bound = lower_bound_of(
        list(map(sub, mine, theirs)),
        sample.groups,
        reach=1.0 if is_bounded else None,
        alpha=alpha,
    )
    return bound is not None and bound >= -margin


def _prepare(settings: RunSettings) -> RunSettings:
    """The settings of the runs, with a cache and data that can be read again."""
    given = {"shard": settings.plugin_options.get("shard"), "interleave": settings.interleave}
    for name, value in given.items():
        if value:
            raise UsageError(
                f"--{name} and --adaptive cannot be combined: the scores of one point decide "
                "which is the next.",
                hint="Leave one of them out.",
            )
    settings = settings.copy()
    settings.plugin_options.pop("adaptive", None)
    if settings.cache_dir is None:
        _folders.append(tempfile.TemporaryDirectory(prefix="cb-sweep-"))
        settings.cache_dir = _folders[-1].name
    settings.datasets = [
        list(itertools.islice(one, settings.max_examples)) if isinstance(one, Iterator) else one
        for one in settings.datasets
    ]
    return settings


def _execute_others(settings: RunSettings, catalog: Catalog, systems: list[Any]) -> EvalResult:
    """Run what is not a point of a sweep; flags of other plugins may add systems."""
    try:
        return _execute(settings, catalog, systems)
    except UsageError as error:
        if systems:
            raise
        raise UsageError(
            "There is no system outside the sweeps to compare their points with.",
            hint='Add one that keeps the context: --system "identity | …".',
        ) from error


def _execute(settings: RunSettings, catalog: Catalog, systems: list[Any]) -> EvalResult:
    """Run some of the systems, all under one id and within one budget."""
    part = settings.copy()
    part.systems = systems
    part.order = []  # counts all systems
    result = compose(part, catalog).run()
    settings.run_id = result.config["run_id"]
    spent = result.config.get("spent", {})
    if settings.budget_tokens is not None:
        settings.budget_tokens = max(1, settings.budget_tokens - int(spent["tokens"]))
    if settings.budget_usd is not None:
        settings.budget_usd = max(1e-9, settings.budget_usd - spent["usd"])
    return result


def _point_of(system: Any) -> Spec | None:
    """The stage that names a point of a sweep; None for other systems."""
    stages = system if isinstance(system, list) else []
    return next((stage for stage in stages if isinstance(stage, Spec) and stage.label), None)


def _select(systems: list[Any], n_points: dict[str, int], chosen: set[str]) -> list[Any]:
    """The chosen points, and all systems that are no point. Records tell of the search."""
    selected = []
    for system in systems:
        point = _point_of(system)
        if point is None or point.label not in n_points:
            selected.append(system)
        elif point.label in chosen:
            tag = {**point.tags[TAG], "n_points": n_points[point.label]}
            marked = attrs.evolve(point, tags={TAG: tag})
            selected.append([marked if stage is point else stage for stage in system])
    return selected
