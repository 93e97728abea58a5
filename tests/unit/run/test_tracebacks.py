"""Where code of others failed."""

from __future__ import annotations

import pickle

import pytest

from cbcore import evaluate
from cbcore.boundary import format_traceback, note_traceback
from cbcore.exceptions import MissingScoreError, ProcessError, RunStoppedError
from cbcore.secrets import forget_all, remember


def deep(n):
    return 1 / n if n <= 0 else deep(n - 1)


class Divides:
    name = "divides"

    def process(self, example):
        return deep(example.get("depth", 0))


class AwaitsAndDivides:
    name = "awaits"

    async def aprocess(self, example):
        return deep(0)


class Answers:
    name = "answers"

    def process(self, example):
        return {"response": "x"}


class Misjudges:
    name = "misjudges"
    emits = ("taste",)

    def score(self, original, processed):
        return {"taste": deep(0)}


def run(system, *, evaluators=(), example=None, **settings):
    examples = [{"id": 1, "context": "c", **(example or {})}]
    return evaluate([system], examples, list(evaluators), [], progress=False, **settings)


@pytest.mark.parametrize(
    ("system", "settings"),
    [
        (Divides(), {}),
        (Divides(), {"max_workers": 2}),
        (Divides(), {"timeout_s": 10}),
        (AwaitsAndDivides(), {}),
        (AwaitsAndDivides(), {"timeout_s": 10}),
    ],
    ids=["inline", "threads", "limited", "awaited", "awaited and limited"],
)
def test_an_errored_row_keeps_where_the_system_failed(system, settings):
    """From its own first frame on: none of `cb` is before it, however it was called."""
    (row,) = run(system, **settings).rows
    lines = row.metadata["traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert __file__ in lines[1]
    assert "1 / n" in row.metadata["traceback"]
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert "cbcore/_run" not in row.metadata["traceback"]


def test_a_missing_score_keeps_where_its_evaluator_failed():
    """The row is good but for that."""
    (row,) = run(Answers(), evaluators=[Misjudges()]).rows
    assert row.error is None
    assert "in score" in row.metadata["traceback"]


def test_a_good_row_has_none():
    """Nor does one that failed for a reason that was given on purpose."""

    class Refuses:
        name = "refuses"

        def process(self, example):
            raise ProcessError("no credit")

    assert "traceback" not in run(Answers()).rows[0].metadata
    assert "traceback" not in run(Refuses()).rows[0].metadata


def test_a_traceback_is_bounded():
    """Of a recursion the last frames are kept, of a long text the beginning and the end."""

    class Long:
        name = "long"

        def process(self, example):
            raise ValueError("x" * 1_000_000)

    (deep_row,) = run(Divides(), example={"depth": 200}).rows
    assert deep_row.metadata["traceback"].count("\n") < 3 * 20
    (long_row,) = run(Long()).rows
    assert len(long_row.metadata["traceback"]) < 7_000
    assert "characters …" in long_row.metadata["traceback"]


def test_no_known_secret_is_in_it():
    """Neither in a message nor in a line of code."""
    remember("sk-very-secret-0123456789")

    class Tells:
        name = "tells"

        def process(self, example):
            raise ValueError("sk-very-secret-0123456789")

    try:
        (row,) = run(Tells()).rows
        assert "very-secret" not in row.metadata["traceback"]
    finally:
        forget_all()


def test_an_exception_that_cannot_say_what_it_is_does_no_harm():
    """Its row has an error all the same."""

    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    class Raises:
        name = "raises"

        def process(self, example):
            raise Mute

    (row,) = run(Raises()).rows
    assert row.error is not None
    assert "Mute" in row.metadata["traceback"]


def test_an_exception_that_answers_no_question_does_no_harm():
    """Whatever it does when it is asked for an attribute."""

    class Sullen(Exception):
        def __getattr__(self, name):
            raise SystemExit(3)

    class Raises:
        name = "raises"

        def process(self, example):
            raise Sullen

    (row,) = run(Raises(), evaluators=[Misjudges()]).rows
    assert row.error == "Sullen"


@pytest.mark.parametrize("system", [Divides(), AwaitsAndDivides()], ids=["called", "awaited"])
def test_what_ends_a_run_is_chained_to_what_was_raised(system):
    """The exception itself, with its frames, for a debugger."""
    with pytest.raises(RunStoppedError) as stopped:
        run(system, on_error="raise")
    cause = stopped.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert cause.__traceback__ is not None


@pytest.mark.parametrize("settings", [{}, {"interleave": True}, {"max_workers": 3}], ids=str)
def test_an_evaluator_that_raises_is_a_failure_to_stop_at(settings):
    """Reported by its name, and chained to what it raised; with `max_errors` alone the run goes on."""

    class Works:
        name = "works"

        def process(self, example):
            return {"response": "x"}

    with pytest.raises(RunStoppedError, match="Evaluator 'misjudges' could not score") as stopped:
        run(Works(), evaluators=[Misjudges()], on_error="raise", **settings)
    assert type(stopped.value.__cause__) is ZeroDivisionError
    assert stopped.value.__cause__.__traceback__ is not None
    assert len(stopped.value.result.rows) >= 1
    assert run(Works(), evaluators=[Misjudges()], max_errors=0, **settings).rows


def test_a_score_that_an_evaluator_says_is_missing_is_no_failure():
    """It has done its work."""

    class Declines:
        name = "declines"

        def score(self, original, processed):
            raise MissingScoreError("there is nothing to compare")

    class Works:
        name = "works"

        def process(self, example):
            return {"response": "x"}

    (row, *_) = run(Works(), evaluators=[Declines()], on_error="raise").rows
    assert row.missing == {"declines": "there is nothing to compare"}


def test_the_traceback_of_an_exception_is_sent_with_it_to_another_process():
    try:
        deep(0)
    except ZeroDivisionError as error:
        sent = pickle.loads(pickle.dumps(note_traceback(error)))
    assert "1 / n" in format_traceback(sent)
