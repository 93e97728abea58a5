"""What a name that nothing offers may have been meant for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from cbcore.components import Component
from cbcore.files import FILE_SUFFIXES
from cbcore.names import canonical, with_article

_FEW = ("reporter", "tokenizer", "executor")
"""Kinds of which there are so few that they can be named."""


def meant(kind: str, name: str, offered: Sequence[Component]) -> str:
    """What to say of a name that no component of a kind has; empty where there is nothing.

    `offered` is everything that is installed, of any kind.
    """
    suffix = PurePath(name).suffix
    if kind == "dataset" and suffix and suffix.lower() not in FILE_SUFFIXES:
        return f"a data file ends in {', '.join(FILE_SUFFIXES)}, not {suffix}"
    others = [c.kind for c in offered if c.kind != kind and canonical(c.name) == canonical(name)]
    if others:
        return f"{name!r} is {with_article(others[0])}, not {with_article(kind)}"
    known = sorted({c.name for c in offered if c.kind == kind}) if kind in _FEW else ()
    return f"there are {', '.join(known)}" if known else ""
