"""Examples on their way to workers, and what came of them on its way back: both as bytes.

Each example, and each result, is pickled by itself: one that cannot be costs nothing but its own
row, and examples that have to be sent again are only put into other batches.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from cbcore._run.outputs import StoredOutput
from cbcore._run.reasons import FailedElsewhereError, reason_of
from cbcore._run.scorers import Outcome, Scorer
from cbcore._run.tracebacks import Raised, traceback_of
from cbcore._run.work import Work
from cbcore.boundary import contained
from cbcore.results import Scored
from cbcore.secrets import are_known, hide, is_shown_in, redact

_PROTOCOL = 5


# -- there -----------------------------------------------------------------------------------------


def written_task(work: Work, asked: Sequence[int]) -> bytes:
    """An example for a worker, with the output that is known of it, if any, and who is to score it.

    Raises what pickling raises: an example may hold anything.
    """
    known = work.recalled
    stored = None if known is None else (known.own, known.handed_back, known.latency)
    return pickle.dumps(
        (work.index, work.example_id, work.example, work.dataset, work.repeat, stored, asked),
        _PROTOCOL,
    )


def written_batch(tasks: Sequence[bytes]) -> bytes:
    """A batch of examples, as a worker takes them."""
    return pickle.dumps(tasks, _PROTOCOL)


def read_batch(payload: bytes) -> list[bytes]:
    """The examples of a batch, each still as bytes."""
    tasks: list[bytes] = pickle.loads(payload)  # noqa: S301 - written by our own run
    return tasks


def read_task(task: bytes) -> tuple[Work, Sequence[int]]:
    """An example, as work, and the keys of the scorers to be asked."""
    index, example_id, example, dataset, repeat, stored, asked = pickle.loads(task)  # noqa: S301
    work = Work(index, example_id, example, dataset, repeat=repeat)
    if stored is not None:
        own, handed_back, latency = stored
        work.recalled = StoredOutput(own, handed_back, latency, example)
    return work, asked


# -- and back --------------------------------------------------------------------------------------


@attrs.frozen
class Answer:
    """What a worker has to say to a batch.

    `results` are those of its first examples, in their order; what is behind them was not begun.
    `took_s` is the time it was busy with them and `scoring_s` the longest that scoring one took.
    `said` is what components printed, with the place of the example in the batch; `remarks` are
    to be told once. `unread` has, by the key of a scorer, the columns it has not looked at yet.
    """

    results: Sequence[bytes]
    took_s: float = 0.0
    scoring_s: float = 0.0
    said: Sequence[tuple[int, str]] = ()
    remarks: Sequence[str] = ()
    unread: Mapping[int, Sequence[str]] = attrs.Factory(dict)

    def written(self) -> bytes:
        return pickle.dumps(attrs.astuple(self, recurse=False), _PROTOCOL)

    @classmethod
    def read(cls, payload: bytes) -> Answer:
        """Raises what unpickling raises, for bytes that are no answer."""
        return cls(*pickle.loads(payload))  # noqa: S301 - written by our own worker


def written_result(outcome: Outcome) -> bytes:
    """What came of one example. What cannot be sent becomes the error that says so.

    An output that was known is not sent back, and no secret: one of the worker's environment is
    not known to the run, which could not keep it out of its rows and its store.
    """
    result = _written(outcome)
    if not _tells_secret(result):
        return result
    result = _written(_without_secrets(outcome))
    if not _tells_secret(result):
        return result
    error = "what came of the example holds a secret of its worker, and is not sent"
    return _dumped(attrs.evolve(outcome, error=error, raised=None, spent={}), None, [])


def _tells_secret(result: bytes) -> bool:
    return are_known() and is_shown_in(result.decode("utf-8", "replace").encode())


def _without_secrets(outcome: Outcome) -> Outcome:
    scores = [(scorer, _hidden(told)) for scorer, told in outcome.scores]
    error = None if outcome.error is None else redact(outcome.error)
    return attrs.evolve(outcome, output=hide(outcome.output), error=error, scores=scores)


def _hidden(scores: Any) -> Any:
    if isinstance(scores, Scored):
        told = hide(dict(scores.missing)), hide(dict(scores.details))
        return Scored(hide(dict(scores.scores)), *told, cost=dict(scores.cost))
    return scores if isinstance(scores, BaseException) else hide(scores)


def _written(outcome: Outcome) -> bytes:
    output = outcome.output if outcome.work.recalled is None else None
    scores = [(scorer.key, _sendable(told)) for scorer, told in outcome.scores]
    with contained():
        return _dumped(outcome, output, scores)
    with contained() as tried:
        pickle.dumps(output, _PROTOCOL)
    if tried.error is None:
        outcome = attrs.evolve(outcome, spent={})
        return _dumped(outcome, output, [(key, _sent_or_told(told)) for key, told in scores])
    error = f"the output cannot be sent back from a worker: {tried.reason}"
    return _dumped(attrs.evolve(outcome, error=error, raised=None, spent={}), None, [])


def _dumped(outcome: Outcome, output: Any, scores: Sequence[tuple[int, Any]]) -> bytes:
    traceback = None if outcome.raised is None else outcome.raised.traceback
    spent = dict(outcome.spent)
    told = (output, outcome.latency, outcome.error, scores, spent, traceback)
    return pickle.dumps(told, _PROTOCOL)


def _sendable(scores: Any) -> Any:
    """Scores as they are; an exception, which need not survive pickling, as what is told of it."""
    if not isinstance(scores, BaseException):
        return scores
    return FailedElsewhereError(redact(reason_of(scores)), traceback_of(scores))


def _sent_or_told(scores: Any) -> Any:
    with contained() as tried:
        pickle.dumps(scores, _PROTOCOL)
    if tried.error is None:
        return scores
    return FailedElsewhereError(f"its scores cannot be sent back from a worker: {tried.reason}")


def read_result(result: bytes, work: Work, scorers: Iterable[Scorer]) -> Outcome:
    """The outcome of one example, with the scores that were known before among the new ones."""
    with contained() as tried:
        told = pickle.loads(result)  # noqa: S301 - written by our own worker
        output, latency, error, scores, spent, traceback = told
        new = dict(scores)
        if work.recalled is not None and error is None:
            output = work.recalled.output()
    if tried.error is not None:
        told = f"what came back from a worker cannot be read: {tried.reason}"
        return Outcome(work, None, 0.0, told)
    raised = None if traceback is None else Raised(None, traceback)
    outcome = Outcome(work, output, latency, error, [], spent, raised=raised)
    known = outcome.known_scores
    for scorer in scorers:
        if scorer.key in known:
            outcome.scores.append((scorer, known[scorer.key]))
        elif scorer.key in new:
            outcome.scores.append((scorer, new[scorer.key]))
    return outcome
