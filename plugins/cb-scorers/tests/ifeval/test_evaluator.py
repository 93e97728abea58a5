"""`IFEval`: strict and loose scores, and when there are none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_scorers.ifeval import IFEval, UnknownInstructionError, loose_variants
from cb_scorers.ifeval.languages import detected_language
from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Evaluator

NO_COMMA = ("punctuation:no_comma", {})
HELLO = ("keywords:existence", {"keywords": ["hello"]})
QUOTED = ("startend:quotation", {})
NULLS = {"num_words": None, "keywords": None, "postscript_marker": None}


def example(*instructions: tuple[str, Any]) -> dict[str, Any]:
    return {
        "instruction_id_list": [instruction_id for instruction_id, _ in instructions],
        "kwargs": [parameters for _, parameters in instructions],
    }


def at_least(n: int) -> tuple[str, dict[str, Any]]:
    return ("length_constraints:number_words", {"num_words": n, "relation": "at least"})


def scores(response: str, *instructions: tuple[str, Any]) -> tuple[float, ...]:
    found = IFEval().score(example(*instructions), {"response": response})
    assert tuple(found.scores) == IFEval.emits
    return tuple(found.scores.values())


def test_it_declares_what_it_emits() -> None:
    """Wired to instruction following, and only where an example has instructions."""
    evaluator = IFEval()
    assert isinstance(evaluator, Evaluator)
    assert evaluator.name == "ifeval"
    assert evaluator.applies_to == ("instruction-following",)
    assert evaluator.needs == ("instruction_id_list",)


@pytest.mark.parametrize(
    ("response", "instructions", "expected"),
    [
        ("hello, big world", (NO_COMMA, HELLO, at_least(3)), (0.0, 0.0, 2 / 3, 2 / 3)),
        ("hello big world", (NO_COMMA, HELLO, at_least(3)), (1.0, 1.0, 1.0, 1.0)),
        ("Sure, here it is:\nhello", (NO_COMMA, HELLO), (0.0, 1.0, 0.5, 1.0)),
        ('**"hello"**', (QUOTED,), (0.0, 1.0, 0.0, 1.0)),
        ('Sure:\n"hello"\nBye', (QUOTED,), (0.0, 1.0, 0.0, 1.0)),
        ('Sure:\n*"hello"*\nBye', (QUOTED,), (0.0, 1.0, 0.0, 1.0)),
        ("Sure, yes\nhello\nBye, all", (NO_COMMA, at_least(4)), (0.0, 1.0, 0.5, 1.0)),
        ("one\ntwo three, four\nfive", (NO_COMMA,), (0.0, 0.0, 0.0, 0.0)),
        ("", (NO_COMMA,), (0.0, 0.0, 0.0, 0.0)),
        (" \n", (NO_COMMA, HELLO), (0.0, 0.0, 0.0, 0.0)),
        ("so, so", (NO_COMMA,), (0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_strict_and_loose_scores(
    response: str, instructions: tuple[tuple[str, Any], ...], expected: tuple[float, ...]
) -> None:
    """Prompt strict and loose, then instruction strict and loose, worked by hand.

    Loosely, each instruction may be followed by another of the eight forms of the response.
    """
    assert scores(response, *instructions) == pytest.approx(expected)


def test_the_eight_forms_of_a_response() -> None:
    """Without first line, last line, both; with and without stars."""
    assert loose_variants("*a*\nb\n*c*") == [
        "*a*\nb\n*c*",
        "b\n*c*",
        "*a*\nb",
        "b",
        "a\nb\nc",
        "b\nc",
        "a\nb",
        "b",
    ]
    assert loose_variants("*a*") == ["*a*", "", "", "", "a", "", "", ""]


def test_the_details_name_what_was_followed() -> None:
    """One entry per instruction, so that accuracies over all instructions can be made."""
    found = IFEval().score(example(NO_COMMA, HELLO), {"response": "a, b\nhello"})
    assert found.details == {
        "followed": [
            {"instruction": "punctuation:no_comma", "strict": False, "loose": True},
            {"instruction": "keywords:existence", "strict": True, "loose": True},
        ]
    }


@pytest.mark.parametrize(
    "parameters",
    [
        {"postscript_marker": "P.S."},
        {"num_words": None, "keywords": None, "postscript_marker": "P.S."},
    ],
)
def test_null_parameters_count_as_absent(parameters: dict[str, Any]) -> None:
    """The hub's rows give every instruction every key, most of them null."""
    assert scores("Bye. P.S. more", ("detectable_content:postscript", parameters))[0] == 1.0


def test_whole_parameters_may_be_null_or_left_out() -> None:
    """An instruction without parameters needs none, and a whole float is a count."""
    assert scores("no commas", ("punctuation:no_comma", None), ("startend:quotation", NULLS)) == (
        0.0,
        0.0,
        0.5,
        0.5,
    )
    alone = {"instruction_id_list": ["punctuation:no_comma"]}
    assert IFEval().score(alone, {"response": "x"}).scores["ifeval_prompt_strict"] == 1.0
    floats = {"num_words": 2.0, "relation": "at least"}
    assert scores("two words", ("length_constraints:number_words", floats))[0] == 1.0


@pytest.mark.parametrize(
    ("instruction_id", "near"),
    [
        ("detectable_format:number_bullet_points", "number_bullet_lists"),
        ("keywords:existance", "keywords:existence"),
        ("nonsense", "25 instruction types"),
        (None, "'None' is not one of"),
    ],
)
def test_an_unknown_type_is_an_error(instruction_id: Any, near: str) -> None:
    """It is never taken as followed, and the nearest type is named."""
    with pytest.raises(UnknownInstructionError, match=near) as raised:
        IFEval().score(example(NO_COMMA, (instruction_id, {})), {"response": "x"})
    assert raised.value.instruction_id == str(instruction_id)
    assert raised.value.exit_code == 4


@pytest.mark.parametrize(
    ("original", "response", "reason"),
    [
        ({}, "x", "no list of instructions"),
        ({"instruction_id_list": []}, "x", "no list of instructions"),
        ({"instruction_id_list": "punctuation:no_comma"}, "x", "no list of instructions"),
        ({**example(NO_COMMA), "kwargs": []}, "x", "1 instructions, but `kwargs`"),
        ({**example(NO_COMMA), "kwargs": {}}, "x", "1 instructions, but `kwargs`"),
        (example(("punctuation:no_comma", "x")), "x", "is a str, not a dict"),
        (example(("length_constraints:number_words", NULLS)), "x", "needs 'num_words'"),
        (example(("punctuation:no_comma", {"num_words": 3})), "x", "takes no 'num_words'"),
        (example(at_least(-1)), "x", "is -1, not a whole number"),
        (example(("detectable_format:number_bullet_lists", {"num_bullets": True})), "x", "is True"),
        (example(("keywords:existence", {"keywords": "rain"})), "x", "not a list of texts"),
        (example(("keywords:existence", {"keywords": [""]})), "x", "not a text"),
        (example(("language:response_language", {"language": "xx"})), "x", "not the code"),
        (
            example(
                ("keywords:frequency", {"keyword": "a", "frequency": 1, "relation": "exactly"})
            ),
            "x",
            "not 'less than' or 'at least'",
        ),
        (
            example(("keywords:letter_frequency", {**NULLS, "letter": "ab", "let_frequency": 1})),
            "x",
            "not a single character",
        ),
        (
            example(
                (
                    "length_constraints:nth_paragraph_first_word",
                    {"num_paragraphs": 1, "nth_paragraph": 0, "first_word": "a"},
                )
            ),
            "x",
            "not a whole number, 1 or more",
        ),
        (example(NO_COMMA), None, "no response"),
        (example(NO_COMMA), ["x"], "response is a list"),
    ],
)
def test_no_score_without_data(original: dict[str, Any], response: Any, reason: str) -> None:
    """What cannot be checked is said to be missing: nothing is guessed, nothing passes."""
    with pytest.raises(MissingScoreError, match=reason):
        IFEval().score(original, {"response": response})


@given(st.text(st.sampled_from('a,*\n "hello')))
def test_loose_is_never_below_strict(response: str) -> None:
    """What is followed strictly is followed loosely, and a prompt needs all instructions."""
    prompt_strict, prompt_loose, strict, loose = scores(response, NO_COMMA, HELLO, QUOTED)
    assert prompt_strict <= prompt_loose
    assert strict <= loose
    assert prompt_strict == (strict == 1.0)
    assert prompt_loose == (loose == 1.0)


def test_a_language_is_the_same_in_every_thread() -> None:
    """Detection draws at random, from one seed: a doubtful text keeps its language."""
    texts = ["taco taco", "no bueno", "hi du", "la la la", "ok ja nein"] * 8
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(detected_language, texts)) == [detected_language(t) for t in texts]
