"""The table of instruction types: for each its check and the parameters it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from cb_scorers.ifeval import checks
from cb_scorers.ifeval.languages import languages
from cbcore.exceptions import DataError, MissingScoreError
from cbcore.names import hint

RELATIONS = ("less than", "at least")


class UnknownInstructionError(DataError):
    """An example names an instruction type that IFEval does not have."""

    def __init__(self, instruction_id: str) -> None:
        super().__init__(
            f"{instruction_id!r} is not one of the {len(INSTRUCTIONS)} instruction types of IFEval"
            + hint(instruction_id, INSTRUCTIONS, "", lead="; ", shown=repr)
        )
        self.instruction_id = instruction_id


def _count(value: Any) -> int:
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError("a whole number, 0 or more")
    return number


def _position(value: Any) -> int:
    number = _count(value)
    if number == 0:
        raise ValueError("a whole number, 1 or more")
    return number


def _relation(value: Any) -> str:
    if value not in RELATIONS:
        raise ValueError(" or ".join(map(repr, RELATIONS)))
    return str(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("a list of texts")
    return tuple(map(_text, value))


def _character(value: Any) -> str:
    if not isinstance(value, str) or len(value.strip()) != 1:
        raise ValueError("a single character")
    return value.strip()


def _language(value: Any) -> str:
    if not isinstance(value, str) or value not in languages():
        raise ValueError("the code of a language that can be detected, such as 'en'")
    return value


@attrs.frozen
class Instruction:
    """One type of instruction: how a response is checked, and the parameters that takes."""

    check: Callable[..., bool]
    parameters: Mapping[str, Callable[[Any], Any]] = attrs.Factory(dict)

    def arguments(self, instruction_id: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of one example, checked; those that are null count as not given.

        Raises `MissingScoreError` for one that is lacking, unusable or not known.
        """
        present = {name: value for name, value in given.items() if value is not None}
        for name in present:
            if name not in self.parameters:
                raise MissingScoreError(f"the instruction {instruction_id!r} takes no {name!r}")
        arguments = {}
        for name, read in self.parameters.items():
            if name not in present:
                raise MissingScoreError(
                    f"the instruction {instruction_id!r} needs {name!r}, which the example lacks"
                )
            try:
                arguments[name] = read(present[name])
            except ValueError as error:
                raise MissingScoreError(
                    f"{name!r} of the instruction {instruction_id!r} is {present[name]!r},"
                    f" not {error}"
                ) from error
        return arguments


INSTRUCTIONS: Mapping[str, Instruction] = {
    "keywords:existence": Instruction(checks.keywords_exist, {"keywords": _texts}),
    "keywords:frequency": Instruction(
        checks.keyword_frequency, {"keyword": _text, "frequency": _count, "relation": _relation}
    ),
    "keywords:forbidden_words": Instruction(checks.forbidden_words, {"forbidden_words": _texts}),
    "keywords:letter_frequency": Instruction(
        checks.letter_frequency,
        {"letter": _character, "let_frequency": _count, "let_relation": _relation},
    ),
    "language:response_language": Instruction(checks.response_language, {"language": _language}),
    "length_constraints:number_sentences": Instruction(
        checks.number_sentences, {"num_sentences": _count, "relation": _relation}
    ),
    "length_constraints:number_paragraphs": Instruction(
        checks.number_paragraphs, {"num_paragraphs": _count}
    ),
    "length_constraints:number_words": Instruction(
        checks.number_words, {"num_words": _count, "relation": _relation}
    ),
    "length_constraints:nth_paragraph_first_word": Instruction(
        checks.nth_paragraph_first_word,
        {"num_paragraphs": _count, "nth_paragraph": _position, "first_word": _text},
    ),
    "detectable_content:number_placeholders": Instruction(
        checks.number_placeholders, {"num_placeholders": _count}
    ),
    "detectable_content:postscript": Instruction(checks.postscript, {"postscript_marker": _text}),
    "detectable_format:number_bullet_lists": Instruction(
        checks.number_bullet_lists, {"num_bullets": _count}
    ),
    "detectable_format:constrained_response": Instruction(checks.constrained_response),
    "detectable_format:number_highlighted_sections": Instruction(
        checks.number_highlighted_sections, {"num_highlights": _count}
    ),
    "detectable_format:multiple_sections": Instruction(
        checks.multiple_sections, {"section_spliter": _text, "num_sections": _count}
    ),
    "detectable_format:json_format": Instruction(checks.json_format),
    "detectable_format:title": Instruction(checks.title),
    "combination:two_responses": Instruction(checks.two_responses),
    "combination:repeat_prompt": Instruction(checks.repeat_prompt, {"prompt_to_repeat": _text}),
    "startend:end_checker": Instruction(checks.end_phrase, {"end_phrase": _text}),
    "startend:quotation": Instruction(checks.quotation),
    "change_case:capital_word_frequency": Instruction(
        checks.capital_word_frequency,
        {"capital_frequency": _count, "capital_relation": _relation},
    ),
    "change_case:english_capital": Instruction(checks.english_capital),
    "change_case:english_lowercase": Instruction(checks.english_lowercase),
    "punctuation:no_comma": Instruction(checks.no_comma),
}
"""The 25 official types, by the name an example gives in `instruction_id_list`."""
