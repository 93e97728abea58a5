"""Which choice, or which text, a response means."""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

from cb_suites.engine.prompts import LABELS

_BEFORE = "\"'`*_([{ "
_BEHIND = "\"'`*_)]}.,;:!? "
"""Marks that may stand around an answer without belonging to it."""
_NAMED = re.compile(
    r"answer(?:\s+is\b|\s*:)|(?:答案|答え|정답)(?:是|为|為|は|은)?|(?:故|应|應)[选選]",
    re.IGNORECASE,
)
_SHORT_WORDS = 30
"""In a longer response the only choice that occurs is one of many that might have."""
_NEW_QUESTION = re.compile(
    r"^[^\S\n]*(?:question|problem|q)\b[^\S\n]*\d*[^\S\n]*[:.]", re.IGNORECASE | re.MULTILINE
)


@attrs.frozen
class Reading:
    """What a response says: the answer as text, and the choice it names, if it names one."""

    text: str
    choice: str | None = None

    @classmethod
    def of(cls, index: int | None, choices: Sequence[str], text: str) -> Reading:
        """A reading of the choice at `index`; without one, the text as it is."""
        return cls(text) if index is None else cls(choices[index], choices[index])


def normalized(text: str) -> str:
    """Case, spacing and the marks around an answer do not make it another one."""
    return _without_marks(text).casefold()


def read_choice(response: str, choices: Sequence[str]) -> int | None:
    """The choice a response names by its letter or by its text; None where it cannot be told.

    In order: a letter that is the whole answer or opens it (`B`, `(B)`, `B. Paris`), the text
    of a choice that is the whole answer, what is named after "answer is" or "answer:", and in a
    short response the only text of a choice that occurs, and the only letter in parentheses or
    standing alone.
    Several letters at once ("(A) and (B)") name none.
    """
    letters = LABELS[: len(choices)]
    if not letters:
        return None
    by_text = _whole(response, choices)
    opening = _opening(response, letters)
    if opening is not None:
        return opening
    if by_text is not None:
        return by_text
    named = _line_after(_NAMED, response)
    found = read_choice(named, choices) if named else None
    if found is not None or _opens_with_several(named or response, letters):
        return found
    if len(response.split(maxsplit=_SHORT_WORDS)) > _SHORT_WORDS:
        return None
    mentioned = _mentioned(response, choices)
    if len(mentioned) == 1:
        return mentioned[0]
    bracketed = set(re.findall(rf"\(([{letters}])\)", response))
    alone = _standing_alone(response, letters)
    for found_letters in (bracketed, alone):
        if len(found_letters) == 1:
            return letters.index(found_letters.pop())
    return None


def read_choice_text(response: str, choices: Sequence[str]) -> int | None:
    """The choice whose text is the response, or the only one that occurs in it."""
    whole = _whole(response, choices)
    if whole is not None:
        return whole
    mentioned = _mentioned(response, choices)
    return mentioned[0] if len(mentioned) == 1 else None


def after_marker(response: str, marker: str) -> str:
    """The line after the last marker, without the marks around it; else the whole response.

    Markers after a question that the response itself adds to its answer do not count.
    """
    line = _line_after(re.compile(re.escape(marker), re.IGNORECASE), response) if marker else ""
    return _without_marks(line) or response.strip()


def _line_after(pattern: re.Pattern[str], text: str) -> str:
    """The line that follows the last match; empty where there is none.

    A model may answer and run on with a question of its own: a match before that one counts.
    """
    ends = [match.end() for match in pattern.finditer(text)]
    new = _NEW_QUESTION.search(text)
    own = [end for end in ends if new and end <= new.start()]
    end = max(own or ends, default=len(text))
    return text[end:].lstrip(" \t\r\n:").partition("\n")[0].strip()


def _without_marks(text: str) -> str:
    """The text without the marks around it; an answer that is all marks is left as it is."""
    # Stripped, not matched: a pattern anchored at the end is slow on long runs of spaces.
    spaced = " ".join(text.split())
    if not any(map(str.isalnum, spaced)):  # brackets, and then each of them counts
        return spaced.rstrip(". ").strip("\"'`* ") or spaced
    return spaced.lstrip(_BEFORE).rstrip(_BEHIND) or spaced


def _standing_alone(response: str, letters: str) -> set[str]:
    """Letters that are labels; not those of "Plan B", "12 J" and "G = 5"."""
    before = r"(?:is|be|option|choice|answer|letter|say|think|with|pick|choose|so|thus|but|\w+ly)"
    found = re.findall(
        rf"(?:^|[^\w\s]\s*|\b{before}\s+)([{letters}])\b(?!'|\s*=)", response, re.MULTILINE
    )
    return set(found) - {"A", "I"}  # which are words too; alone in a sentence they say nothing


def _opens_with_several(response: str, letters: str) -> bool:
    label = rf"[(\[]?[{letters}][)\].]*"
    text = response.strip().lstrip("*_`\"'")
    return bool(re.match(rf"(?:[Bb]oth\s+)?{label}\s*(?:,|/|&|and\b|or\b)\s*{label}(?!\w)", text))


def _opening(response: str, letters: str) -> int | None:
    """A letter that is the answer, or stands before it as a choice's label does."""
    if _opens_with_several(response, letters):
        return None
    text = response.strip().lstrip("*_`\"'")
    match = re.match(
        rf"\(([{letters}])\)|\[([{letters}])\]"
        # "A: Let's see" answers "Q: …" and names no choice
        rf"|(?!A: (?:Let|We)\b)([{letters}])(?=[.):*。]|\s*\Z|\s*\n)",
        text,
    )
    if match is None:
        lone = normalized(response)
        return letters.index(lone.upper()) if len(lone) == 1 and lone.upper() in letters else None
    return letters.index(next(filter(None, match.groups())))


def _whole(response: str, choices: Sequence[str]) -> int | None:
    answer = normalized(response)
    fitting = [i for i, choice in enumerate(choices) if normalized(choice) == answer]
    return fitting[0] if answer and fitting else None


def _mentioned(response: str, choices: Sequence[str]) -> list[int]:
    """The choices whose text occurs; one that occurs only inside a longer one does not count."""
    left = f" {normalized(response)} "
    found = []
    for index in sorted(range(len(choices)), key=lambda i: -len(choices[i])):
        text = normalized(choices[index])
        if len(text) < 2:
            continue  # a letter or a digit is found everywhere
        replaced = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", "\0", left)
        if replaced != left:
            left = replaced
            found.append(index)
    return sorted(found)
