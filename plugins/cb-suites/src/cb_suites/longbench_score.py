"""The evaluator of LongBench: for each of its tasks the metric it was published with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from cb_suites import longbench_metrics as metrics
from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Scores
from cbcore.scoring import golds_of, response_of

PLAIN = {
    "qa_f1": metrics.qa_f1,
    "rouge_l": metrics.rouge_l,
    "count": metrics.count,
    "retrieval": metrics.retrieval,
    "code_similarity": metrics.code_similarity,
}
CHINESE = {"qa_f1_zh": metrics.qa_f1_zh, "rouge_l_zh": metrics.rouge_l_zh}
METRICS = (*PLAIN, *CHINESE, "classification")
"""The values of `metric`."""


class LongBenchScore:
    """The score of a LongBench task, by the metric it was published with.

    `metric` is one of `METRICS`; with `first_line`, only the first line of the response counts.
    Of several gold answers the best counts. The Chinese metrics need the package jieba.
    """

    name = "longbench_score"
    emits = ("longbench",)
    applies_to = ()
    needs = ("answers",)

    def __init__(self, metric: str = "qa_f1", first_line: bool = False) -> None:
        if metric not in METRICS:
            raise ValueError(f"metric {metric!r} is not one of {', '.join(METRICS)}")
        self.metric = metric
        self.first_line = first_line

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The score `longbench`. Raises `MissingScoreError` without a gold or a response."""
        response = response_of(processed, text_only=True)
        if self.first_line:
            response = response.lstrip("\n").partition("\n")[0]
        golds = golds_of(original)
        try:
            return {"longbench": max(self._compared(response, gold, original) for gold in golds)}
        except ValueError as error:
            raise MissingScoreError(str(error)) from error

    def _compared(self, response: str, gold: str, original: Mapping[str, Any]) -> float:
        if self.metric in PLAIN:
            return PLAIN[self.metric](response, gold)
        if self.metric in CHINESE:
            return CHINESE[self.metric](response, gold, _chinese_cut())
        classes = original.get("all_classes")
        if not isinstance(classes, Sequence) or isinstance(classes, str) or not classes:
            raise ValueError("the example has no all_classes")
        return metrics.classification(response, gold, [str(name) for name in classes])


@cache
def _chinese_cut() -> metrics.Cut:
    try:
        jieba = import_module("jieba")
    except ImportError as error:
        raise MissingScoreError(
            "Chinese text is cut into words by jieba: pip install 'cb-suites[zh]'"
        ) from error
    jieba.setLogLevel("WARNING")  # it reports where its dictionary lies
    cut: metrics.Cut = jieba.lcut
    return cut
