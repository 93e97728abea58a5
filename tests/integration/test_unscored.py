"""Rows without the score that quality means: each has its reason, and a run of them its code."""

from __future__ import annotations

import json

import pytest

from cbcore import MissingScoreError, evaluate
from tests.fake_distributions import SYSTEM, Workplace

GOLD = {"id": 1, "context": "Bern.", "question": "Which?", "gold": "Bern"}
SCORE = """
class Breaks:
    name = "breaks"
    emits = ("worth",)

    def score(self, original, processed):
        return {"worth": 1 / len(original["answer"][:0])}


class Silent:
    name = "silent"

    def score(self, original, processed):
        return {"worth": 1.0}


class Counted:
    name = "counted"

    def __init__(self, score_field="f1"):
        self.score_field = score_field

    def compute(self, rows):
        return {}

    def section(self, rows_by_system, config):
        from cbcore.results import Section

        return Section("Rows", [{"name": "all", "rows": 20}], columns={"rows": "rows"})
"""


class Says:
    name = "says"

    def process(self, example):
        return {"response": "Bern"}


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    workplace.write("says.py", SYSTEM.format(name="says"))
    workplace.write("mine.py", SCORE)
    return workplace


def run(place: Workplace, *rows, **options):
    place.write("data.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    return place.cb("run", "-s", "py:./says.py:System", "-d", "data.jsonl", *flags)


# -- in the rows -------------------------------------------------------------------------------


def test_the_suggestion_works(place):
    """As it is printed."""
    told = run(place, GOLD).stderr
    field = told.partition("Say it with --field ")[2].split()[0]
    assert field == "answer=gold"
    assert run(place, GOLD, field=field).returncode == 0


def test_only_the_main_score_needs_a_reason():
    """Evaluators that do not apply to a row say nothing of it, as before."""
    (row,) = evaluate([Says()], "hotpotqa:sample", max_examples=1, progress=False).rows
    assert row.missing == {}
    assert "context_precision" not in row.scores


def test_a_dataset_that_is_judged_by_something_else_says_so():
    """Two datasets, and a score that belongs to one."""
    result = evaluate(
        [Says()],
        ["hotpotqa:sample", "mmlu:sample"],
        score_field="mc_accuracy",
        max_examples=1,
        progress=False,
    )
    reasons = [row.missing.get("mc_accuracy") for row in result.rows]
    assert reasons[0] == "no evaluator of the dataset emits 'mc_accuracy'"


def test_a_reason_that_was_given_is_kept():
    """It is the evaluator's to say."""

    class Never:
        name = "never"
        emits = ("worth",)

        def score(self, original, processed):
            raise MissingScoreError("not today")

    (row,) = evaluate([Says()], [GOLD], [Never()], progress=False).rows
    assert row.missing == {"worth": "not today"}


# -- how a run ends ----------------------------------------------------------------------------


def test_a_run_without_one_score_says_why_and_has_a_code_of_its_own(place):
    """Table, JSON and standard error give the reason; each is told once, with its count."""
    rows = (GOLD, {**GOLD, "id": 2}, {"id": 3, "context": "x"})
    done = run(place, *rows, output="table")
    assert done.returncode == 7
    assert "cb: error: not one of 3 rows has a score 'f1'\n2 × the example has no" in done.stderr
    assert "1 × the example has no 'answer' (it has context, id)" in done.stderr
    assert "f1 is missing in 2 rows: the example has no 'answer'" in " ".join(done.stdout.split())
    done = run(place, *rows, output="json")
    assert "did you mean 'gold'?" in json.loads(done.stdout)["rows"][0]["missing"]["f1"]


def test_an_evaluator_that_always_fails_scores_nothing(place):
    """Its error is the reason."""
    done = run(place, {**GOLD, "answer": "x"}, evaluator="py:./mine.py:Breaks", output="csv")
    assert done.returncode == 7
    assert "1 × the evaluator failed: ZeroDivisionError: division by zero" in done.stderr


def test_one_score_is_enough(place):
    """The others are missing, with their reason, in a run that is done."""
    assert run(place, GOLD, {**GOLD, "id": 2, "answer": "Bern"}).returncode == 0


def test_a_table_without_scores_does_not_stand_for_the_missing_score(place):
    """Only sections with scores of their own, such as those of suites, do."""
    data = ("-s", "identity", "-d", "hotpotqa:sample", "-n", "2")
    done = place.cb("run", *data, "-m", "py:./mine.py:Counted")
    assert "Rows" in done.stdout
    assert done.returncode == 7
    assert "not one of 2 rows has a score 'f1'" in done.stderr


def test_all_errored_stays_what_it_was(place):
    """Nothing was measured, so nothing could be scored."""
    place.write("says.py", "class System:\n name = 'says'\n def process(self, e): 1 / 0")
    done = run(place, {"id": 1, "context": "x"})
    assert done.returncode == 4
    assert "every row errored" in done.stderr


def test_errors_count_among_the_reasons(place):
    """What errored has no score either."""
    done = run(place, GOLD, {"id": 2, "answer": "x"})
    assert done.returncode == 7
    assert "1 × example 2 has neither 'context' nor 'question'" in done.stderr


def test_an_evaluator_that_does_not_say_what_it_emits_may_emit_something_else(place):
    """There are scores; which of them is quality, nobody said."""
    done = run(place, {**GOLD, "answer": "x"}, evaluator="py:./mine.py:Silent")
    assert done.returncode == 0


def test_who_asks_for_no_score_misses_none(place):
    """A compressor may be measured by what it saves."""
    assert run(place, GOLD, metric="compression_ratio").returncode == 0


# -- ids ---------------------------------------------------------------------------------------


def test_an_id_that_comes_twice_stops_the_run_and_keeps_what_is_done(place):
    """A file is read as the run goes: the rows before it are reported."""
    rows = [{**GOLD, "id": i, "answer": "word"} for i in ("a", "b", "c", "b")]
    done = run(place, *rows, output="json")
    assert done.returncode == 4
    assert "Dataset 'data' has an id more than once: 'b' (at positions 1 and 3)" in done.stderr
    assert "3 finished rows are kept" in done.stderr
    assert [row["example_id"] for row in json.loads(done.stdout)["rows"]] == ["a", "b", "c"]


def test_an_id_that_comes_twice_in_a_list_is_found_before_the_first_call():
    """The data is at hand, so nothing is spent on it."""
    from cbcore.exceptions import RunStoppedError

    class Counts(Says):
        called = 0

        def process(self, example):
            self.called += 1
            return super().process(example)

    system = Counts()
    with pytest.raises(RunStoppedError, match=r"an id more than once: 1 \(at positions 0 and 1\)"):
        evaluate([system], [GOLD, GOLD], progress=False)
    assert system.called == 0
    assert evaluate([system], [GOLD, GOLD], max_examples=1, progress=False).rows
