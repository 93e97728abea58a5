"""The evaluator: which texts of an example and an output are compared, and when none can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cb_answerquality.metrics.quality import compare, contains_word_score
from cb_answerquality.normalization import tokens
from cbcore.protocols import Scores
from cbcore.scoring import golds_of, is_absent, response_of


class AnswerQuality:
    """How well a response matches the gold answer: token F1, exact match, recall, containment.

    The example's `answer` is a text, a number, or a list of alternatives; with alternatives,
    each score is that of the best one. An empty `answer` gives 1.0 for all scores; in a list
    with others, empty alternatives do not count. An example without a gold text that says
    `no_answer` or `is_impossible` cannot be answered: a response that says nothing is right,
    any other is wrong, as in SQuAD 2.0.
    """

    name = "answer_quality"
    emits = ("f1", "exact_match", "recall", "contains")
    applies_to = ("qa", "*")
    automatic = True
    needs = ("answer",)
    reads = ("answer", "no_answer", "is_impossible", "response")

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The four scores. Raises `MissingScoreError` without a gold answer or a response."""
        answer = original.get("answer")
        response = processed.get("response")
        if type(answer) is str and answer and type(response) is str:
            f1, exact, recall, contained = compare(response, answer)
        elif _cannot_be_answered(original):
            f1 = exact = recall = contained = 0.0 if tokens(response_of(processed)) else 1.0
        else:
            f1, exact, recall, contained = _compare_best(original, processed)
        return {"f1": f1, "exact_match": exact, "recall": recall, "contains": contained}


class ContainsWord:
    """Whether the response has the gold answer in it as whole words and numbers.

    Stricter than the score `contains`: "4" is not in "42", and "cat" is not in "concatenate".
    """

    name = "contains_word"
    emits = ("contains_word",)
    needs = ("answer",)
    reads = ("answer", "response")

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """One score. Raises `MissingScoreError` without a gold answer or a response."""
        response = response_of(processed)
        golds = _gold_texts(original)
        return {"contains_word": max(contains_word_score(response, gold) for gold in golds)}


def _compare_best(original: Mapping[str, Any], processed: Mapping[str, Any]) -> tuple[float, ...]:
    """Each score for the alternative answer that gives the highest."""
    references = _gold_texts(original)
    text = response_of(processed)
    return tuple(
        map(max, zip(*(compare(text, reference) for reference in references), strict=True))
    )


def _cannot_be_answered(original: Mapping[str, Any]) -> bool:
    """Whether an example says that there is no answer, and indeed gives none."""
    said = any(
        str(original.get(field)).lower() in ("true", "1")
        for field in ("no_answer", "is_impossible")
    )
    if not said:
        return False
    answer = original.get("answer")
    golds = answer if isinstance(answer, list | tuple) else [answer]
    return all(is_absent(gold) or (isinstance(gold, str) and not tokens(gold)) for gold in golds)


def _gold_texts(original: Mapping[str, Any]) -> list[str]:
    """The gold answers; an empty one only if there is no other."""
    texts = golds_of(original, ("answer",))
    return [text for text in texts if text.strip()] or texts[:1]
