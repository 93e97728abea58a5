"""The 25 checks: each takes a response and the instruction's parameters, and says yes or no.

They keep the semantics of the official checks, with plain text where those build regular
expressions from data, and in time that grows with the text's length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal

from cb_scorers.ifeval.languages import detected_language
from cb_scorers.ifeval.sentences import count_sentences
from cb_scorers.ifeval.words import count_capital_words, count_words

Relation = Literal["less than", "at least"]

CONSTRAINED_RESPONSES = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
"""The options of `constrained_response`, which every such prompt lists."""

_STAR_BULLET = re.compile(r"^[^\S\n]*\*[^*].*$", re.MULTILINE)
_DASH_BULLET = re.compile(r"^[^\S\n]*-", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*[^\n*]*\*")
_DOUBLE_HIGHLIGHT = re.compile(r"\*\*[^\n*]*\*\*")
_POSTSCRIPTS = {"P.S.": re.compile(r"p\.\s?s\."), "P.P.S": re.compile(r"p\.\s?p\.\s?s")}
_FENCES = ("```json", "```Json", "```JSON", "```")
_WORD_END = re.compile(r"[.,?!'\"]")


def _holds(count: int, relation: Relation, limit: int) -> bool:
    return count < limit if relation == "less than" else count >= limit


# keywords


def keywords_exist(response: str, keywords: Sequence[str]) -> bool:
    """Every keyword stands somewhere, also within a word, in any letter case."""
    return all(_occurrences(keyword, response) for keyword in keywords)


def keyword_frequency(response: str, keyword: str, frequency: int, relation: Relation) -> bool:
    """The keyword stands there often, or seldom, enough; parts of words count."""
    return _holds(_occurrences(keyword.strip(), response), relation, frequency)


def forbidden_words(response: str, forbidden_words: Sequence[str]) -> bool:
    """None of the words stands there as a word of its own."""
    return not any(
        re.search(rf"(?<!\w){re.escape(word)}(?!\w)", response, re.IGNORECASE)
        for word in forbidden_words
    )


def letter_frequency(
    response: str, letter: str, let_frequency: int, let_relation: Relation
) -> bool:
    """The character stands there often, or seldom, enough, in any letter case."""
    return _holds(response.lower().count(letter.lower()), let_relation, let_frequency)


def _occurrences(keyword: str, text: str) -> int:
    return len(re.findall(re.escape(keyword), text, re.IGNORECASE))


# language


def response_language(response: str, language: str) -> bool:
    """The response is in the language, or has nothing to tell a language by."""
    return detected_language(response) in (language, None)


# length_constraints


def number_sentences(response: str, num_sentences: int, relation: Relation) -> bool:
    """The response has enough, or few enough, sentences."""
    return _holds(count_sentences(response), relation, num_sentences)


def number_words(response: str, num_words: int, relation: Relation) -> bool:
    """The response has enough, or few enough, words."""
    return _holds(count_words(response), relation, num_words)


def number_paragraphs(response: str, num_paragraphs: int) -> bool:
    """Dividers `***` make just so many paragraphs, of which none is empty."""
    parts = re.split(r"\s?\*\*\*\s?", response)
    inner = parts[1:-1]
    outer = [parts[0], parts[-1]] if len(parts) > 1 else parts
    if not all(part.strip() for part in inner):
        return False
    return len(inner) + sum(bool(part.strip()) for part in outer) == num_paragraphs


def nth_paragraph_first_word(
    response: str, num_paragraphs: int, nth_paragraph: int, first_word: str
) -> bool:
    """Empty lines make just so many paragraphs, and the nth begins with the word."""
    paragraphs = response.split("\n\n")
    if sum(bool(paragraph.strip()) for paragraph in paragraphs) != num_paragraphs:
        return False
    if nth_paragraph > num_paragraphs or not (words := paragraphs[nth_paragraph - 1].split()):
        return False
    word = words[0].lstrip("'").lstrip('"')
    return _WORD_END.split(word, maxsplit=1)[0].lower() == first_word.lower()


# detectable_content


def number_placeholders(response: str, num_placeholders: int) -> bool:
    """There are at least so many placeholders in square brackets."""
    count = 0
    for line in response.split("\n"):
        opening = line.find("[")
        while opening >= 0 and (closing := line.find("]", opening)) >= 0:
            count += 1
            opening = line.find("[", closing)
    return count >= num_placeholders


def postscript(response: str, postscript_marker: str) -> bool:
    """The marker of a postscript stands somewhere, in any letter case."""
    marker = postscript_marker.strip()
    text = response.lower()
    pattern = _POSTSCRIPTS.get(marker)
    return bool(pattern.search(text)) if pattern else marker.lower() in text


# detectable_format


def number_bullet_lists(response: str, num_bullets: int) -> bool:
    """Just so many lines are bullet points, with a star or a dash."""
    found = len(_STAR_BULLET.findall(response)) + len(_DASH_BULLET.findall(response))
    return found == num_bullets


def constrained_response(response: str) -> bool:
    """One of the three given answers stands in the response."""
    return any(option in response for option in CONSTRAINED_RESPONSES)


def number_highlighted_sections(response: str, num_highlights: int) -> bool:
    """At least so many parts are marked `*like this*` or `**like this**`."""
    found = _HIGHLIGHT.findall(response) + _DOUBLE_HIGHLIGHT.findall(response)
    return sum(bool(part.strip("*").strip()) for part in found) >= num_highlights


def multiple_sections(response: str, section_spliter: str, num_sections: int) -> bool:
    """The heading word followed by a number stands there at least so often."""
    heading = rf"{re.escape(section_spliter.strip())}\s?\d+"
    return len(re.findall(heading, response)) >= num_sections


def json_format(response: str) -> bool:
    """The whole response is JSON, bare or in a code fence."""
    text = response.strip()
    for fence in _FENCES:
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip(), parse_int=str)
    except (ValueError, RecursionError):
        return False
    return True


def title(response: str) -> bool:
    """One line has a title in double angular brackets."""
    for line in response.split("\n"):
        opening, closing = line.find("<<"), line.rfind(">>")
        if 0 <= opening < closing - 2:
            inside = line[opening : closing + 2].lstrip("<").rstrip(">")
            if inside.strip():
                return True
    return False


# combination


def two_responses(response: str) -> bool:
    """Two different responses, separated by six stars."""
    parts = [part.strip() for part in response.split("******")]
    answers = [part for part in parts if part]
    return all(parts[1:-1]) and len(answers) == 2 and answers[0] != answers[1]


def repeat_prompt(response: str, prompt_to_repeat: str) -> bool:
    """The response begins with the request, word for word but for letter case."""
    return response.strip().lower().startswith(prompt_to_repeat.strip().lower())


# startend


def end_phrase(response: str, end_phrase: str) -> bool:
    """The response ends with the phrase; quotation marks after it do not count."""
    return response.strip().strip('"').lower().endswith(end_phrase.strip().lower())


def quotation(response: str) -> bool:
    """Double quotation marks enclose the response."""
    text = response.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


# change_case


def capital_word_frequency(
    response: str, capital_frequency: int, capital_relation: Relation
) -> bool:
    """Enough, or few enough, words are in capitals."""
    return _holds(count_capital_words(response), capital_relation, capital_frequency)


def english_capital(response: str) -> bool:
    """English, in capitals only."""
    return response.isupper() and response_language(response, "en")


def english_lowercase(response: str) -> bool:
    """English, without capitals."""
    return response.islower() and response_language(response, "en")


# punctuation


def no_comma(response: str) -> bool:
    """There is no comma."""
    return "," not in response
