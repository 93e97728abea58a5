"""`cb sweep`: a benchmark of sweeps, of which not all points may be needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cbcore.cli.kit import Settings, pass_settings, run_benchmark, run_command

if TYPE_CHECKING:
    from cbcore.plugins import Catalog
    from cbcore.results import EvalResult
    from cbcore.settings import RunSettings


@pass_settings
def _sweep(settings: Settings, /, run_file: str | None, **flags: Any) -> None:
    """Run systems with several values of a parameter, as `cb run` does.

    With --adaptive, only the points run that a bisection takes to find the smallest budget that
    is good enough.

    \b
    cb sweep -d hotpotqa:sample -s "identity | extractive" \\
        -s "bm25:max_tokens=50..400/25 | extractive" --adaptive --margin 0.1
    """
    run_benchmark(settings, run_file, flags, execute=_execute)


def _execute(settings: RunSettings, catalog: Catalog) -> EvalResult:
    from cb_sweeps.search import search
    from cbcore.api import execute

    is_adaptive = settings.plugin_options.get("adaptive")
    return (search if is_adaptive else execute)(settings, catalog)


command = type(run_command)(
    "sweep",
    params=run_command.params,
    callback=_sweep,
    help=_sweep.__doc__,
    short_help="Find the smallest budget that is good enough.",
)
