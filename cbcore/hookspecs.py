"""Every hook of `cb`. A plugin offers components, watches a run, adds a section to its result.

Most plugins need no hook: an entry point in the group of a kind (`cb.datasets`, `cb.systems`, …)
offers a component. A hook module, named in the group `cb.plugins`, implements the functions below.

Every function named `cb_…` in a hook module is an implementation, as in pytest; the `hookimpl`
decorator is only needed for its options (`tryfirst`, `trylast`, `wrapper`, `optionalhook`). An
implementation may take a subset of the arguments. Plugins are called in the order of their names;
those with `trylast` in the reverse order. A wrapper can act after all of them.

The hooks that offer components are called for each plugin alone, so that an exception disables
only the plugin that raised it. A wrapper of such a hook gets what its own plugin offers, and
`tryfirst` and `trylast` order the hook modules of one plugin.

A hook that is *contained* cannot end a run: an exception is reported once, and the implementation
that raised it is not called again in this run. The other implementations are still called.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from cbcore.assembly import Builder
    from cbcore.components import Component
    from cbcore.protocols import Run
    from cbcore.results import EvalResult, EvalRow, Section
    from cbcore.run.pair import Attempt
    from cbcore.settings import RunSettings

__all__ = ("hookimpl",)

PROJECT = "cb"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

OFFERING = {
    "cb_datasets": "dataset",
    "cb_systems": "system",
    "cb_evaluators": "evaluator",
    "cb_metrics": "metric",
    "cb_reporters": "reporter",
}
"""The kind of component that each offering hook returns."""

CONTAINED = ("cb_run_started", "cb_row_finished", "cb_summarize", "cb_run_finished")
"""The hooks of which a failing implementation is left out for the rest of the run."""

WITHOUT_RESULT = ("cb_configure", "cb_run_started", "cb_row_finished", "cb_run_finished")
"""The hooks that return nothing: only a wrapper yields."""


@hookspec
def cb_datasets() -> Iterable[Component]:
    """Offer datasets that entry points cannot list, such as the rows of a table.

    Called once per process, by commands that run or show components. An exception disables the
    plugin, with its reason.
    """
    raise NotImplementedError


@hookspec
def cb_systems() -> Iterable[Component]:
    """Offer systems that entry points cannot list: compressors, rerankers, readers, endpoints.

    Called once per process, by commands that run or show components. An exception disables the
    plugin, with its reason.
    """
    raise NotImplementedError


@hookspec
def cb_evaluators() -> Iterable[Component]:
    """Offer evaluators that entry points cannot list.

    Called once per process, by commands that run or show components. An exception disables the
    plugin, with its reason.
    """
    raise NotImplementedError


@hookspec
def cb_metrics() -> Iterable[Component]:
    """Offer metrics that entry points cannot list.

    Called once per process, by commands that run or show components. An exception disables the
    plugin, with its reason.
    """
    raise NotImplementedError


@hookspec
def cb_reporters() -> Iterable[Component]:
    """Offer output formats that entry points cannot list.

    Called once per process, by commands that run or show components, and by any command that gets
    a format that no entry point offers. An exception disables the plugin, with its reason.
    """
    raise NotImplementedError


@hookspec
def cb_configure(settings: RunSettings, builder: Builder) -> None:
    """Change the settings of a run before anything is built.

    Called once per run. Append or replace items of `settings.systems`, `.datasets`,
    `.added_evaluators` and `.added_metrics`: specs, objects, or what `cbcore.assembly` has, such
    as a `Benchmark`. Read the options of your plugin with `settings.get("my-flag")`, and build
    components with `builder.build(kind, spec)`. To keep state for this run, register an object
    with hooks of its own: `builder.hooks.register(MyRun())`.

    A `CBError` refuses the run, and so does any other exception if one of your options was given.
    Otherwise a warning names your plugin, its other hooks are left out of the run, and what it
    changed before the exception stays. The settings are frozen afterwards. The record of the run
    keeps the settings from before, so that `cb resume` applies your changes once.

    When a plugin joins the rows of several runs, it is called once for their result, with the
    options of the runs and without systems and datasets: register your object, and append nothing.
    """


@hookspec
def cb_run_started(run: Run) -> None:
    """Observe the start of a run.

    Called once, before the first example is read. Contained.
    """


@hookspec
def cb_row_finished(run: Run, row: EvalRow, attempt: Attempt) -> None:
    """Observe one finished row: processed and scored, or failed.

    Called once per row, in dataset order for each system, in the thread that collects the rows.
    `attempt` has the example, the whole output and what was raised. Hand slow work to a thread of
    your own. Contained.
    """


@hookspec
def cb_summarize(run: Run, result: EvalResult) -> Section | Iterable[Section] | None:
    """Return sections for the result and every report.

    Called once, after metrics and verdicts, also if the run ended early, and again when a plugin
    joins the rows of several runs. `run.call_again(system, examples)` makes further calls within the
    cache and the budget; after an early end, and for joined rows, it returns an empty list: say so in
    the section. What the reader has to know besides is appended to `result.problems`. Contained.
    """


@hookspec
def cb_run_finished(run: Run, result: EvalResult) -> None:
    """Observe the end of a run; `result.config["state"]` says how it ended.

    Called once, last, when the record of the run is stored. Contained.
    """
