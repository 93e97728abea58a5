"""Calls that are made in other processes or on other machines.

To the run, a worker is a call that blocks: one thread of a pair waits for each task. A task is one
call of the system or of an evaluator. See `cbcore.protocols.Executor` for the other side.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from importlib import metadata
from typing import TYPE_CHECKING, Any

import attrs

import cbcore
from cbcore.boundary import at_boundary, contained
from cbcore.chains import Renamed
from cbcore.components import Built, describe_exception
from cbcore.exceptions import CBError, RunError, UsageError
from cbcore.protocols import Executor, WorkerLost, WorkerPool
from cbcore.run.pair import Call
from cbcore.run.scorers import Scorer
from cbcore.secrets import hide, is_shown_in, notice_environment, redact
from cbcore.timing import Waits, start_waits
from cbcore.tracebacks import note_traceback

if TYPE_CHECKING:
    from cbcore.run.pair import Attempt

_MOST_LOSSES = 2
"""How many workers an example may cost."""


class RemoteError(Exception):
    """What a worker raised and could not send. Its text describes it."""


class Workers:
    """The workers of one system, for all its benchmarks. An example whose worker is lost is tried
    once more, then it fails."""

    def __init__(
        self, executor: Executor, system: Built, scorers: Sequence[Scorer], size: int | None
    ) -> None:
        """`size` is how many workers the run asks for; None leaves it to the executor."""
        self._components = [system, *(scorer.built for scorer in scorers)]
        self._executor = executor
        with at_boundary(f"Starting the executor {executor.name!r}", RunError):
            self._pool: WorkerPool = executor.open(pack_worker(self._components), workers=size)
        self.n_workers = self._pool.n_workers
        self.n_lost = self.n_repeated = 0

    def process(self, attempt: Attempt, example: dict[str, Any]) -> Call:
        """Call the system. In a thread of the pair."""
        return self._call(attempt, 0, (example,))

    def score(self, attempt: Attempt, scorer: Scorer, original: Any, processed: Any) -> Call:
        """Call an evaluator. In a thread of the pair."""
        return self._call(attempt, self._components.index(scorer.built), (original, processed))

    def _call(self, attempt: Attempt, number: int, arguments: tuple[Any, ...]) -> Call:
        call = Call()
        with contained() as packing:
            task = pickle.dumps((number, arguments))
        if packing.error is not None:
            reason = f"the example cannot be sent to a worker: {packing.reason}"
            call.error = RemoteError(reason)
            return call
        n_losses = 0
        while True:
            attempt.deadline = None  # until a worker has taken it
            future = self._pool.submit(task, lambda: attempt.pair.start_limit(attempt))
            attempt.future = future
            try:
                return read_reply(future.result())
            except WorkerLost as lost:
                attempt.deadline = None
                self.n_lost += 1
                n_losses += 1
                if attempt.is_given_up or n_losses == _MOST_LOSSES:
                    call.error = RemoteError(f"{lost} on this example, {n_losses} times")
                    return call
                if number == 0 and not attempt.pair.reserve_again(attempt):
                    call.error = RemoteError(f"{lost}, and the budget has no room for another try")
                    return call
                self.n_repeated += 1
            finally:
                attempt.future = None

    def end(self, future: Future[bytes]) -> None:
        """End the worker that holds a task."""
        self._pool.end(future)

    def close(self) -> None:
        with contained():
            self._pool.close()


# -- what is sent --------------------------------------------------------------------------------


@attrs.frozen
class WorkerSpec:
    """How a worker makes its components: the system first, then the evaluators."""

    cbcore: str
    versions: Mapping[str, str]
    components: Sequence[tuple[str, Callable[[], Any]]]


@attrs.frozen
class SendObject:
    """Makes a component that was given as an object: it is pickled as it is."""

    value: Any

    def __call__(self) -> Any:
        return self.value


def pack_worker(components: Sequence[Built]) -> bytes:
    """What a worker gets once, when it starts. It holds no secret: those are in its environment.

    Raises `UsageError` for what cannot be sent.
    """
    makers = [(built.value.name, built.remake or SendObject(built.value)) for built in components]
    versions = dict(_find_versions(built.record for built in components))
    hint = "Give it by a spec, as in py:./file.py:Name, or leave --executor out."
    for built, maker in zip(components, makers, strict=True):
        with at_boundary(
            f"Sending {built.name!r} to workers", lambda reason: UsageError(reason, hint=hint)
        ):
            packed = pickle.dumps(maker[1])
        if is_shown_in(packed.decode("utf-8", "replace").encode()):
            raise UsageError(
                f"{built.name!r} holds a secret, which is not sent to workers.",
                hint="Take it from the environment, as in api_key=${MY_KEY} in a run file.",
            )
    return pickle.dumps(WorkerSpec(cbcore.__version__, versions, makers))


def _find_versions(records: Any) -> Any:
    """The distributions behind components, and behind the stages of chains."""
    for record in records:
        if record.get("version") is not None:
            yield record["plugin"], record["version"]
        yield from _find_versions(record.get("stages") or ())


def read_reply(reply: bytes) -> Call:
    """The call that a worker made. Raises `RunError` if the worker could not begin."""
    call = Call(Waits())
    with contained() as reading:
        output, error, latency_s, waited_s = pickle.loads(reply)  # noqa: S301 - of our own worker
        call.output, call.error, call.latency_s = output, error, latency_s
        call.waits.seconds = waited_s
    if reading.error is not None:
        call.error = RemoteError(f"the reply of a worker cannot be read: {reading.reason}")
    if isinstance(call.error, RunError) and call.error.hint == _HINT:
        raise call.error
    return call


# -- in a worker ---------------------------------------------------------------------------------

_HINT = "Install the same versions where the workers are."


def open_worker(worker: bytes) -> Callable[[bytes], bytes]:
    """The function that answers tasks, for an executor to call in its workers.

    It never raises. If the worker cannot begin, every reply says why.
    """
    notice_environment()
    components: list[Any] = []
    problem: BaseException | None = None
    with contained() as opening:
        spec: WorkerSpec = pickle.loads(worker)  # noqa: S301 - of our own run
        _check_versions(spec)
        for name, make in spec.components:
            value = make()
            components.append(value if value.name == name else Renamed(value, name))
        _warm_up(components[0])
    if opening.error is not None:
        reason = opening.error.message if isinstance(opening.error, CBError) else opening.reason
        problem = RunError(redact(f"A worker could not begin: {reason}"), hint=_HINT)

    def run_task(task: bytes) -> bytes:
        call = Call(start_waits())
        with call:
            number, arguments = pickle.loads(task)  # noqa: S301 - of our own run
        if call.error is None:
            with call:
                if problem is not None:
                    raise problem
                component = components[number]
                call.output = (
                    component.score(*arguments) if number else component.process(*arguments)
                )
        return _write_reply(call)

    return run_task


def _check_versions(spec: WorkerSpec) -> None:
    for name, wanted in {"cbcore": spec.cbcore, **spec.versions}.items():
        with contained():
            found = metadata.version(name)
            if found == wanted:
                continue
            raise LookupError
        raise UsageError(f"the run has {name} {wanted}, and the worker does not.")


def _warm_up(system: Any) -> None:
    if hasattr(system, "warm_up"):
        with contained():  # a call will say what is wrong
            system.warm_up()


def _write_reply(call: Call) -> bytes:
    """What came of a call. What cannot be sent becomes the error that says so.

    Secrets of the worker's environment are not known to the run, so they are replaced here.
    """
    error = call.error
    if error is not None:
        note_traceback(error)
    for output, sent in ((call.output, error), (None, _describe_error(call))):
        with contained():
            reply = pickle.dumps((output, sent, call.latency_s, call.waits.seconds))
            if is_shown_in(reply.decode("utf-8", "replace").encode()):
                output = hide(output)  # noqa: PLW2901
                sent = sent and RemoteError(redact(describe_exception(sent)))  # noqa: PLW2901
                reply = pickle.dumps((output, sent, call.latency_s, call.waits.seconds))
            pickle.loads(reply)  # noqa: S301 - whether the run can read it
            return reply
    return pickle.dumps((None, RemoteError("the reply cannot be sent"), call.latency_s, 0.0))


def _describe_error(call: Call) -> RemoteError:
    """What is sent in the place of an output or an exception that cannot be pickled."""
    if call.error is not None:
        error = RemoteError(describe_exception(call.error))
        note_traceback(error, getattr(call.error, "__cb_traceback__", ""))
        return error
    with contained() as trying:
        pickle.dumps(call.output)
    return RemoteError(f"the output cannot be sent back from a worker: {trying.reason}")
