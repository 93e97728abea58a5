"""The 25 instruction types, each with responses that follow it and that do not.

The verdicts were made by hand and agree with those of lm-eval 0.4.13's `tasks/ifeval`, but for
the rows whose comment says otherwise.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cb_scorers.ifeval import INSTRUCTIONS
from tests.tables import check_each

GERMAN = "Der Regen fiel den ganzen Tag auf die Stadt und niemand wollte nach draußen gehen."
ENGLISH = "The rain kept falling on the town all day long and nobody wanted to leave the house."

AT_LEAST, LESS_THAN = "at least", "less than"


def words(n: int, relation: str) -> dict[str, Any]:
    return {"num_words": n, "relation": relation}


def sentences(n: int, relation: str) -> dict[str, Any]:
    return {"num_sentences": n, "relation": relation}


def capitals(n: int, relation: str) -> dict[str, Any]:
    return {"capital_frequency": n, "capital_relation": relation}


def letter(char: str, n: int, relation: str) -> dict[str, Any]:
    return {"letter": char, "let_frequency": n, "let_relation": relation}


def keyword(text: str, n: int, relation: str) -> dict[str, Any]:
    return {"keyword": text, "frequency": n, "relation": relation}


def nth(n: int, position: int, word: str) -> dict[str, Any]:
    return {"num_paragraphs": n, "nth_paragraph": position, "first_word": word}


FOLLOWS: list[tuple[str, dict[str, Any], str, bool]] = [
    ("keywords:existence", {"keywords": ["rain", "sun"]}, "RAIN and sunshine", True),
    ("keywords:existence", {"keywords": ["rain", "sun"]}, "only rain", False),
    # Official: a regular expression, which "c++" is not.
    ("keywords:existence", {"keywords": ["c++"]}, "I write C++.", True),
    ("keywords:existence", {"keywords": ["a.c"]}, "abc", False),
    ("keywords:frequency", keyword("rain", 2, AT_LEAST), "rain, Rainbow", True),
    ("keywords:frequency", keyword("rain", 2, AT_LEAST), "rain", False),
    ("keywords:frequency", keyword(" rain ", 2, LESS_THAN), "rain", True),
    ("keywords:frequency", keyword("rain", 2, LESS_THAN), "rain rain", False),
    ("keywords:forbidden_words", {"forbidden_words": ["rain", "sun"]}, "rainy sunday", True),
    ("keywords:forbidden_words", {"forbidden_words": ["rain", "sun"]}, "The SUN.", False),
    # Official: a word boundary before "#" asks for a letter there.
    ("keywords:forbidden_words", {"forbidden_words": ["#fun"]}, "so #fun", False),
    ("keywords:letter_frequency", letter("q", 2, AT_LEAST), "Queen q", True),
    ("keywords:letter_frequency", letter("q", 2, AT_LEAST), "Queen", False),
    ("keywords:letter_frequency", letter("q", 1, LESS_THAN), "none here", True),
    # Official: a random letter is counted in the place of "#" and "!".
    ("keywords:letter_frequency", letter("#", 2, AT_LEAST), "#a #b", True),
    ("keywords:letter_frequency", letter("!", 1, LESS_THAN), "a!", False),
    ("language:response_language", {"language": "de"}, GERMAN, True),
    ("language:response_language", {"language": "de"}, ENGLISH, False),
    ("language:response_language", {"language": "de"}, "123 !?", True),
    ("length_constraints:number_sentences", sentences(2, AT_LEAST), "One. Two.", True),
    ("length_constraints:number_sentences", sentences(2, AT_LEAST), "One, Mr. Miller.", False),
    ("length_constraints:number_sentences", sentences(2, LESS_THAN), "One.", True),
    ("length_constraints:number_sentences", sentences(2, LESS_THAN), "One? Two!", False),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n***\nb", True),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "***\na\n***\nb\n***", True),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n\nb", False),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a *** *** b", False),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 1}, "a", True),
    ("length_constraints:number_words", words(5, LESS_THAN), "just three words", True),
    ("length_constraints:number_words", words(5, LESS_THAN), "now there are six words here", False),
    ("length_constraints:number_words", words(3, AT_LEAST), "it's two", True),
    ("length_constraints:number_words", words(3, AT_LEAST), "well, two", False),
    ("length_constraints:nth_paragraph_first_word", nth(2, 2, "Rain"), "a\n\n'rain, b", True),
    ("length_constraints:nth_paragraph_first_word", nth(2, 2, "rain"), "a\n\n\"Rain's b\n\n", True),
    ("length_constraints:nth_paragraph_first_word", nth(2, 2, "rain"), "rain\n\nb", False),
    ("length_constraints:nth_paragraph_first_word", nth(2, 1, "a"), "a\n\nb\n\nc", False),
    ("length_constraints:nth_paragraph_first_word", nth(2, 2, "b"), "a\n\n\n\nb", False),
    ("length_constraints:nth_paragraph_first_word", nth(1, 2, "a"), "a", False),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[a] and [b]", True),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[a [b] c", False),
    ("detectable_content:number_placeholders", {"num_placeholders": 1}, "[a\nb]", False),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye.\np. s. more", True),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye. PS: more", False),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "P.P.S. more", True),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "P.S. more", False),
    ("detectable_content:postscript", {"postscript_marker": "PS:"}, "ps: more", True),
    ("detectable_format:number_bullet_lists", {"num_bullets": 3}, "* a\n- b\n  * c", True),
    ("detectable_format:number_bullet_lists", {"num_bullets": 3}, "* a\n- b\n** c", False),
    ("detectable_format:number_bullet_lists", {"num_bullets": 1}, "* a\n* b", False),
    ("detectable_format:number_bullet_lists", {"num_bullets": 1}, "*\n* b", True),
    ("detectable_format:constrained_response", {}, "Well. My answer is no.", True),
    ("detectable_format:constrained_response", {}, "my answer is no.", False),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a* *b c*", True),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a* * * **", False),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 1}, "**a**", True),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 1}, "*a\nb*", False),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
        "SECTION 1\na\nSECTION2 b",
        True,
    ),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
        "SECTION 1\na\nSection 2\nb",
        False,
    ),
    ("detectable_format:json_format", {}, '```json\n{"a": [1]}\n```', True),
    ("detectable_format:json_format", {}, '{"a": 1', False),
    ("detectable_format:json_format", {}, '"text"', True),
    ("detectable_format:json_format", {}, 'Sure: {"a": 1}', False),
    ("detectable_format:json_format", {}, "[" * 100_000, False),
    ("detectable_format:json_format", {}, "9" * 10_000, True),
    ("detectable_format:title", {}, "<<A day of rain>>\nIt fell.", True),
    ("detectable_format:title", {}, "<< >>", False),
    ("detectable_format:title", {}, "<<a\nb>>", False),
    ("detectable_format:title", {}, "<<>> <a>", False),
    ("combination:two_responses", {}, "one ****** two", True),
    ("combination:two_responses", {}, "******\none\n******\ntwo", True),
    ("combination:two_responses", {}, "one ****** one", False),
    ("combination:two_responses", {}, "one ****** ****** two", False),
    ("combination:two_responses", {}, "one *** two", False),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it. "}, " say it. Done", True),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it."}, "Sure. Say it.", False),
    ("startend:end_checker", {"end_phrase": "The end."}, 'So it was. "THE END."\n', True),
    ("startend:end_checker", {"end_phrase": "The end."}, "The end. Or not", False),
    ("startend:quotation", {}, ' "all of it" ', True),
    ("startend:quotation", {}, '"', False),
    ("startend:quotation", {}, "'all of it'", False),
    ("change_case:capital_word_frequency", capitals(2, AT_LEAST), "RAIN-COATS and SUN", True),
    ("change_case:capital_word_frequency", capitals(3, AT_LEAST), "RAIN-COATS and SUN", False),
    ("change_case:capital_word_frequency", capitals(2, LESS_THAN), "I sing", True),
    ("change_case:capital_word_frequency", capitals(2, LESS_THAN), "I DON'T", False),
    (
        "change_case:english_capital",
        {},
        "THIS IS WHAT THEY WERE THINKING OF WITH THEIR FRIENDS.",
        True,
    ),
    ("change_case:english_capital", {}, "Hello World", False),
    ("change_case:english_capital", {}, GERMAN.upper(), False),
    ("change_case:english_lowercase", {}, ENGLISH.lower(), True),
    ("change_case:english_lowercase", {}, ENGLISH, False),
    ("change_case:english_lowercase", {}, GERMAN.lower(), False),
    ("punctuation:no_comma", {}, "rain; then sun", True),
    ("punctuation:no_comma", {}, "rain, then sun", False),
]


@check_each(("instruction_id", "parameters", "response", "follows"), FOLLOWS)
def test_verdict(
    instruction_id: str, parameters: dict[str, Any], response: str, follows: bool
) -> None:
    """The response follows the instruction, or does not."""
    instruction = INSTRUCTIONS[instruction_id]
    arguments = instruction.arguments(instruction_id, parameters)
    assert instruction.check(response, **arguments) is follows


def test_the_table_is_of_every_type_in_both_verdicts() -> None:
    """All 25 official types, each once followed and once not."""
    assert len(INSTRUCTIONS) == 25
    seen = {(instruction_id, follows) for instruction_id, _, _, follows in FOLLOWS}
    assert seen == {(known, follows) for known in INSTRUCTIONS for follows in (True, False)}


RESPONSES = st.text(st.sampled_from("*-[]<>\"'.?!{}() \nA,1Pps`")) | st.text()


@given(st.sampled_from(FOLLOWS), RESPONSES)
def test_any_response_has_a_verdict(
    row: tuple[str, dict[str, Any], str, bool], response: str
) -> None:
    """No text makes a check fail, and the same text has the same verdict again."""
    instruction = INSTRUCTIONS[row[0]]
    arguments = instruction.arguments(row[0], row[1])
    verdict = instruction.check(response, **arguments)
    assert isinstance(verdict, bool)
    assert instruction.check(response, **arguments) is verdict
