"""Names of a package that are imported when they are first used.

    from cbcore.lazy import lazy_names

    if TYPE_CHECKING:
        from my_plugin.client import Client as Client

    _HOMES = {"Client": "client"}
    __all__ = sorted(_HOMES)
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)

A component is imported from the package that its entry point names. With this, that imports
the component and not all others beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ("lazy_names",)


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    `homes` says of each name which module of the package it is in.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)  # so that it is asked for once
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, listed
