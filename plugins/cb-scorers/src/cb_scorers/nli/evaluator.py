"""The evaluator: the gold label of an example against the one that a response gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cb_scorers._responses import Unreadable, check_unreadable
from cb_scorers.nli.labels import USUAL, LabelSet
from cb_scorers.nli.verdict import read_verdict
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.scoring import response_of

GOLD_FIELDS = ("label", "answer", "answers")
"""Where the gold label stands in an example; the first field that holds one counts."""


class NLILabelMatch:
    """Whether the label that a response gives (entailment, refuted, …) is the gold label.

    The example has the gold in `label` or `answer`, and may give its label set in `labels`. A
    response that gives no label, or several, is wrong, or has no score with
    `unreadable="missing"`.
    """

    name = "nli_label"
    emits = ("nli_accuracy",)
    applies_to = ("nli",)
    automatic = True
    needs = ()

    def __init__(self, unreadable: Unreadable = "wrong") -> None:
        self.unreadable = check_unreadable(unreadable)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """1.0 or 0.0, and in the details the label that was read, or why there is none.

        A response that only rules labels out is wrong if the gold is among them. Raises
        `MissingScoreError` when there is no gold or no response to read.
        """
        labels = _label_set(original)
        golds = _golds(original, labels)
        response = response_of(processed, text_only=True)
        verdict = read_verdict(response, labels)
        details: dict[str, Any] = {"label": verdict.label}
        if verdict.ruled_out:
            details["ruled_out"] = sorted(verdict.ruled_out)
        if verdict.label is None:
            known = ", ".join(labels.labels)
            details["reason"] = f"no answer: the response gives none of the labels {known}"
            if self.unreadable == "missing" and not golds <= verdict.ruled_out:
                raise MissingScoreError(details["reason"])
        return Scored(scores={"nli_accuracy": float(verdict.label in golds)}, details=details)


def _label_set(example: Mapping[str, Any]) -> LabelSet:
    labels = example.get("labels")
    if labels is None:
        return USUAL
    if (
        not isinstance(labels, list | tuple)
        or not 2 <= len(labels) <= 100
        or not all(isinstance(label, str) and label.strip() for label in labels)
    ):
        raise MissingScoreError("`labels` is not a list of 2 to 100 texts")
    return LabelSet.of(labels)


def _golds(example: Mapping[str, Any], labels: LabelSet) -> frozenset[str]:
    for field in GOLD_FIELDS:
        value = example.get(field)
        values = value if isinstance(value, list | tuple) else [value]
        golds = frozenset(_gold(one, labels, field) for one in values if one not in (None, ""))
        if golds:
            return golds
    raise MissingScoreError("the example has no gold label in `label` or `answer`")


def _gold(value: Any, labels: LabelSet, field: str) -> str:
    """A gold by its text, or by its place in `labels` counted from 0."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(labels.labels):
        return labels.labels[value]
    found = labels.find(value) if isinstance(value, str) else None
    if found is None:
        known = ", ".join(labels.labels)
        raise MissingScoreError(f"the gold {value!r} in `{field}` is none of the labels {known}")
    return found
