"""`cb sweep`: a benchmark of sweeps, of which not all points may be needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore.cli.kit import benchmark_command

if TYPE_CHECKING:
    from cbcore.plugins import Catalog
    from cbcore.results import EvalResult
    from cbcore.settings import RunSettings


def _execute(settings: RunSettings, catalog: Catalog) -> EvalResult:
    """Run systems with several values of a parameter, as `cb run` does.

    With --adaptive, only the points run that a bisection takes to find the smallest budget that
    is good enough.

    \b
    cb sweep -d hotpotqa:sample -s "identity | extractive" \\
        -s "bm25:max_tokens=50..400/25 | extractive" --adaptive --margin 0.1
    """
    from cb_sweeps.search import search
    from cbcore.api import execute

    is_adaptive = settings.plugin_options.get("adaptive")
    return (search if is_adaptive else execute)(settings, catalog)


command = benchmark_command("sweep", _execute, "Find the smallest budget that is good enough.")
