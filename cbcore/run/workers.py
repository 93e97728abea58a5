"""Calls that are made in other processes or on other machines.

To the run, a worker is a call that blocks: one thread of a pair waits for each task. A task is one
call of the system or of an evaluator. See `cbcore.protocols.Executor` for the other side.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from importlib import metadata
from typing import TYPE_CHECKING, Any, cast

from cbcore.boundary import (
    at_boundary,
    contained,
    describe_exception,
    format_traceback,
    note_traceback,
)
from cbcore.chains import Renamed
from cbcore.components import Built
from cbcore.exceptions import CBError, ProcessError, RunError, ScoringError, UsageError
from cbcore.protocols import Executor, WorkerLost, WorkerPool
from cbcore.run.pair import Call
from cbcore.run.scorers import Scorer
from cbcore.secrets import (
    RedactedStream,
    hide,
    notice_environment,
    redact,
    shows_secret,
)
from cbcore.timing import Waits

if TYPE_CHECKING:
    from cbcore.run.pair import Attempt

__all__ = ("open_worker", "pack_task", "pack_worker", "print_to_stderr", "read_reply")

_BY_SPEC = "Give it by a spec, as in py:./file.py:Name, or leave --executor out."


class WorkerError(RunError):
    """Why a worker cannot make the components of the run."""


class Workers:
    """The workers of one system, for all its benchmarks. An example whose worker is lost is tried
    once more, then it fails."""

    n_workers = 0

    def __init__(self, executor: Executor, system: Built, scorers: Sequence[Scorer]) -> None:
        """Raises `UsageError` for components that cannot be sent."""
        sent = [s.built for s in scorers if not (s.is_awaited or s.is_of_repeats)]
        self._components = [system, *dict.fromkeys(sent)]
        self._executor, self._packed = executor, pack_worker(self._components)
        self._pool: WorkerPool | None = None
        self.losses: list[bool] = []  # for each lost worker, whether its call was repeated

    def open(self, size: int | None) -> None:
        """`size` is how many workers the run asks for; None leaves it to the executor."""
        with at_boundary(f"Starting the executor {self._executor.name!r}", RunError):
            self._pool = self._executor.open(self._packed, workers=size)
        self.n_workers = self._pool.n_workers

    def call(self, attempt: Attempt, component: Built, arguments: tuple[Any, ...]) -> Call:
        """Let a worker call the system or an evaluator. In a thread of the pair."""
        number = self._components.index(component)
        attempt.deadline = None  # until a worker takes the task
        with contained() as packing:
            task = pack_task(number, *arguments)
        if packing.error is not None:
            return _fail(number, f"the example cannot be sent to a worker: {packing.reason}")
        try:
            return read_reply(self._ask(attempt, number, task))
        except WorkerLost as lost:
            return _fail(number, str(lost))

    def _ask(self, attempt: Attempt, number: int, task: bytes) -> bytes:
        """The reply of a worker. Raises `WorkerLost` if two of them are lost."""
        assert self._pool is not None  # noqa: S101 - opened before the first call
        for is_last in (False, True):
            future = self._pool.submit(task, lambda: attempt.pair.start_limit(attempt))
            attempt.future = future
            try:
                return future.result()
            except WorkerLost as lost:
                reason = f"{lost} on this example"
            finally:
                attempt.future = attempt.deadline = None
            if attempt.is_given_up:  # the run has ended the worker
                break
            if not is_last and (number or attempt.pair.reserve_again(attempt)):
                self.losses.append(True)
                continue
            self.losses.append(False)
            reason += ", twice" if is_last else ", and the budget has no room for another try"
            break
        raise WorkerLost(reason)

    def end(self, future: Future[bytes]) -> None:
        """End the worker that holds a task."""
        if self._pool is not None:
            self._pool.end(future)

    def close(self) -> None:
        """End all workers. They may be opened again."""
        if self._pool is not None:
            with contained():
                self._pool.close()


# -- what is sent --------------------------------------------------------------------------------


def pack_worker(components: Sequence[Built]) -> bytes:
    """Pack what a worker gets when it starts: the versions of the run, and each component.

    It holds no secret: secrets are in the environment of the worker.

    Raises `UsageError` for what cannot be sent.
    """
    packed = [(built.value.name, built.remake is not None, _pack(built)) for built in components]
    versions = dict(_find_versions(built.record for built in components))
    versions["cbcore"] = metadata.version("cbcore")
    return pickle.dumps((versions, packed))


def pack_task(number: int, *arguments: Any) -> bytes:
    """A call of the system, which has number 0, or of an evaluator."""
    return pickle.dumps((number, arguments))


def _pack(built: Built) -> bytes:
    with at_boundary(
        f"Sending {built.name!r} to workers", lambda reason: UsageError(reason, hint=_BY_SPEC)
    ):
        packed = pickle.dumps(built.remake or built.value)
    if shows_secret(packed):
        raise UsageError(
            f"{built.name!r} holds a secret, which is not sent to workers.",
            hint="Take it from the environment, as in api_key=${MY_KEY} in a run file.",
        )
    return packed


def _fail(number: int, reason: str) -> Call:
    call = Call()
    call.error = ScoringError(reason) if number else ProcessError(reason)
    return call


def _find_versions(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The distributions behind components, and behind the stages of chains."""
    for record in records:
        if record.get("version") is not None:
            yield record["plugin"], record["version"]
        yield from _find_versions(record.get("stages") or ())


def read_reply(reply: bytes) -> Call:
    """The call that a worker made; what was logged there is logged here.

    Raises `RunError` if the worker could not begin.
    """
    call = Call()
    call.waits = Waits()
    with contained() as reading:
        call.output, error, call.latency_s, call.waits.seconds, lines = pickle.loads(reply)  # noqa: S301 - of our own worker
        if isinstance(error, tuple):  # one that could not be sent
            name, text, traceback = error
            error = note_traceback(type(name, (Exception,), {})(text), traceback)
        call.error = error
        for name, level, line in lines:
            logging.getLogger(name).log(level, "%s", line)
    if reading.error is not None:
        call.error = ProcessError(f"the reply of a worker cannot be read: {reading.reason}")
    if isinstance(call.error, WorkerError):
        raise call.error
    return call


# -- in a worker ---------------------------------------------------------------------------------


def print_to_stderr() -> None:
    """Print what components print on standard error, and no secret. For processes of workers."""
    os.dup2(2, 1)
    sys.stdout = sys.stderr = RedactedStream(sys.stderr)
    sys.__stdout__ = sys.__stderr__ = sys.stderr  # type: ignore[misc, assignment]


class LogLines(logging.Handler):
    """Keeps what components log, for the log file of the run."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        with contained():  # a log line is not worth a row
            self.lines.append((record.name, record.levelno, redact(self.format(record))))

    def take(self) -> list[tuple[str, int, str]]:
        """The lines since the last time."""
        lines, self.lines = self.lines, []
        return lines


def open_worker(worker: bytes) -> Callable[[bytes], bytes]:
    """The function that answers tasks, for an executor to call in its workers.

    It never raises. If the worker cannot begin, every reply says why.
    """
    notice_environment()
    logged = LogLines()
    logging.getLogger().addHandler(logged)
    logging.captureWarnings(True)
    components: list[Any] = []
    with contained() as opening:
        versions, packed = pickle.loads(worker)  # noqa: S301 - of our own run
        _check_versions(versions)
        for name, is_made, data in packed:
            value = pickle.loads(data)  # noqa: S301 - of our own run
            value = value() if is_made else value
            components.append(value if value.name == name else Renamed(value, name))
        if hasattr(components[0], "warm_up"):
            with contained():  # a call will say what is wrong
                components[0].warm_up()
    if opening.error is not None:
        reason, hint = opening.reason, cast("str | None", _BY_SPEC)
        if isinstance(opening.error, CBError):
            reason, hint = opening.error.message, opening.error.hint
        problem = WorkerError(redact(f"A worker could not begin: {reason}"), hint=hint)
        reply = pickle.dumps((None, problem, 0.0, 0.0, []))
        return lambda task: reply

    def run_task(task: bytes) -> bytes:
        with Call() as call:
            number, arguments = pickle.loads(task)  # noqa: S301 - of our own run
            call.start_clock()
            method = components[number].score if number else components[number].process
            call.output = method(*arguments)
        return _write_reply(call, logged.take())

    return run_task


def _check_versions(versions: Mapping[str, str]) -> None:
    for name, wanted in versions.items():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            found = "none"
        if found != wanted:
            raise UsageError(
                f"the run has {name} {wanted}, and the worker has {found}.",
                hint=f"Install {name}=={wanted} where the workers are.",
            )


def _write_reply(call: Call, lines: Sequence[tuple[str, int, str]]) -> bytes:
    """Pack the result of a call. A value that cannot be sent becomes an error that says so.

    Secrets of the worker's environment are not known to the run, so they are replaced here.
    """
    facts = (call.latency_s, call.waits.seconds, lines)
    error = None if call.error is None else _make_sendable(call.error)
    with contained() as packing:
        reply = pickle.dumps((call.output, error, *facts))
        if shows_secret(reply):
            reply = pickle.dumps((hide(call.output), error, *facts))
    if packing.error is not None:
        reason = f"the output cannot be sent back from a worker: {packing.reason}"
        reply = pickle.dumps((None, ProcessError(redact(reason)), *facts))
    return reply


def _make_sendable(error: BaseException) -> BaseException | tuple[str, str, str]:
    """The exception with its traceback as text. If it cannot be pickled, or shows a secret: its
    name, its message and its traceback."""
    note_traceback(error)
    with contained():
        packed = pickle.dumps(error)
        pickle.loads(packed)  # noqa: S301 - some cannot be read
        if not shows_secret(packed):
            return error
    name = type(error).__name__
    text = redact(describe_exception(error)).removeprefix(name).removeprefix(": ")
    return name, text, format_traceback(error)
