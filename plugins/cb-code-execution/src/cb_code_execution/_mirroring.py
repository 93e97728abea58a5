"""What tests do to their own process and mean for the solution's.

Patches of modules, seeds, the environment and the folder they are in are carried over. What is
not can make tests fail for right solutions, so they measure nothing then.
"""

from __future__ import annotations

import os
import re
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


# What looks into the process of a solution by other ways than its objects.
_UNSEEN = re.compile(
    r"\b(assertLogs|assertNoLogs|caplog|capfd|monkeypatch|redirect_stderr|tracemalloc)\b"
)


def unseen(tests: str) -> str:
    """By what tests look for something that stays in the solution's process; empty if by nothing."""
    found = _UNSEEN.search(tests)
    return found[1] if found else ""


def mirror(examiner: Examiner, tests: str) -> None:
    """Have the solution's process follow, as far as the tests do anything of the kind."""
    if "seed" in tests:
        _mirror_seeds(examiner)
    if "patch" in tests and "mock" in tests:
        _mirror_patches(examiner)
    if "environ" in tests or "chdir" in tests or "putenv" in tests:
        _mirror_surroundings(examiner)


def _mirror_surroundings(examiner: Examiner) -> None:
    def surroundings() -> tuple[dict[str, str], str]:
        return dict(os.environ), os.getcwd()  # noqa: PTH109 - pathlib is not imported here

    told = surroundings()

    def tell() -> None:
        nonlocal told
        now = surroundings()
        if now != told:
            told = now
            examiner.ask("surround", *now)

    examiner.before_call = tell


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
