"""InfiniteBench's own scores: a rule for each of its tasks.

The definitions are those of `src/compute_scores.py` in the repository OpenBMB/InfiniteBench, for
one example, peculiarities included. Summaries are scored by `summarization_quality` (`rouge_lsum`). What that
script does for one model only, leaving out the first number of GPT-4 in `math_calc`, is not done.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Scores
from cbcore.scoring import golds_of, overlap_scores, response_of, squad_tokens

_CHINESE = (
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛"
    "〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."
)
_ANY_PUNCTUATION = str.maketrans("", "", string.punctuation + _CHINESE)
_DIGITS = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"\d+\.\d+|\d+")
_SPACED = str.maketrans(dict.fromkeys("\n:\"'.,?!{}", " "))
_SPACED_CODE = str.maketrans(dict.fromkeys("\n.`'\":", " "))
_SPACED_OPTION = str.maketrans(dict.fromkeys("\n`'\"-*", " "))
_SPACED_CHOICE = str.maketrans(dict.fromkeys("\n\"'.,?!{}", " "))
_SPACES = re.compile(" {2,}")

Golds = Sequence[str]


class InfiniteBenchScore:
    """The score of an InfiniteBench task as it was published: `infinitebench`.

    The example's `infinitebench_task` says which task it belongs to.
    """

    name = "infinitebench_score"
    emits = ("infinitebench",)
    applies_to = ("infinitebench",)
    automatic = True
    needs = ("infinitebench_task", "answer")
    reads = ("infinitebench_task", "answer", "answers", "answer_text", "response")

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The score. Raises `MissingScoreError` without a gold, a response or a known task."""
        task = original.get("infinitebench_task")
        rule = RULES.get(task) if isinstance(task, str) else None
        if rule is None:
            raise MissingScoreError(f"InfiniteBench has no rule for the task {task!r}")
        golds = golds_of(original)
        if "answer_text" in original:  # of a choice, its text and its letter
            golds = [str(original["answer_text"]), *golds]
        return {"infinitebench": float(rule(response_of(processed), golds))}


def key_value(response: str, golds: Golds) -> bool:
    """The value is one of the words."""
    words = response.translate(_SPACED).split()
    return any(gold in words for gold in golds)


def first_digits(response: str, golds: Golds) -> bool:
    """The first run of digits is the number, written alike."""
    found = _DIGITS.search(response)
    return found is not None and found.group() == golds[0]


def last_integer(response: str, golds: Golds) -> bool:
    """The last word is the number."""
    words = response.translate(_SPACED_CODE).split()
    return bool(words) and _integer(words[-1]) == _integer(golds[0]) is not None


def first_number(response: str, golds: Golds) -> bool:
    """The first number is the gold; a fraction is no whole number."""
    found = _NUMBER.search(response)
    whole = _integer(golds[0])
    if found is None:
        return False
    if whole is not None:
        return _integer(found.group()) == whole
    try:
        return float(found.group()) == float(golds[0])
    except ValueError as error:
        raise MissingScoreError("the gold is no number") from error


def leading_steps(response: str, golds: Golds) -> float:
    """The share of the values after each step that are right, up to the first wrong one.

    Only digits are read, so that a negative value is never found.
    """
    steps = _steps(golds[0])
    n_right = 0
    for value, found in zip(steps, _DIGITS.findall(response), strict=False):
        if _integer(found) != value:
            break
        n_right += 1
    return n_right / len(steps)


def name_among_words(response: str, golds: Golds) -> bool:
    """The name is one of the words, in capitals; a name of two words never is."""
    return golds[0] in response.translate(_SPACED).upper().split()


def bug_option(response: str, golds: Golds) -> bool:
    """The letter leads, or letter or function follow a phrase such as "answer is:"."""
    text, letter = response.strip(), golds[-1]
    if text[:2] in (f"{letter}.", f"{letter}:"):
        return True
    text = text.translate(_SPACED_OPTION).replace("Option", " ").replace("option", " ")
    phrases = ("answer is:", "is:", "answer:", "correct option is:")
    return bool(_follows(_SPACES.sub(" ", text), phrases, (letter, golds[0])))


def book_choice(response: str, golds: Golds) -> bool:
    """The first letter, or what follows "answer is", or the first word that is a letter."""
    text = response.strip()
    if text[:1] in ("A", "B", "C", "D"):
        return text[0] in golds
    if text in golds:
        return True
    text = _SPACES.sub(" ", text.translate(_SPACED_CHOICE))
    followed = _follows(text, ("answer is:", "answer:", "answer is", "option is"), golds)
    if followed is not None:
        return followed
    letters = [word for word in text.split() if word in "ABCD"]
    return bool(letters) and letters[0] in golds


def word_f1(response: str, golds: Golds) -> float:
    """Token F1 after SQuAD's normalisation, best of all golds."""
    given = squad_tokens(response)
    return max(overlap_scores(given, squad_tokens(gold)).f1 for gold in golds)


def character_f1(response: str, golds: Golds) -> float:
    """The same over characters, for Chinese."""
    given = _characters(response)
    return max(overlap_scores(given, _characters(gold)).f1 for gold in golds)


RULES: dict[str, Callable[[str, Golds], bool | float]] = {
    "passkey": first_digits,
    "number_string": first_digits,
    "kv_retrieval": key_value,
    "code_run": last_integer,
    "code_debug": bug_option,
    "math_find": first_number,
    "math_calc": leading_steps,
    "longdialogue_qa_eng": name_among_words,
    "longbook_choice_eng": book_choice,
    "longbook_qa_eng": word_f1,
    "longbook_qa_chn": character_f1,
}
"""The rule of each task."""


def _follows(text: str, phrases: Sequence[str], wanted: Sequence[str]) -> bool | None:
    """Whether what stands behind the first of the phrases is wanted; None where none stands.

    One character behind the phrase is passed over, whatever it is.
    """
    for phrase in phrases:
        place = text.find(phrase)
        if place >= 0:
            return text[place + len(phrase) + 1 :].startswith(tuple(wanted))
    return None


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _steps(gold: str) -> list[Any]:
    try:
        steps = json.loads(gold)
    except ValueError as error:
        raise MissingScoreError("the gold is no list of values") from error
    if not isinstance(steps, list) or not steps:
        raise MissingScoreError("the gold is no list of values")
    return steps


def _characters(text: str) -> list[str]:
    return list("".join(text.lower().translate(_ANY_PUNCTUATION).split()))
