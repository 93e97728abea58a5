"""Runs the tests of a solution that is in another process, and says what came of it.

What it says is a status and a message, as `Outcome` has them.
"""
# ruff: noqa: PTH123, S102

from __future__ import annotations

import builtins
import contextlib
import io
import re
import sys
import types

from cb_code_execution import _candidate, _examiner, _mirroring, _remaining, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

_TOLD_CHARACTERS = 2000
_LONGEST_CHAIN = 20
_SHOWN = 100
_INDIRECT = frozenset({"__import__", "eval", "exec", "getattr", "globals", "locals", "vars"})


def judge(job: dict[str, Any], channel: _wire.Channel, door: socket.socket) -> list[str]:
    """The verdict on a solution behind a channel."""
    examiner = _examiner.Examiner(channel)
    examiner.door = door if job["threads"] else None
    try:
        verdict = (
            _run(job, examiner) if job["case"] is None else _run_program(job["case"], examiner)
        )
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the verdict
        unmeasured = _lacking(error) or (
            str(error) if isinstance(error, _examiner.UnmeasuredError) else ""
        )
        verdict = ["not measured", unmeasured] if unmeasured else ["failed", _described(error)]
    # Tests that expect an exception may have taken the end of the solution for one.
    if isinstance(examiner.broken, _wire.ClosedError):
        return ["exited", ""]
    if examiner.broken:
        return ["failed", f"the solution's process does not answer as it should: {examiner.broken}"]
    word = _mirroring.unseen(job["tests"]) if examiner.loaded and verdict[0] == "failed" else ""
    if word:
        said = f"the tests use {word}, which does not see the solution's process"
        return ["not measured", f"{said}: {verdict[1]}"]
    return verdict


def _run(job: dict[str, Any], examiner: _examiner.Examiner) -> list[str]:
    """Run the solution there and the tests here.

    They are compiled apart, so that an open quote in one cannot swallow the other. Only the
    tests are the program: `if __name__ == "__main__"` is theirs.
    """
    tests = job["tests"]
    program = types.ModuleType("__main__")
    sys.modules["__main__"] = program
    names, known = _loaded(examiner)
    examiner.loaded = True
    try:
        compiled = compile(tests, "tests.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        return ["not measured", f"the tests are no Python: {_described(error)}"]
    functions = frozenset({job["entry_point"]} if job["entry_is"] == "def" else ())
    solution = _examiner.Solution(examiner, names, known, functions)
    sys.modules["solution"] = solution
    program.__dict__.update(_seen_by_tests(job, solution))
    remaining = _remaining.Remaining(job["plan"]) if job["plan"] else None
    if remaining:
        remaining.begin(program.__dict__)
    _mirroring.mirror(examiner, tests)
    if job["solution"] is not None:
        _put_solution(job["solution"])
    try:
        exec(compiled, program.__dict__)
    except SystemExit as left:
        if left.code not in (None, 0) or "_cb_crossed" in left.__dict__:
            raise
    unmeasured = remaining.run() if remaining else ""
    return ["not measured", unmeasured] if unmeasured else ["passed", ""]


def _run_program(case: list[str], examiner: _examiner.Examiner) -> list[str]:
    """Run the solution as a program there; what it prints is compared here."""
    given, expected = case
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            examiner.ask("program", given)
        except SystemExit as left:
            if left.code not in (None, 0):
                raise
    if _lines(printed.getvalue()) == _lines(expected):
        return ["passed", ""]
    shown = [
        text if len(text) < _SHOWN else f"{text[:_SHOWN]}…"
        for text in (printed.getvalue(), expected)
    ]
    return ["failed", f"it printed {shown[0]!r}, not {shown[1]!r}"]


def _lines(text: str) -> list[str]:
    """What is printed, without white space at the ends of lines and empty lines at the end."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _loaded(examiner: _examiner.Examiner) -> tuple[set[str], dict[str, Any]]:
    """What the solution defines, once it has been run: all names, and the meaning of some."""
    told = examiner.ask("load")
    if not (isinstance(told, tuple) and len(told) == 2 and isinstance(told[1], dict)):
        raise _wire.WireError("no names")
    names, known = told
    return set(map(str, names)), {str(name): value for name, value in known.items()}


def _seen_by_tests(job: dict[str, Any], solution: _examiner.Solution) -> dict[str, Any]:
    """What stands in front of the tests: names of the solution that they use.

    What the example itself puts in front of the solution is not the solution's: it is run
    here. Neither can a solution say what a built-in means, unless that is what is tested.
    """
    entry_point = job["entry_point"]
    words = set(re.findall(r"\w+", f"{job['tests']} {entry_point or ''}"))
    names = solution.__dict__["_cb_names"]
    wanted = names if words & _INDIRECT else names & words
    own = {name for name in wanted if not hasattr(builtins, name)}
    shadows = {entry_point} if entry_point or own else wanted
    space = {name: getattr(solution, name) for name in own | (wanted & shadows)}
    given: dict[str, Any] = {"__name__": "__main__"}
    if job["preamble"]:
        try:
            exec(compile(job["preamble"], "prompt.py", "exec", dont_inherit=True), given)
        except Exception:  # noqa: BLE001 - then the solution, which begins with it, failed too
            given = {}
    return space | {
        k: v for k, v in given.items() if k in words and k != entry_point and k[:2] != "__"
    }


def _put_solution(source: str) -> None:
    """Have the solution as a file, for tests that run it as a program of its own.

    Not in this process, where it could change what is found out about it.
    """
    with open("solution.py", "w", encoding="utf-8", errors="replace") as file:
        file.write(source)

    def refuse(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and str(args[0]).endswith("solution.py"):
            raise _examiner.UnmeasuredError(
                "the tests read solution.py: they can run it as a program, or import solution"
            )

    sys.addaudithook(refuse)


def _described(error: BaseException) -> str:
    try:
        text = error.__dict__.get("_cb_text") or str(error)
        return f"{type(error).__name__}: {text[:_TOLD_CHARACTERS]}"
    except BaseException:  # noqa: BLE001 - of an exception that cannot be shown
        return type(error).__name__


def _lacking(error: BaseException | None) -> str:
    """Which package was missing when this was raised, in words; empty when none was."""
    from importlib.util import find_spec

    for _ in range(_LONGEST_CHAIN):
        if error is None:
            return ""
        crossed = "_cb_id" in error.__dict__
        package = error.__dict__.get("_cb_about") if crossed else _candidate.missing_package(error)
        if package and str(package).isidentifier() and find_spec(str(package)) is None:
            who = "the solution needs" if crossed else "the tests need"
            lacking = f"{who} the package {package}, which {sys.executable} does not have"
            return f"{lacking}; python=PATH names another interpreter"
        error = error.__context__ if error.__cause__ is None else error.__cause__
    return ""
