"""Asking another interpreter: what may end, hang or print does so there."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


def ask_child(
    module: str, question: Any, *, timeout_s: float, path: Sequence[str] = ()
) -> tuple[list[Any], str]:
    """Let a module's `main()` answer a question, read as JSON from its standard input.

    Returns the complete lines of JSON that it wrote before it ended, and how it ended. The
    child gets this process's import path, behind `path`, and not, as -m would add, the working
    folder.
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
