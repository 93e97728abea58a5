"""Running untrusted Python: where it is locked up, what it may use, and what came of it."""

from __future__ import annotations

import functools
import json
import os
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from cb_code_execution import _confine, _judge, _remaining
from cb_code_execution._syscalls import call_filter
from cb_code_execution._watching import watch
from cb_code_execution.limits import Limits
from cb_code_execution.testplan import Plan
from cbcore.exceptions import MissingScoreError

SYSTEM_PATHS = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/nowhere",
    "PYTHONHASHSEED": "0",
    # A thread that allocates would reserve an arena of its own; libraries would start one
    # thread for each processor.
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class SandboxError(MissingScoreError):
    """Code could not be run safely here, so there is nothing to score."""


@functools.cache
def _text_of(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text(encoding="utf-8")


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
class Sandbox:
    """Runs programs with one interpreter, locked up by one mechanism.

    `prefixes` are what the interpreter has to read beside the system's folders.
    """

    mechanism: str
    python: str
    prefixes: tuple[str, ...] = ()
    limits: Limits = attrs.Factory(Limits)

    def run(self, solution: str, tests: str, plan: Plan | None = None) -> Outcome:
        """Run a solution, then its tests in the same namespace.

        With a plan, tests that are defined and not called are called then, and it is no pass
        when there are none at all. When it returns, every process of the program has ended.
        Raises `SandboxError` when the program could not be locked up; it was not run then.
        """
        word = secrets.token_hex(16)
        scratch = tempfile.mkdtemp(prefix="cb-code-")
        verdict, write_verdict = os.pipe()
        job = self._job(scratch, word, write_verdict)
        try:
            try:
                process = subprocess.Popen(  # noqa: S603 - no shell, and an absolute path
                    [self.python, "-I", "-S", _confine.__file__, json.dumps(job)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    env={},
                    start_new_session=True,
                    pass_fds=(write_verdict,),
                )
            except OSError as error:
                raise SandboxError(f"{self.python} cannot be started: {error.strerror}") from error
            finally:
                os.close(write_verdict)
            remaining = f"{_text_of(_remaining)}\nPLAN = {attrs.asdict(plan)!r}\n" if plan else ""
            sources = json.dumps([solution, tests, remaining]).encode()
            seen = watch(process, verdict, sources, self.limits)
        finally:
            os.close(verdict)
            shutil.rmtree(scratch, ignore_errors=True)
        refused = _confine.refusal(word)
        if seen.verdict.startswith(refused):
            reason = seen.verdict.removeprefix(refused)
            raise SandboxError(f"the {self.mechanism} sandbox could not be set up: {reason}")
        if seen.verdict == word:
            return Outcome("passed")
        if seen.verdict.startswith(f"{word} "):
            return Outcome("not measured", seen.verdict.removeprefix(f"{word} "))
        if seen.stopped:
            return Outcome(seen.stopped, seen.verdict)
        if seen.verdict:
            return Outcome("failed", seen.verdict)
        return Outcome("exited", f"it ended with exit code {seen.exit_code} before its tests did")

    def _job(self, scratch: str, word: str, verdict_fd: int) -> dict[str, Any]:
        settings = (self.limits.processes, self.limits.thread_stack_bytes, word)
        command = [self.python, "-s", "-B", "-c", _text_of(_judge), *map(str, settings)]
        if self.mechanism == "bubblewrap":
            command = [*self._bubblewrap(), *command]
        return {
            "mechanism": self.mechanism,
            "word": word,
            "command": command,
            "environment": _ENVIRONMENT,
            "limits": self.limits.resources(),
            "scratch": scratch,
            "scratch_bytes": self.limits.file_mb << 20,
            "readable": [*SYSTEM_PATHS, *_DEVICES, *self.prefixes],
            "verdict_fd": verdict_fd,
            "filter": call_filter().hex(),
        }

    def _bubblewrap(self) -> list[str]:
        """An empty file system with the system's libraries and the interpreter in it."""
        binds: list[str] = []
        for path in map(Path, (*SYSTEM_PATHS, *self.prefixes)):
            if path.is_symlink():
                binds += ["--symlink", str(path.readlink()), str(path)]
            elif path.exists():
                binds += ["--ro-bind", str(path), str(path)]
        size = str(self.limits.file_mb << 20)
        return [
            *(shutil.which("bwrap") or "bwrap", "--unshare-all", "--die-with-parent"),
            *("--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"),
            *binds,
            *("--dev", "/dev", "--size", size, "--tmpfs", "/scratch", "--chdir", "/scratch"),
            *(
                part
                for n, name in enumerate(_confine.FILES)
                for part in ("--file", f"@source-{n}", f"/scratch/{name}")
            ),
            # All that was made for the program is in memory; only /scratch has a size.
            *("--remount-ro", "/dev", "--remount-ro", "/"),
            *(("--seccomp", "@filter") if call_filter() else ()),
            *("--clearenv", *(p for k, v in _ENVIRONMENT.items() for p in ("--setenv", k, v))),
            "--",
        ]
