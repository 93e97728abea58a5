"""An evaluator of the user's own: what quality means with it, and when an installed one joins."""

from __future__ import annotations

import json

import pytest

from cbcore import evaluate
from cbcore.results import EvalResult
from tests.fake_distributions import Workplace, write_distribution

OWN = '''
class Length:
    """A name and a method, and nothing declared."""

    name = "length"

    def score(self, original, processed):
        return {"words": len(processed["response"].split()) / 10, "other": 1.0}
'''


class Length:
    name = "length"

    def score(self, original, processed):
        return {"words": len(processed["response"].split()) / 10, "other": 1.0}


class Words:
    name = "words"

    def process(self, example):
        return {"response": "two words"}


class Nothing:
    name = "nothing"

    def process(self, example):
        return {"response": ""}


EXAMPLES = [{"id": i, "context": "c", "question": "q?", "answer": "two"} for i in range(4)]


@pytest.fixture
def place(tmp_path):
    found = Workplace(tmp_path)
    (found.folder / "mine.py").write_text(OWN)
    lines = (json.dumps(example) + "\n" for example in EXAMPLES)
    (found.folder / "own.jsonl").write_text("".join(lines))
    return found


def test_quality_is_the_first_score_of_an_evaluator_that_declares_none():
    result = evaluate([Words(), Nothing()], EXAMPLES, evaluators=[Length()])
    assert result.config["score_field"] == "words"
    assert result.summary["words"]["mean_score"] == pytest.approx(0.2)
    assert [verdict.score for verdict in result.verdicts] == ["words", "words"]
    assert {m["params"].get("score_field", "words") for m in result.config["metrics"]} == {"words"}


class Half:
    """Scores every second example."""

    name = "half"

    def __init__(self, value=None):
        self.value = value

    def score(self, original, processed):
        return {"half": self.value if original["id"] % 2 == 0 else 0.5}


@pytest.mark.parametrize("evaluators", [[Half("high")], [Half(None), Length()]])
def test_the_first_evaluator_names_the_score_although_it_fails_on_the_first_row(evaluators):
    result = evaluate([Words()], EXAMPLES, evaluators=evaluators)
    assert result.config["score_field"] == "half"


def test_a_score_that_is_missing_everywhere_is_named():
    class Text:
        name = "text"

        def score(self, original, processed):
            return {"style": "high"}

    result = evaluate([Words()], EXAMPLES, evaluators=[Text()])
    assert result.config["score_field"] == "style"
    assert [verdict.outcome for verdict in result.verdicts] == ["not measured"]


def test_a_score_that_was_asked_for_stays_what_quality_means():
    result = evaluate([Words()], EXAMPLES, evaluators=[Length()], score_field="other")
    assert (result.config["score_field"], result.summary["words"]["mean_score"]) == ("other", 1.0)


def test_a_declared_f1_is_what_quality_means_beside_scores_that_are_not_declared():
    result = evaluate([Words()], EXAMPLES, evaluators=[Length(), "answer_quality"])
    assert result.config["score_field"] == "f1"


@pytest.mark.parametrize("data", ["own.jsonl", "hotpotqa:sample"])
def test_the_command_line_shows_it(place, data):
    """Also from the rows of a run that is stored."""
    command = ("run", "-d", data, "-s", "identity | extractive", "-e", "py:./mine.py:Length")
    for _ in range(2):
        done = place.cb(*command, "-n", "3", "-o", "table", "-o", "json=r.json")
        assert done.returncode == 0, done.stderr
        assert "quality (words)" in done.stdout
        result = EvalResult.load(place.folder / "r.json")
        assert result.summary["identity | extractive"]["mean_score"] is not None


def test_an_evaluator_that_a_hook_offers_is_shown_too(place):
    offered = """
from cbcore import Component, hookimpl


@hookimpl
def cb_evaluators():
    return [Component("evaluator", "length", "offered:Length")]
"""
    write_distribution(
        place.site,
        "cb-offered",
        {"cb.plugins": {"offered": "offered"}},
        {"offered.py": offered + OWN},
    )
    done = place.cb("run", "-d", "own.jsonl", "-s", "identity | extractive", "-e", "length")
    assert done.returncode == 0, done.stderr
    assert "quality (words)" in done.stdout


GUEST = '''
class Guest:
    """Applies to question answering, as many do."""

    name = "guest"
    emits = ("guest_score",)
    applies_to = ("qa",)

    def score(self, original, processed):
        return {"guest_score": 0.5}
'''
ASK = (
    "run",
    "-d",
    "hotpotqa:sample",
    "-n",
    "2",
    "-s",
    "identity | extractive",
    "-o",
    "json=r.json",
)


def install_guest(place, source=GUEST, name="cb-guest", entries=None):
    entries = entries or {"cb.evaluators": {"guest": "guest_evaluator:Guest"}}
    write_distribution(place.site, name, entries, {"guest_evaluator.py": source})


def scores_of(place, *command, **environ):
    done = place.cb(*command, **environ)
    assert done.returncode == 0, done.stderr
    return set(EvalResult.load(place.folder / "r.json").rows[0].scores)


def test_an_evaluator_that_is_merely_installed_does_not_join_a_run(place):
    install_guest(place)
    before = scores_of(place, *ASK)
    assert "guest_score" not in before
    assert "f1" in before
    assert scores_of(place, *ASK, "-e", "guest") == {"guest_score"}


def test_an_evaluator_joins_if_it_says_so(place):
    install_guest(place, GUEST.replace("emits", "automatic = True\n    emits"))
    assert "guest_score" in scores_of(place, *ASK)


@pytest.mark.parametrize("listed", ["guest", "cb-guest/guest"])
def test_the_user_can_let_an_evaluator_join(place, listed):
    install_guest(place)
    (place.folder / "pyproject.toml").write_text(
        f'[tool.cb]\nautomatic_evaluators = ["{listed}"]\n'
    )
    assert "guest_score" in scores_of(place, *ASK)


def test_the_environment_can_let_an_evaluator_join(place):
    install_guest(place)
    assert "guest_score" in scores_of(place, *ASK, CB_AUTOMATIC_EVALUATORS="guest")


def test_a_misspelled_evaluator_is_refused(place):
    install_guest(place)
    done = place.cb(*ASK, CB_AUTOMATIC_EVALUATORS="gest")
    assert done.returncode == 2
    assert "automatic_evaluators names 'gest', and no evaluator of that name" in done.stderr
    assert "guest" in done.stderr


LACKING = GUEST.replace("emits", "automatic = True\n    emits").replace(
    "    def score",
    """    def __init__(self):
        from cbcore.exceptions import MissingExtraError

        raise MissingExtraError("the evaluator 'guest'", "guestlib", "cb-guest[lib]")

    def score""",
)


@pytest.mark.parametrize("score", ["guest_score", "f1"])
def test_an_evaluator_that_lacks_a_package_is_left_out_unless_it_gives_the_main_score(place, score):
    install_guest(place, LACKING)
    data = DATA.format(main_score=f'main_score = "{score}"')
    entries = {"cb.datasets": {"riddles": "riddles_data:Riddles"}}
    write_distribution(place.site, "cb-riddles", entries, {"riddles_data.py": data})
    done = place.cb("run", "-d", "riddles", "-s", "identity | extractive", "-o", "json=r.json")
    assert (done.returncode == 0) is (score == "f1"), done.stderr
    assert "cb-guest[lib]" in done.stderr


DATA = """
class Riddles:
    name = "riddles"
    tasks = ("qa",)
    {main_score}

    def __iter__(self):
        yield {{"id": 1, "context": "c", "question": "q?", "answer": "two"}}
"""


@pytest.mark.parametrize("reason", ["main score", "distribution", "none"])
def test_an_evaluator_joins_on_the_data_it_was_made_for(place, reason):
    """It emits the score that the data is judged by, or comes with the data."""
    main_score = 'main_score = "guest_score"' if reason == "main score" else ""
    entries = {"cb.datasets": {"riddles": "riddles_data:Riddles"}}
    modules = {"riddles_data.py": DATA.format(main_score=main_score)}
    if reason == "distribution":
        entries["cb.evaluators"] = {"guest": "guest_evaluator:Guest"}
        modules["guest_evaluator.py"] = GUEST
    else:
        install_guest(place)
    write_distribution(place.site, "cb-riddles", entries, modules)
    ask = ("run", "-d", "riddles", "-s", "identity | extractive", "-o", "json=r.json")
    assert ("guest_score" in scores_of(place, *ask)) is (reason != "none")
