"""The program inside the sandbox: runs a solution, then its tests, and tells what came of it.

Its text is handed to the interpreter, which can read nothing of this package there. Standard
library only, and what is not always needed is imported where it is.

It tells the word it was given when the solution came to the end of its tests, the word and a
reason when nothing was measured, and else what was raised.
"""
# ruff: noqa: PTH123, S102

from __future__ import annotations

import _thread
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_VERDICT_FD = 3
_TOLD_BYTES = 2000
_LONGEST_CHAIN = 20


def main() -> None:
    """Run what lies in this folder and tell the verdict."""
    word, stack_bytes, processes = sys.argv.pop(), int(sys.argv.pop()), int(sys.argv.pop())
    sys.orig_argv[-3:] = []
    _set_limits(stack_bytes, processes)
    if sys.path[:1] == [""]:
        del sys.path[0]
    wrong = None
    try:
        unmeasured = _run()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the verdict
        unmeasured, wrong = _lacking(error), _described(error)
    told = f"{word} {unmeasured}" if unmeasured else word if wrong is None else wrong
    os.write(_VERDICT_FD, told.encode("utf-8", "replace")[:_TOLD_BYTES])
    if told is not word:
        os._exit(1)


def _set_limits(stack_bytes: int, processes: int) -> None:
    # Processes are counted for each user in each namespace of users, so they are limited in
    # here: outside, a user who runs many programs could start none.
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    processes = processes if most == resource.RLIM_INFINITY else min(processes, most)
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    _thread.stack_size(stack_bytes)


def _described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {str(error)[:_TOLD_BYTES]}"
    except BaseException:  # noqa: BLE001 - of an exception that cannot be shown
        return type(error).__name__


def _run() -> str:
    """Run solution and tests in one module, which both may import. Returns why nothing was measured.

    They are compiled apart, so that an open quote in one cannot swallow the other, and before
    anything runs. Only the tests are the program: `if __name__ == "__main__"` is theirs.
    """
    solution = compile(_read("solution.py"), "solution.py", "exec", dont_inherit=True)
    tests, remaining = _read("tests.py"), _remaining(_read("remaining.py"))
    try:
        compiled = compile(tests, "tests.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        return f"the tests are no Python: {_described(error)}"
    program = type(sys)("__main__")
    sys.modules["__main__"] = sys.modules["solution"] = program
    space = program.__dict__
    space["__name__"] = "solution"
    exec(solution, space)
    space["__name__"] = "__main__"
    if remaining:
        remaining.begin(space)
    try:
        exec(compiled, space)
    except SystemExit as left:
        if left.code not in (None, 0) or "solution.py" in _files(left):
            raise
    return remaining.run() if remaining else ""


def _remaining(text: str) -> Any:
    """What knows which tests are left to be called when all was run; None where none are."""
    if not text:
        return None
    space: dict[str, Any] = {"__name__": "remaining"}
    exec(compile(text, "remaining.py", "exec", dont_inherit=True), space)
    return space["Remaining"](space["PLAN"])


def _read(name: str) -> str:
    with open(name, encoding="utf-8") as file:
        return file.read()


def _files(error: BaseException) -> list[str]:
    """The files through which an exception came, the one that raised it last."""
    found, step = [], error.__traceback__
    while step:
        found.append(step.tb_frame.f_code.co_filename)
        step = step.tb_next
    return found


def _lacking(error: BaseException | None) -> str:
    """Which package was missing when this was raised, in words; empty when none was."""
    from importlib.util import find_spec

    for _ in range(_LONGEST_CHAIN):
        if isinstance(error, ModuleNotFoundError) and isinstance(error.name, str):
            package = error.name.partition(".")[0]
            if package not in sys.modules and find_spec(package) is None:
                files = [file for file in _files(error) if file in ("solution.py", "tests.py")]
                who = "the solution needs" if files[-1:] == ["solution.py"] else "the tests need"
                lacking = f"{who} the package {package}, which {sys.executable} does not have"
                return f"{lacking}; python=PATH names another interpreter"
        if error is not None:
            error = error.__context__ if error.__cause__ is None else error.__cause__
    return ""


if __name__ == "__main__":
    main()
