"""Asking another interpreter: what may end, hang, fork or print does so there."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

from cbcore.secrets import notice_environment

TOO_LATE = "it took more than"
"""How the ending of a child begins that did not answer in time."""


def ask_child(
    module: str, question: Any, *, timeout_s: float, path: Sequence[str] = ()
) -> tuple[list[Any], str]:
    """Let a module's `main()` answer a question, as `answer` does, in a new interpreter.

    Returns what it answered before it ended, and how it ended. It is ended when no answer came
    for `timeout_s`. The child gets this process's import path, behind `path`, and not, as -m
    would add, the working folder.
    """
    import subprocess
    import tempfile

    start = f"import sys; sys.path = sys.argv[1:]; from {module} import main; main()"
    # Files, not pipes: what a plugin leaves running would hold a pipe open.
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as answered:
        asked.write(json.dumps(question).encode())
        asked.seek(0)
        child = subprocess.Popen(  # noqa: S603 - this interpreter and its own import path
            [sys.executable, "-c", start, *path, *sys.path],
            stdin=asked,
            stdout=answered,
            stderr=subprocess.DEVNULL,  # what plugins print is of no use here
        )
        try:
            ending = _ending(child, answered.fileno(), timeout_s)
        finally:
            child.kill()
            child.wait()
        answered.seek(0)
        complete, _, _ = answered.read().rpartition(b"\n")
    return [json.loads(line) for line in complete.splitlines()], ending


def _ending(child: Any, answers: int, timeout_s: float) -> str:
    """How a child ends, or that its next answer was not there in time."""
    import time
    from subprocess import TimeoutExpired

    size, since = 0, time.monotonic()
    while (left_s := since + timeout_s - time.monotonic()) > 0:
        try:
            return f"exit code {child.wait(min(left_s, timeout_s / 10))}"
        except TimeoutExpired:
            if (grown := os.fstat(answers).st_size) > size:
                size, since = grown, time.monotonic()
    return f"{TOO_LATE} {timeout_s} s"


def answer(answers: Callable[[Any, IO[bytes]], Iterable[Any]]) -> None:
    """In the child: read the question, write each answer as it comes, and end the process.

    What is printed meanwhile goes to a file, which `answers` is given beside the question.
    """
    import tempfile

    process = os.getpid()
    notice_environment()  # what a plugin raises with a key of it is remembered in a file
    question = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
        for one in answers(question, printed):
            if os.getpid() != process:
                os._exit(0)  # a copy that a plugin made of this process answers nobody
            print(json.dumps(one), file=out, flush=True)
    os._exit(0)  # threads that a plugin started do not keep anybody waiting
