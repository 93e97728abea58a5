"""What is known before the first call is told before it, and nothing is told twice."""

from __future__ import annotations

import pytest

from cb_answerquality import AnswerQuality
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from tests.fake_distributions import Workplace, write_distribution

DATA = [{"id": i, "context": "x", "answer": "word"} for i in range(3)]


DEEP: list = []
for _ in range(200):
    DEEP = [DEEP]


@pytest.fixture
def told():
    """Warnings, and calls of the system, in the order they came."""
    return []


class Paid:
    """Notes its calls, and cannot be identified, as what it is made of is nested too deeply."""

    name = "paid"

    def __init__(self, told):
        self._told = told
        self.deep = DEEP

    def process(self, example):
        self._told.append("called")
        return {"response": "word"}


class Judge:
    name = "judge"
    emits = ("worth",)
    applies_to = ("*",)

    def __init__(self):
        self.deep = DEEP

    def score(self, original, processed):
        return {"worth": 1.0}


def run(told, request):
    return compose(request, warn=told.append).run()


def warnings_before_the_first_call(told):
    return told[: told.index("called")]


def test_what_is_not_stored_is_told_before_the_first_call(told, tmp_path):
    """Systems first: then it can still be stopped for nothing."""
    request = RunSettings(systems=[Paid(told)], datasets=[DATA], cache_dir=tmp_path)
    run(told, request)
    (text,) = warnings_before_the_first_call(told)
    assert text.startswith("Nothing of 'paid' is reused")


def test_evaluators_that_are_not_stored_are_told_before_the_first_call(told, tmp_path):
    """They cost money too, where they are judges."""

    class Free(Paid):
        identity = "free"

    evaluators = [AnswerQuality(), Judge()]
    request = RunSettings(
        systems=[Free(told)], datasets=[DATA], evaluators=evaluators, cache_dir=tmp_path
    )
    run(told, request)
    (text,) = warnings_before_the_first_call(told)
    assert text.startswith("Nothing of 'judge' is reused")


def test_a_budget_that_cannot_be_kept_is_told_before_the_first_call(told):
    """A system that has no prices may report costs, or not."""
    run(told, RunSettings(systems=[Paid(told)], datasets=[DATA], budget_usd=1.0))
    (text,) = warnings_before_the_first_call(told)
    assert "'paid' declares no price" in text


def test_no_warning_is_told_twice_and_a_request_may_be_used_again(told, tmp_path):
    """Two datasets, two systems of one kind, one text each; the second run tells it anew."""
    systems = [Paid(told), Paid(told)]
    systems[1].name = "other"
    other = [{**example, "dataset": "other"} for example in DATA]
    request = RunSettings(systems=systems, datasets=[DATA, other], cache_dir=tmp_path)
    for _ in range(2):
        told.clear()
        run(told, request)
        texts = [text for text in told if text != "called"]
        assert len(texts) == len(set(texts)) == 2


def test_warnings_are_logged_at_once(told, capsys):
    """Without a listener they go to standard error, before the system prints anything."""

    class Prints(Paid):
        def process(self, example):
            import sys

            print("called", file=sys.stderr)
            return {"response": "word"}

    request = RunSettings(systems=[Prints(told)], datasets=[DATA], budget_usd=1.0, progress=False)
    compose(request).run()
    lines = capsys.readouterr().err.splitlines()
    assert "declares no price" in lines[0]
    assert lines[1:] == ["called"] * 3


def test_a_secret_that_is_written_out_is_told_first(workplace: Workplace) -> None:
    """Before the reports, and before what the system says."""
    source = (
        "import sys\n\nclass System:\n    name = 'asks'\n\n"
        "    def __init__(self, api_key: str = '') -> None:\n        self.api_key = api_key\n\n"
        "    def process(self, example):\n        print('called', file=sys.stderr)\n"
        "        return {'response': 'word'}\n"
    )
    write_distribution(
        workplace.site,
        "cb-asks",
        {"cb.systems": {"asks": "cb_asks:System"}},
        {"cb_asks.py": source},
    )
    workplace.write("data.jsonl", '{"id": 1, "context": "x", "answer": "word"}\n')
    done = workplace.cb("run", "-s", "asks:api_key=sk-long-1", "-d", "data.jsonl", "--no-cache")
    lines = done.stderr.splitlines()
    assert "api_key of asks is written out" in lines[0]
    assert lines[1:] == ["called"]
