"""What tests do to their own process and mean for the solution's: patches and seeds."""

from __future__ import annotations

import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cb_code_execution._examiner import Examiner

# Those work without: what is printed and read goes through the tests' process.
_THROUGH_HERE = {
    ("sys", "stdout"),
    ("sys", "stderr"),
    ("sys", "stdin"),
    ("builtins", "input"),
    ("builtins", "print"),
}


def mirror(examiner: Examiner, tests: str) -> None:
    """Have the solution's process follow, as far as the tests do anything of the kind."""
    if "seed" in tests:
        _mirror_seeds(examiner)
    if "patch" in tests and "mock" in tests:
        _mirror_patches(examiner)


def _mirror_seeds(examiner: Examiner) -> None:
    import random

    seed_here = random.seed

    def seed(*args: Any) -> None:
        seed_here(*args)
        examiner.ask("seed", examiner.encode(list(args)))

    random.seed = seed  # type: ignore[assignment]


def _mirror_patches(examiner: Examiner) -> None:
    from unittest import mock

    patch: Any = mock._patch
    enter, leave = patch.__enter__, patch.__exit__

    def entered(self: Any) -> Any:
        value = enter(self)
        name = _module(self.target)
        if name and (name, self.attribute) not in _THROUGH_HERE:
            now = examiner.encode(getattr(self.target, self.attribute))
            examiner.ask("patch", name, self.attribute, now)
        return value

    def left(self: Any, *raised: Any) -> Any:
        name = _module(self.target)
        if name and (name, self.attribute) not in _THROUGH_HERE:
            examiner.ask("unpatch", name, self.attribute)
        return leave(self, *raised)

    patch.__enter__, patch.__exit__ = entered, left


def _module(target: Any) -> str:
    """The module that is patched; empty for all else, and for one that is the solution's."""
    if type(target) is not types.ModuleType:
        return ""
    return "__main__" if target is sys.modules["__main__"] else target.__name__
