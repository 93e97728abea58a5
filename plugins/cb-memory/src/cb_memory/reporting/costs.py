"""What a memory costs: once for each history, then for each question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from cb_memory.reporting.facts import Answered, Findings


@attrs.frozen
class Costs:
    """Means over histories of what feeding took, and over questions of what asking took.

    Tokens are those that models were given and gave: for a question, the text a reader is shown
    and what the memory itself asked for. `full_tokens` is what everything ever said would take.
    """

    histories: int
    questions: int
    ingest_s: float
    ingest_tokens: float
    ingest_usd: float | None
    query_s: float
    query_tokens: float
    query_usd: float | None
    full_tokens: float

    @classmethod
    def of(cls, answers: Sequence[Answered]) -> Costs | None:
        """The costs of one system; None of one that is no memory."""
        fed = {
            (a.asked.dataset, a.asked.history): a.metadata["ingest"]
            for a in answers
            if isinstance(a.metadata.get("ingest"), Mapping)
        }
        if not fed:
            return None
        paid = [one["cost_usd"] for one in fed.values() if "cost_usd" in one]
        asked = [c for a in answers if (c := _query_usd(a)) is not None]
        return cls(
            histories=len(fed),
            questions=len(answers),
            ingest_s=_mean([float(one.get("seconds", 0.0)) for one in fed.values()]),
            ingest_tokens=_mean([float(one.get("tokens", 0)) for one in fed.values()]),
            ingest_usd=_mean(paid) if paid else None,
            query_s=_mean([a.latency for a in answers]),
            query_tokens=_mean([_query_tokens(a) for a in answers]),
            query_usd=_mean(asked) if asked else None,
            full_tokens=_mean([float(a.input_tokens) for a in answers]),
        )

    @property
    def break_even(self) -> float | None:
        """Questions about one history from which on the memory takes fewer tokens than all of it.

        None if it never does.
        """
        saved = self.full_tokens - self.query_tokens
        return math.ceil(self.ingest_tokens / saved) if saved > 0 else None


def of_all(findings: Findings) -> Iterator[dict[str, Any]]:
    """One line for each thing that costs something, with the amount for each memory."""
    found = {system: Costs.of(answers) for system, answers in findings.answers.items()}
    costs = {system: one for system, one in found.items() if one is not None}
    if not costs:
        return
    yield {"name": "cost", "kind": "group", "depth": 0, "scores": []}
    ingest = {"seconds": "ingest_s", "tokens": "ingest_tokens", "dollars": "ingest_usd"}
    query = {"seconds": "query_s", "tokens": "query_tokens", "dollars": "query_usd"}
    history, question = ({"depth": 1, "name": f"per {what}"} for what in ("history", "question"))
    yield {**history, "scores": _amounts(costs, ingest, "histories")}
    yield {**question, "scores": _amounts(costs, query, "questions")}
    whole = {"tokens": "full_tokens"}
    yield {"name": "whole history", "depth": 1, "scores": _amounts(costs, whole, "questions")}
    pays = {"questions": "break_even"}
    yield {"name": "until it pays", "depth": 1, "scores": _amounts(costs, pays, "histories")}


def _amounts(
    costs: Mapping[str, Costs], fields: Mapping[str, str], number: str
) -> list[dict[str, Any]]:
    """What each memory took of each unit; dollars only where any are known."""
    scores = []
    for unit, field in fields.items():
        values = {
            system: {"value": getattr(one, field), "stderr": None, "n": getattr(one, number)}
            for system, one in costs.items()
        }
        if unit != "dollars" or any(told["value"] is not None for told in values.values()):
            scores.append({"metric": unit, "higher_is_better": False, "values": values})
    return scores


def never_pays(findings: Findings) -> list[str]:
    """What has to be said of memories that never take fewer tokens than the whole history."""
    remarks = []
    for system, answers in findings.answers.items():
        costs = Costs.of(answers)
        if costs is not None and costs.break_even is None and costs.ingest_tokens:
            remarks.append(
                f"{system} never pays: a question takes {costs.query_tokens:,.0f} tokens, and the "
                f"whole history {costs.full_tokens:,.0f}"
            )
    return remarks


def _query_tokens(answered: Answered) -> float:
    """What a reader was shown, and what the memory asked of models for this question."""
    own = 0.0
    for stage in answered.metadata.get("stage_usage") or ():
        if isinstance(stage, Mapping) and stage.get("stage") == answered.metadata.get("memory"):
            counts = (stage.get("prompt_tokens"), stage.get("completion_tokens"))
            own += sum(n for n in counts if isinstance(n, int))
    return answered.output_tokens + own


def _query_usd(answered: Answered) -> float | None:
    cost = answered.metadata.get("cost_usd")
    if not isinstance(cost, int | float):
        return None
    return float(cost) - float(answered.metadata.get("ingest_cost_usd", 0.0))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
