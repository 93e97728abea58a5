"""All hooks of `cb`, in one place.

Two doors lead here. A *static entry point* in a group named after the kind
(`cb.datasets`, `cb.systems`, …) offers one component without any hook code. A *hook module*,
named in the group `cb.plugins`, implements the functions below for what is dynamic or
cross-cutting. A kind that a plugin brings has a group and a hook in the same way; `cb hooks`
shows those that are installed. What has to be known before any code runs (kinds, extensions and
their options) has a group only.

In a hook module every function whose name starts with `cb_` is an implementation, and the
`hookimpl` decorator may be left out. A name that is no hook, or an argument that a hook does not
have, quarantines that plugin alone.

Hooks are called implementation by implementation: an exception is charged to the plugin that
raised it, is reported, and leaves all others untouched. Arguments are given by name: an
implementation may accept fewer than listed, in any order. Plugins are called in the order of
their names; `hookimpl(tryfirst=True)` is called before them and `hookimpl(trylast=True)` after.
With `hookimpl(optionalhook=True)` a function may implement a hook that only another version of
`cb` has. The options for wrappers and other names (`wrapper`, `hookwrapper`, `specname`) are
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from cbcore.components import Component
from cbcore.kinds import KINDS, hook_of

if TYPE_CHECKING:  # what observers get; commands that only list never need it
    from cbcore.events import RowFinished, RunFinished, RunStarted

__all__ = ()  # `PLUGIN_API` and `hookimpl` are names of `cbcore`

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


def offering_spec(kind: str, offer: str, target: str) -> Callable[[], Iterable[Component]]:
    """The hook through which plugins offer components of a kind."""

    def offer_components() -> Iterable[Component]:
        raise NotImplementedError  # a specification, never called

    offer_components.__name__ = offer_components.__qualname__ = hook_of(kind)
    offer_components.__doc__ = f"""Offer {offer}.

    Called in a process of its own when it is not known what the plugin offers, which is then
    remembered until the plugin changes, and once more in a process that uses an object which
    cannot be imported by a name. All implementations count; a bare name offered twice is an error
    naming both plugins, and `plugin/name` still works. A component names its target. {target}
    An exception marks this plugin as broken; its other hooks are not called.
    """
    return hookspec(offer_components)


for _kind in KINDS.values():
    if not _kind.static:
        SINCE[hook_of(_kind.name)] = "0.1"
        globals()[hook_of(_kind.name)] = offering_spec(_kind.name, _kind.offer, _kind.target)


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
