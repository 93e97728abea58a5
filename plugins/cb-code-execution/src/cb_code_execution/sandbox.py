"""Running untrusted Python: where it is locked up, what it may use, and what came of it."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from typing import Any

import attrs

from cb_code_execution import _server
from cb_code_execution._watching import Seen
from cb_code_execution.limits import Limits
from cb_code_execution.testplan import Plan, imports_of
from cbcore.exceptions import MissingScoreError


class SandboxError(MissingScoreError):
    """Code could not be run safely here, so there is nothing to score."""


@attrs.frozen
class Outcome:
    """What came of a program.

    `status` is "passed" when it came to the end of its tests; else "failed" (it or a test
    raised), "exited" (it ended before its tests did), "timed out", "too much output" or
    "too much memory". It is "not measured" when a package is missing, or when the tests do
    not run anything: `message` says what.
    """

    status: str
    message: str = ""

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def measured(self) -> bool:
        return self.status != "not measured"


@attrs.frozen
class Examination:
    """The tests of an example, and what is known about the solution they are for.

    `preamble` is what the example puts in front of the solution: tests use it as it stands
    there. `entry_is` says what the example calls the entry point: "def", "class", or nothing.
    With a `case`, what a program reads and what it is to print, there is no source.
    """

    source: str
    plan: Plan | None = None
    entry_point: str | None = None
    entry_is: str | None = None
    preamble: str = ""
    case: tuple[str, str] | None = None


@attrs.frozen
class Sandbox:
    """Runs programs with one interpreter, locked up by one mechanism.

    `prefixes` are what the interpreter has to read beside the system's folders.
    """

    mechanism: str
    python: str
    prefixes: tuple[str, ...] = ()
    limits: Limits = attrs.Factory(Limits)

    def run(self, solution: str, tests: str | Examination) -> Outcome:
        """Run a solution, and its tests in another process.

        With a plan, tests that are defined and not called are called then, and it is no pass
        when there are none at all. When it returns, every process of the program has ended.
        Raises `SandboxError` when the program could not be locked up; it was not run then.
        """
        asked = Examination(tests) if isinstance(tests, str) else tests
        scratch = tempfile.mkdtemp(prefix="cb-code-") if self.mechanism == "none" else ""
        spec = _server.Spec(self.mechanism, self.python, self.prefixes)
        try:
            program = _server.program(spec, self._job(scratch))
            try:
                seen = program.watch(_sources(solution, asked), self.limits)
            finally:
                program.close()
        except _server.ServerError as error:
            raise SandboxError(self._not_set_up(str(error))) from error
        finally:
            if scratch:
                shutil.rmtree(scratch, ignore_errors=True)
        if seen.refused:
            raise SandboxError(self._not_set_up(seen.refused))
        return _outcome(seen)

    def _not_set_up(self, reason: str) -> str:
        return f"the {self.mechanism} sandbox could not be set up: {reason}"

    def _job(self, scratch: str) -> dict[str, Any]:
        return {
            "limits": self.limits.resources(),
            "time_s": self.limits.time_s,
            "output_bytes": self.limits.output_bytes,
            "thread_stack_bytes": self.limits.thread_stack_bytes,
            "scratch": scratch,
            "scratch_bytes": self.limits.file_mb << 20,
            "scratch_files": self.limits.files,
        }


def _sources(solution: str, tests: Examination) -> tuple[bytes, bytes]:
    """What each of the two processes is told; the solution's hears nothing of the tests."""
    threads = "thread" in tests.source or "concurrent" in tests.source
    told = {
        "threads": threads,
        "tests": tests.source,
        "plan": tests.plan and attrs.asdict(tests.plan),
        "entry_point": tests.entry_point,
        "entry_is": tests.entry_is,
        "preamble": tests.preamble,
        "case": tests.case,
        "solution": solution if "solution.py" in tests.source else None,
    }
    # A solution may use what its tests import: benchmarks run both as one module.
    words = set(re.findall(r"\w+", solution))
    imports = [text for name, text in imports_of(tests.source) if name in words]
    shown = {"source": solution, "imports": imports, "threads": threads}
    return json.dumps(shown).encode(), json.dumps(told).encode()


def _outcome(seen: Seen) -> Outcome:
    if seen.verdict and seen.verdict[0] != "exited":
        return Outcome(*seen.verdict)
    if seen.stopped:
        return Outcome(seen.stopped)
    code = seen.exit_codes.get(0 if seen.verdict else 1)
    return Outcome("exited", f"it ended with exit code {code} before its tests did")
