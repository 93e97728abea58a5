"""Whether the code that suite files name really loads: found out in a process of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from cb_suites.engine.documents import FunctionReference
from cb_suites.engine.functions import Functions, UnloadableError
from cb_suites.engine.model import Origin
from cbcore.exceptions import CBError

_PROGRAM = "import sys; sys.path[:] = {!r}; from cb_suites.engine.trying import main; main()"
_MOST_S = 600


def load_failures(references: Iterable[FunctionReference]) -> dict[FunctionReference, str]:
    """Why each of these functions does not load, for those that do not.

    Their modules are run, one after another, in a child process. What ends it ends it alone:
    what was not reached by then is told as such.
    """
    wanted = list(dict.fromkeys(references))
    asked = json.dumps([[r.text, r.origin.file, r.origin.line] for r in wanted])
    path = [entry for entry in sys.path if entry]
    child = subprocess.Popen(  # noqa: S603 - this interpreter and our own module
        [sys.executable, "-c", _PROGRAM.format(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    try:
        told, _ = child.communicate(asked, timeout=_MOST_S)
        ended = f"its process ended with {child.returncode} before it was reached"
    except subprocess.TimeoutExpired:
        child.kill()
        told, _ = child.communicate()
        ended = f"it was not reached within {_MOST_S} s"
    answers = list(_answers(told))
    answers += [ended] * (len(wanted) - len(answers))
    pairs = zip(wanted, answers, strict=True)
    return {reference: reason for reference, reason in pairs if reason}


def _answers(told: str) -> Iterator[str]:
    for line in told.splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def main() -> None:
    """The child: loads what it is asked for, and says of each why it does not load."""
    wanted = json.load(sys.stdin)
    answers, sys.stdout = sys.stdout, sys.stderr
    for text, file, line in wanted:
        reference = FunctionReference(text, Origin(file, line))
        reason = ""
        try:
            Functions([Path(file).parent]).resolve(reference)
        except UnloadableError as error:
            reason = error.reason
        except CBError as error:
            reason = error.message
        answers.write(json.dumps(reason) + "\n")
        answers.flush()
