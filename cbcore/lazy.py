r"""What is made when it is first used: names of packages, and regular expressions.

    from cbcore.lazy import lazy_names

    if TYPE_CHECKING:
        from my_plugin.client import Client as Client

    _HOMES = {"Client": "client"}
    __all__ = sorted(_HOMES)
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)

A component is imported from the package that its entry point names. With this, that imports
the component and not all others beside it.

    _DATE = lazy_pattern(r"\b\d{4}-\d\d-\d\d\b")

An expression takes longer to compile than most texts take to search, and what is compiled when a
module is imported is compiled in every start.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import re

__all__ = ("lazy_names", "lazy_pattern")


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


class _LazyPattern:
    """Stands for a compiled expression, and has its methods from its first use on."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._asked = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        import re

        compiled = re.compile(*self._asked)
        value = getattr(compiled, name)
        setattr(self, name, value)  # so that it is asked for once
        return value


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The regular expression, compiled when it is first used."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
