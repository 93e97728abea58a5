"""Asking another interpreter: what may end, hang or print does so there."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

from cbcore.secrets import notice_environment


def ask_child(
    module: str, question: Any, *, timeout_s: float, path: Sequence[str] = ()
) -> tuple[list[Any], str]:
    """Let a module's `main()` answer a question, as `answer` does, in a new interpreter.

    Returns what it answered before it ended, and how it ended. The child gets this process's
    import path, behind `path`, and not, as -m would add, the working folder.
    """
    import subprocess

    start = f"import sys; sys.path = sys.argv[1:]; from {module} import main; main()"
    try:
        child = subprocess.run(  # noqa: S603 - this interpreter and its own import path
            [sys.executable, "-c", start, *path, *sys.path],
            input=json.dumps(question),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # not a pipe: what is left running would hold it open
            text=True,
            encoding="utf-8",
            timeout=timeout_s,
            check=False,
        )
        output, ending = child.stdout, f"exit code {child.returncode}"
    except subprocess.TimeoutExpired as late:
        told = late.stdout or b""
        output = told.decode("utf-8", "replace") if isinstance(told, bytes) else told
        ending = f"it took more than {timeout_s} s"
    complete = output[: output.rfind("\n") + 1]
    return [json.loads(line) for line in complete.splitlines()], ending


def answer(answers: Callable[[Any, IO[bytes]], Iterable[Any]]) -> None:
    """In the child: read the question, write each answer as it comes, and end the process.

    What is printed meanwhile goes to a file, which `answers` is given beside the question.
    """
    import tempfile

    notice_environment()  # what a plugin raises with a key of it is remembered in a file
    question = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
        for one in answers(question, printed):
            print(json.dumps(one), file=out, flush=True)
    os._exit(0)  # threads that a plugin started do not keep anybody waiting
