"""Reading verdicts: what counts as one, and that nothing else does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_llm_judge import BINARY, PREFERENCE, JudgeError, rating_form, read_reply

SCALE = rating_form(1, 5)


@pytest.mark.parametrize(
    "reply",
    [
        '{"score": 4, "reason": "ok"}',
        '{"reason": "ok", "score": 4}',
        '{"Score": "4", "reason": "ok"}',
        '{"score": 4.0}',
        '{"score": "4/5"}',
        '{"result": {"score": 4, "reason": "ok"}}',
        '```json\n{"score": 4}\n```',
        'Sure! {"score": 4, "reason": "has {braces} and 2/5"} Anything else?',
        '{"score": 4} I repeat: {"score": 4}',
        '<think>maybe {"score": 1}</think>{"score": 4}',
        '{"score": 4, "reason": "it was cut he',
        '{"score": "4", "rea',
        "4",
        "4.",
        "**4**",
        "4/5",
        "4 out of 5",
        "4\nThe response is nearly right.",
        "Score: 4",
        "score = 4",
        "**Score:** 4/5",
        "Rating: 4 out of 5",
        "Score (1-5): 4",
        "The response deserves a score of 4.",
        "I would give this 4/5.",
        "## Score\n4",
        "Score: 4. It covers 2/5 of the points.",
    ],
)
def test_a_score_is_found_in_every_form_it_is_commonly_given(reply):
    """JSON with anything around it, JSON cut short after the verdict, labels and bare values."""
    assert read_reply(reply, SCALE).value == 4


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("<think>still thinking about 4/5", "empty"),
        ("The answer is fine.", "holds no score"),
        ("1. It is short.\n2. It is wrong.", "holds no score"),
        ("It covers 2/5 of the points.", "holds no score"),
        ("Score: 4-5", "holds no score"),
        ('{"score": 4', "holds no score"),
        ('{"sco', "holds no score"),
        ('{"points": 4}', "holds no score"),
        ('{"score": 7}', "7 is not between 1 and 5"),
        ('{"score": 0}', "0 is not between 1 and 5"),
        ('{"score": -4}', "-4 is not between 1 and 5"),
        ('{"score": 4.5}', "4.5 is not a whole number"),
        ('{"score": true}', "True is not a whole number"),
        ('{"score": null}', "None is not a whole number"),
        ('{"score": [4]}', "[4] is not a whole number"),
        ('{"score": "high"}', "'high' is not a whole number"),
        ('{"score": NaN}', "nan is not a whole number"),
        ('{"score": "4/10"}', "another scale"),
        ("Score: 4/10", "another scale"),
        ("Score: 45", "45 is not between"),
        ("Score: 4.5", "4.5' is not a whole number"),
        ("Score: 2, or rather score: 4", "more than one score: 2, 4"),
        ('{"score": 1} {"score": 5}', "more than one score: 1, 5"),
        ('{"score": 1, "score": 5}', "more than one score: 1, 5"),
        ("It says 2/5 and 4/5", "more than one score: 2, 4"),
    ],
)
def test_what_is_no_single_score_on_the_scale_is_refused_with_the_reason(reply, reason):
    """Nothing is rounded, clipped, or chosen among several."""
    with pytest.raises(JudgeError, match="judge's") as caught:
        read_reply(reply, SCALE)
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('{"verdict": 1, "reason": "x"}', 1),
        ('{"verdict": 0, "reason": "x"}', 0),
        ('{"verdict": true}', 1),
        ('{"verdict": "no"}', 0),
        ("Verdict: 1", 1),
        ("yes", 1),
        ("No.", 0),
    ],
)
def test_a_binary_verdict_is_0_or_1(reply, verdict):
    assert read_reply(reply, BINARY).value == verdict


@pytest.mark.parametrize("reply", ['{"verdict": 2}', '{"verdict": 0.5}', "Verdict: 10", "maybe"])
def test_any_other_binary_verdict_is_refused(reply):
    with pytest.raises(JudgeError):
        read_reply(reply, BINARY)


@pytest.mark.parametrize(
    ("reply", "winner"),
    [
        ('{"winner": "A"}', "A"),
        ('{"winner": "b", "reason": "x"}', "B"),
        ("Winner: tie", "tie"),
        ("[[A]]", "A"),
        ("[[C]]", "tie"),
        ("B", "B"),
    ],
)
def test_a_preference_is_a_b_or_tie(reply, winner):
    """MT-Bench's brackets, where C stands for a tie, count too."""
    assert read_reply(reply, PREFERENCE).value == winner


@pytest.mark.parametrize("reply", ["A good response.", '{"winner": "both"}', "Winner: C"])
def test_any_other_preference_is_refused(reply):
    with pytest.raises(JudgeError):
        read_reply(reply, PREFERENCE)


def test_the_reason_is_kept_also_when_it_was_cut():
    assert read_reply('{"score": 2, "reason": "Too long."}', SCALE).reason == "Too long."
    assert read_reply('{"score": 2, "reason": "Too lo', SCALE).reason == "Too lo"
    assert read_reply("Score: 2\nToo long.", SCALE).reason == "Score: 2\nToo long."


@given(st.text())
def test_any_text_gives_a_score_on_the_scale_or_a_judge_error(text):
    try:
        value = read_reply(text, SCALE).value
    except JudgeError:
        return
    assert value in range(1, 6)


@given(st.integers(1, 5), st.text(), st.text(alphabet=st.characters(exclude_characters="{<")))
def test_json_is_read_whatever_the_reason_and_the_text_before_it(score, reason, before):
    reply = before[:5000] + json.dumps({"score": score, "reason": reason})
    assert read_reply(reply, SCALE).value == score


@pytest.mark.parametrize("reply", ["{" * 50_000, '{"a":' * 20_000, "[" * 50_000])
def test_endless_nesting_is_refused_and_not_a_crash(reply):
    with pytest.raises(JudgeError):
        read_reply(reply, SCALE)
