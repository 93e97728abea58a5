"""Which part of a response answers the question that was asked.

Base models answer and then run on: they invent a further question, and answer that too. Others
answer the worked examples of the prompt first, and the question last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cb_scorers.multiple_choice.reading import folded, plain

_NEW_QUESTION = re.compile(
    r"^[^\S\n]*(?:(?:next|new|another)\s+)?(?:question|problem|exercise)\b[^\S\n]*"
    r"(?:[:.]|(?:no\.?\s*|#)?\d+[^\S\n]*(?:[:.)]|$))"
    r"|^[^\S\n]*(?:q(?:\d+)?|human|user|问题|题目|問題)[^\S\n]*[:.]"
    r"|(?<=[.!?)])[^\S\n]+question(?:\s+\d+)?:",
    re.IGNORECASE | re.MULTILINE,
)
_OPTIONS = re.compile(r"\n\s*(?:(?:options|choices)\b|[(\[]?A[.:)\]])", re.IGNORECASE)
_LEAST, _MOST = 20, 200
"""How many characters at the end of a question tell it from others; many begin alike."""
_FEW_WORDS = 12
"""How long an introduction may be; what is longer is an answer, if an unfinished one."""


def parts(text: str, question: str, choices: Iterable[str]) -> Iterator[str]:
    """The parts of a plain text that may hold the answer; the first that gives one counts.

    Where the text has questions of its own, they are what follows the last repetition of the
    question that was asked, with its choices, and what stands before the first. A text that begins
    with a question, perhaps after a few words, goes through several: the whole of it is the last
    part.
    """
    new = _NEW_QUESTION.search(text)
    if new is None:
        yield text
        return
    repeated = _after_question(text, question)
    # Questions of one kind may be worded alike; their choices tell them apart.
    if all(folded(choice) in folded(repeated) for choice in choices):
        yield repeated
    own = text[: new.start()]
    yield own
    if len(own.split()) <= _FEW_WORDS:
        yield text


def _after_question(text: str, question: str) -> str:
    """What follows the last repetition of the question, up to the next one."""
    end = " ".join(_OPTIONS.split(plain(question), maxsplit=1)[0].split())[-_MOST:]
    if len(end) < _LEAST:
        return ""
    pattern = r"\s+".join(map(re.escape, end.split()))
    found = list(re.finditer(pattern, text, re.IGNORECASE))
    after = text[found[-1].end() :] if found else ""
    return _NEW_QUESTION.split(after, maxsplit=1)[0]
