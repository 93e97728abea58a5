"""`cb sweep`: a benchmark of sweeps, of which not all points may be needed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cbcore.cli.kit import benchmark_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from cbcore.plugins import Catalog
    from cbcore.results import EvalResult
    from cbcore.settings import RunSettings


def _prepare(settings: RunSettings, catalog: Catalog) -> Callable[[], EvalResult]:
    """Run systems with several values of a parameter, as `cb run` does.

    With --adaptive, only the points run that a bisection takes to find the smallest budget that
    is good enough.

    \b
    cb sweep -d hotpotqa:sample -s "identity | extractive" \\
        -s "bm25:max_tokens=50..400/25 | extractive" --adaptive --margin 0.1
    """
    from cb_sweeps.search import search
    from cbcore.settings.compose import compose

    if settings.get("adaptive"):
        return partial(search, settings, catalog)
    return compose(settings, catalog).run


command = benchmark_command("sweep", _prepare, "Find the smallest budget that is good enough.")
