"""cb: benchmark what touches a model's context.

The names below are the public interface; each is imported when it is first used, so that
`import cbcore` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cbcore.api import aevaluate as aevaluate
    from cbcore.api import evaluate as evaluate
    from cbcore.api import metrics_of as metrics_of
    from cbcore.api import render as render
    from cbcore.components import Component as Component
    from cbcore.components import Owner as Owner
    from cbcore.exceptions import CBError as CBError
    from cbcore.exceptions import DataError as DataError
    from cbcore.exceptions import MissingScoreError as MissingScoreError
    from cbcore.hookspecs import hookimpl as hookimpl
    from cbcore.results import EvalResult as EvalResult
    from cbcore.results import EvalRow as EvalRow
    from cbcore.results import Scored as Scored

__version__ = "0.1.0"

_HOMES = {
    "metrics_of": "api",
    "render": "api",
    "aevaluate": "api",
    "evaluate": "api",
    "Component": "components",
    "Owner": "components",
    "CBError": "exceptions",
    "DataError": "exceptions",
    "MissingScoreError": "exceptions",
    "hookimpl": "hookspecs",
    "EvalResult": "results",
    "EvalRow": "results",
    "Scored": "results",
}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"cbcore.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
