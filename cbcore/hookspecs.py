"""All hooks of `cb`, in one place.

Two doors lead here. A *static entry point* in a group named after the kind
(`cb.datasets`, `cb.systems`, …) offers one component without any hook code. A *hook module*,
named in the group `cb.plugins`, implements the functions below for what is dynamic or
cross-cutting. In a hook module every function whose name starts with `cb_` is an
implementation, and the `hookimpl` decorator may be left out. A name that is not below, or an
argument that a hook does not have, quarantines that plugin alone.

Hooks are called implementation by implementation: an exception is charged to the plugin that
raised it, is reported, and leaves all others untouched. Arguments are given by name: an
implementation may accept fewer than listed, in any order. Plugins are called in the order of
their names; `hookimpl(tryfirst=True)` is called before them and `hookimpl(trylast=True)` after.
With `hookimpl(optionalhook=True)` a function may implement a hook that only another version of
`cb` has. The options for wrappers and other names (`wrapper`, `hookwrapper`, `specname`) are
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from cbcore.components import Component

if TYPE_CHECKING:  # what observers get; commands that only list never need it
    from cbcore.events import RowFinished, RunFinished, RunStarted

PROJECT = "cb"
"""pluggy's project name."""

PLUGIN_API = 1
"""Version of the contract between core and plugins. It changes only when plugins must."""

SINCE: dict[str, str] = {}
"""The release of `cbcore` that brought each hook. The end of one is told by `deprecations`."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

_Spec = TypeVar("_Spec", bound=Callable[..., Any])


def _hook(*, since: str) -> Callable[[_Spec], _Spec]:
    """Declare a hook, and which release brought it."""

    def declare(spec: _Spec) -> _Spec:
        SINCE[spec.__name__] = since
        return hookspec(spec)

    return declare


# -- offering ----------------------------------------------------------------------------------


@_hook(since="0.1")
def cb_datasets() -> Iterable[Component]:
    """Offer datasets.

    Called once per process, when components are first looked up. All implementations count;
    a bare name offered twice is an error naming both plugins, and `plugin/name` still works.
    A component's target is called as `target(config, **parameters)` and returns an iterable
    of examples. An exception marks this plugin as broken; its other hooks are not called.
    """


@_hook(since="0.1")
def cb_systems() -> Iterable[Component]:
    """Offer systems: context compressors, rerankers, readers, endpoints.

    Called once per process, when components are first looked up. All implementations count,
    as for `cb_datasets`. The target makes an object with `name` and `process` or `aprocess`.
    """


@_hook(since="0.1")
def cb_evaluators() -> Iterable[Component]:
    """Offer evaluators.

    Called once per process, when components are first looked up. All implementations count,
    as for `cb_datasets`. Say `applies_to` and `emits` here, or on the target: they decide
    whether the evaluator is wired automatically, and what can be asked of it.
    """


@_hook(since="0.1")
def cb_metrics() -> Iterable[Component]:
    """Offer metrics.

    Called once per process, when components are first looked up. All implementations count,
    as for `cb_datasets`. The target makes an object with `name` and `compute` or `compare`.
    """


@_hook(since="0.1")
def cb_reporters() -> Iterable[Component]:
    """Offer output formats for `--output`.

    Called once per process, when components are first looked up. All implementations count,
    as for `cb_datasets`. The target makes an object with `name` and `render`.
    """


@_hook(since="0.1")
def cb_executors() -> Iterable[Component]:
    """Offer ways to execute calls: other pools, other machines.

    Called once per process, when components are first looked up. All implementations count,
    as for `cb_datasets`. The target makes an object with `name` and `map`.
    """


@_hook(since="0.1")
def cb_suites() -> Iterable[Component]:
    """Offer suites: named benchmarks made of several datasets.

    Called once per process, when components are first looked up. All implementations count,
    as for `cb_datasets`. The target returns the path of a suite file or folder.
    """


@_hook(since="0.1")
def cb_tokenizers() -> Iterable[Component]:
    """Offer token counters for `--tokenizer`.

    Called once per process, when components are first looked up. All implementations count,
    as for `cb_datasets`. The target makes an object with `name` and `count`.
    """


@_hook(since="0.1")
def cb_commands() -> Iterable[Component]:
    """Offer sub-commands of `cb`.

    Called once per process, when a command is asked for that the core does not have, or when
    components are first looked up. All implementations count, as for `cb_datasets`; a built-in
    command cannot be replaced. `cb --help` imports no plugin, so it shows only the commands of
    static entry points.
    The target is a `click.Command`, or a function that returns one.
    """


@_hook(since="0.1")
def cb_formats() -> Mapping[str, Callable[..., Any]]:
    """Offer formats for the tasks of suites: how choices are shown, how an answer is read back.

    Called once per run, when a task asks for a format that the core does not have. All
    implementations count; a name offered twice, or one of the core's, is an error. Each value
    makes a `cbcore.suites.formats.Format` from the parameters a suite gives. An exception
    leaves the tasks that need it unavailable.
    """


# -- observing ---------------------------------------------------------------------------------


@_hook(since="0.1")
def cb_run_started(event: RunStarted) -> None:
    """Observe the start of a run.

    Called once per run, before the first example is pulled. All implementations are called;
    what they return is ignored. An exception is logged once and the run goes on.
    """


@_hook(since="0.1")
def cb_row_finished(event: RowFinished) -> None:
    """Observe one finished row.

    Called once per row, in the order of rows, from the thread that collects them. All
    implementations are called; what they return is ignored. After an exception, which is
    logged once, this implementation is not called again in this run.
    """


@_hook(since="0.1")
def cb_run_finished(event: RunFinished) -> None:
    """Observe the end of a run.

    Called once per run, also when it was interrupted or failed. All implementations are
    called; what they return is ignored. An exception is logged and changes nothing.
    """
