"""The lines of the table: categories with their ceilings, and curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from cb_memory.gold_errors import GoldErrors
from cb_memory.reporting.curves import MEASURES, bin_name, binned
from cb_memory.reporting.facts import Asked, Findings
from cbcore.json_data import to_json_safe

SHOWN = (
    *("locomo_f1", "longmemeval_accuracy", "memory_strict", "memory_lenient", "mc_accuracy"),
    *("judge_score", "f1", "evidence_recall"),
)
"""The scores that are told by category, as far as there are any; F1 only where no other is."""


def of_dataset(findings: Findings, dataset: str, errors: GoldErrors) -> Iterator[dict[str, Any]]:
    """Answerable questions and the others apart, each by category, then the curves."""
    asked = [one for one in findings.questions.values() if one.dataset == dataset]
    scores = shown_scores(findings.score_names(dataset))
    yield {"name": dataset, "key": dataset, "kind": "group", "depth": 0, "scores": []}
    line = _LineMaker(findings, errors, scores)
    answerable = [one for one in asked if not one.abstention]
    for title, part in (
        ("answerable", answerable),
        ("not answerable", [one for one in asked if one.abstention]),
    ):
        if part:
            yield line(title, part, depth=1)
            categories = list(dict.fromkeys(one.category for one in part if one.category))
            for category in categories if len(categories) > 1 else ():
                yield line(category, [one for one in part if one.category == category], depth=2)
    if any(one.typed for one in asked):
        yield from _as_longmemeval_counts(line, asked)
    main = _LineMaker(findings, errors, scores[:1])
    for name, measure in MEASURES.items():
        yield from _curve(main, name, answerable, measure)


class _LineMaker:
    """Makes a line of some questions: their scores, how many they are, and their ceiling."""

    def __init__(self, findings: Findings, errors: GoldErrors, scores: Sequence[str]) -> None:
        self._findings = findings
        self._errors = errors
        self._scores = scores

    def __call__(self, name: str, asked: Sequence[Asked], depth: int) -> dict[str, Any]:
        keys = {one.key for one in asked}
        wrong = sum(one.example_id in self._errors for one in asked)
        return {
            "name": name,
            "depth": depth,
            "questions": len(asked),
            "histories": len({one.history for one in asked}),
            "ceiling": f"{1 - wrong / len(asked):.4f}",
            "scores": [self._score(score, keys) for score in self._scores],
        }

    def mean_of(
        self, name: str, asked: Sequence[Asked], parts: Sequence[dict[str, Any]]
    ) -> dict[str, Any]:
        """A line of the same questions whose scores are the means of other lines, each once."""
        made = self(name, asked, depth=1)
        for place, score in enumerate(made["scores"]):
            of_parts = [part["scores"][place]["values"] for part in parts]
            for system, told in score["values"].items():
                values = [one[system]["value"] for one in of_parts if system in one]
                told |= {"value": sum(values) / len(values), "stderr": None, "interval": None}
        return made

    def _score(self, score: str, keys: set[Any]) -> dict[str, Any]:
        values = {}
        for system in self._findings.answers:
            found = self._findings.estimate(system, score, keys)
            if found is not None:
                values[system] = {
                    "value": found.value,
                    "stderr": found.stderr,
                    "interval": to_json_safe(found.interval),
                    "n": found.n,
                }
        return {"metric": score, "higher_is_better": True, "values": values}


def _as_longmemeval_counts(line: _LineMaker, asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """Its two wholes, in which questions that cannot be answered count within their types."""
    yield line("all, as LongMemEval counts", asked, depth=1)
    types = list(dict.fromkeys(one.category for one in asked if one.category))
    parts = [line("", [one for one in asked if one.category == name], depth=1) for name in types]
    yield line.mean_of("mean of its types", asked, parts)


def shown_scores(names: Iterable[str]) -> list[str]:
    """Those of the scores that are told by category, the first of which curves are drawn of."""
    there = set(names)
    shown = [score for score in SHOWN if score in there]
    if len(set(shown) - {"f1", "evidence_recall"}) > 0 and "f1" in shown:
        shown.remove("f1")
    return shown


def _curve(
    line: _LineMaker, name: str, asked: Sequence[Asked], measure: Callable[[Asked], int | None]
) -> Iterator[dict[str, Any]]:
    """One line for each bin that has questions; none where all are in the same."""
    bins = binned(asked, measure)
    if bins:
        yield {"name": f"by {name}", "kind": "group", "depth": 1, "scores": []}
    for some in bins:
        yield line(bin_name(measure(some[0]) or 0), some, depth=2)
