"""`cb` in processes of its own, forked from one that has imported all: a run takes a moment.

    with Forks() as forks:
        run = forks.start(folder, ["run", …], fsize=4096)
        run.kill(signal.SIGTERM)
        print(run.wait().returncode)

What a process shall suffer is said when it is started; `order` of `_suffer` names it.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs

BENCH = Path(__file__).with_name("bench.py")
IMPORTED = ["asyncio", "ssl", "cb_datasets.catalog", "cb_metrics", "cb_reporters.data"]
IMPORTED += [
    "cb_reporters.table",
    "cbcore.cli.reports",
    "cbcore.cli.run_command",
    "cbcore.settings.compose",
]
"""What a run would import anyway, so that it need not each time."""


@attrs.frozen
class Ended:
    """How a process ended: its code, negative for a signal, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


class Forks:
    """Starts processes, one at a time, for as long as the `with` block lasts."""

    def __enter__(self) -> Forks:  # noqa: PYI034 - no Self on 3.10
        self._parent = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._parent.communicate()  # closes its standard input, which ends it

    def start(self, folder: Path, arguments: list[str], **faults: Any) -> Fork:
        """Run `cb` with these arguments in a folder; `faults` are what it shall suffer."""
        self.send({"folder": str(folder), "arguments": arguments, "faults": faults})
        return Fork(self, int(self.receive()))

    def run(self, folder: Path, arguments: list[str], **faults: Any) -> Ended:
        """The same, to its end."""
        return self.start(folder, arguments, **faults).wait()

    def send(self, order: Any) -> None:
        assert self._parent.stdin is not None
        self._parent.stdin.write(json.dumps(order) + "\n")
        self._parent.stdin.flush()

    def receive(self) -> str:
        assert self._parent.stdout is not None
        return self._parent.stdout.readline()


@attrs.frozen
class Fork:
    """A process under way. It has to be waited for before the next is started."""

    _forks: Forks
    pid: int

    def kill(self, number: int) -> None:
        """Send a signal; to a process that has ended it does nothing."""
        os.kill(self.pid, number)

    def wait(self) -> Ended:
        """Wait for the end."""
        ended = Ended(**json.loads(self._forks.receive()))
        self._forks.send("seen")  # and only now is its number given to somebody else
        return ended


# -- the process that forks --------------------------------------------------------------------


def _serve() -> None:
    while line := sys.stdin.readline():
        pipes = [os.pipe() for _ in range(2)]
        pid = os.fork()
        if pid == 0:
            for number, (_, writing) in enumerate(pipes, start=1):
                os.dup2(writing, number)
            for ends in pipes:
                os.closerange(min(ends), max(ends) + 1)
            _run(**json.loads(line))
        print(pid, flush=True)
        for _, writing in pipes:
            os.close(writing)
        status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert status is not None
        exited = status.si_code == os.CLD_EXITED
        printed = [_all_of(reading) for reading, _ in pipes]
        code = status.si_status if exited else -status.si_status
        print(json.dumps({"returncode": code, "stdout": printed[0], "stderr": printed[1]}))
        sys.stdout.flush()
        sys.stdin.readline()
        os.waitpid(pid, 0)


def _all_of(descriptor: int) -> str:
    """What was written into a pipe by a process that has ended; a pipe holds 64 KB."""
    os.set_blocking(descriptor, False)
    with os.fdopen(descriptor, "rb") as pipe:
        return (pipe.read() or b"").decode("utf-8", "replace")


def _run(folder: str, arguments: list[str], faults: dict[str, Any]) -> None:
    from cbcore.cli import main

    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = str(Path(folder) / "cache")
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    sys.argv = ["cb", *arguments]
    _suffer(**faults)
    main()


def _suffer(
    *,
    fsize: int | None = None,
    statement: int | None = None,
    times: int = 1,
    when: str = "before",
    error: str = "OperationalError: disk I/O error",
) -> None:
    """Let a process go wrong.

    No file may become larger than `fsize`. The `statement`-th statement to the store, and those
    after it up to `times`, fail with this error, `before` or `after` they are carried out.
    """
    import resource

    Watched.failing = range(statement, statement + times) if statement else range(0)
    Watched.when, Watched.error = when, error
    _connect = sqlite3.connect
    sqlite3.connect = lambda *a, **k: _connect(*a, factory=Watched, **k)  # type: ignore[misc,assignment]
    if fsize is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (fsize, resource.RLIM_INFINITY))


class Watched(sqlite3.Connection):
    """A connection that notes its commits and fails when it is told to."""

    failing = range(0)
    when = error = ""
    n_statements = 0

    def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        from tests.faults.bench import note

        if statement.startswith("BEGIN"):
            note("b")
        cursor = self._faulty(super().execute, statement, *arguments)
        if statement == "COMMIT":
            note("c")
        return cursor

    def executemany(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        return self._faulty(super().executemany, statement, *arguments)

    def _faulty(self, do: Any, *arguments: Any) -> sqlite3.Cursor:
        Watched.n_statements += 1
        fails = Watched.n_statements in self.failing and arguments[0] != "ROLLBACK"
        if not fails or self.when == "after":
            cursor: sqlite3.Cursor = do(*arguments)
        if fails:
            from tests.faults.bench import note

            note("f")
            name, _, text = self.error.partition(": ")
            raise getattr(sqlite3, name, MemoryError)(text)
        return cursor


if __name__ == "__main__":
    for module in IMPORTED:
        importlib.import_module(module)
    _serve()
