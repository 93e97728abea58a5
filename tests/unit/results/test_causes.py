"""Why rows failed, grouped."""

from __future__ import annotations

import pytest

from cbcore.results import EvalRow
from cbcore.results.causes import causes_of


def errored(example_id, error, system="a", **metadata):
    return EvalRow(system, example_id, error=error, dataset="d", metadata=metadata)


def test_equal_reasons_are_one_cause_with_its_count_and_its_first_example():
    """The first row names it, and says where its code failed."""
    rows = [
        EvalRow("a", 0, scores={"f1": 1.0}),
        errored(1, "ValueError: no"),
        errored(2, "timed out after 5 s"),
        errored(3, "ValueError: no", "b", traceback="later"),
        errored(4, "ValueError: no", traceback="later"),
    ]
    first, second = causes_of(rows)
    assert (first.reason, first.count, first.systems) == ("ValueError: no", 3, {"a": 2, "b": 1})
    assert (first.system, first.dataset, first.example_id) == ("a", "d", 1)
    assert (second.reason, second.count) == ("timed out after 5 s", 1)


def test_a_cause_has_the_traceback_of_its_first_row():
    """It is what `-v`, `cb show` and the page print."""
    (cause,) = causes_of([errored(1, "E", traceback="File x"), errored(2, "E")])
    assert cause.traceback == "File x"


def test_what_differs_from_row_to_row_does_not_tell_reasons_apart():
    """The example, an address, a request's id, a time."""
    rows = [
        errored(
            i, f"KeyError: example {i!r} has no 'x' at 0x7f{i:04x} ({i}.25 s, req 0a1b2c3d-{i})"
        )
        for i in range(3)
    ]
    (cause,) = causes_of(rows)
    assert cause.count == 3


def test_the_id_of_the_row_does_not_tell_reasons_apart():
    """Wherever a reason has it, as a word; an id that is a number may be a status."""
    rows = [
        EvalRow("s", f"sample-{i}", error=f"ValueError: cannot take sample-{i}: too long")
        for i in range(3)
    ]
    (cause,) = causes_of(rows)
    assert (cause.count, cause.reason) == (3, "ValueError: cannot take sample-0: too long")
    words = [EvalRow("s", "cat", error="no category"), EvalRow("s", "x1", error="no category")]
    assert [cause.count for cause in causes_of(words)] == [2]
    statuses = [EvalRow("s", str(n), error=f"HTTP {n}") for n in (404, 503)]
    assert len(causes_of(statuses)) == 2


def test_the_status_of_an_endpoint_does():
    """Three digits are mostly a status: what is to be done differs with it."""
    assert len(causes_of([errored(1, "HTTP 429"), errored(2, "HTTP 500")])) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the text has 12 words, more than 8", "the text has 451 words, more than 8"),
        ("KeyError: 3", "KeyError: 17"),
        ("cannot parse line 7 (column 3)", "cannot parse line 62 (column 120)"),
        ("ingest failed at session 1 of 3", "ingest failed at session 2 of 30"),
    ],
)
def test_small_counts_do_not_tell_reasons_apart(one, other):
    """The same happened, to more or to less."""
    assert len(causes_of([errored(1, one), errored(2, other)])) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http_error: status 404: gone", "http_error: status 429: gone"),
        ("exited with code 1", "exited with code 137"),
        ("[Errno 2] no", "[Errno 13] no"),
        ("HTTP/1.1 500", "HTTP/1.1 502"),
        ("got 502", "got 404"),
        ("gpt-4 refused", "gpt-5 refused"),
        ("model3 failed", "model4 failed"),
    ],
)
def test_codes_and_names_do(one, other):
    """They say what happened, or to whom."""
    assert len(causes_of([errored(1, one), errored(2, other)])) == 2


def test_missing_scores_are_causes_too_for_one_score_or_for_all():
    """With the score that they lack."""
    rows = [EvalRow("a", 1, missing={"f1": "no answer", "judge": "no reply"})]
    assert [(c.kind, c.score, c.reason) for c in causes_of(rows)] == [
        ("missing", "f1", "no answer"),
        ("missing", "judge", "no reply"),
    ]
    assert [c.score for c in causes_of(rows, "judge")] == ["judge"]


def test_reasons_that_differ_beyond_what_reports_show_are_one():
    """A model may return a page of text, which an error then quotes."""
    rows = [errored(n, f"not JSON: {'word ' * 200}{'x' * n}") for n in range(1, 4)]
    (cause,) = causes_of(rows)
    assert (cause.count, cause.reason) == (3, rows[0].error)
