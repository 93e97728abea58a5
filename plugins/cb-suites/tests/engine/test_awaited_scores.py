"""Evaluators that are awaited behind a filter: what all outputs of a document cost is passed on."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from cb_suites.engine.scoring import AwaitedPoolingTaskScorer
from cbcore.exceptions import ScoringError
from cbcore.results import Scored

COST = {"calls": 1, "cost_usd": 0.5}


class Judge:
    """Half a dollar for each response."""

    async def ascore(self, original: Any, output: Any) -> Scored:
        if output["response"] == "bad":
            raise ScoringError("no verdict", cost=COST)
        return Scored({"right": 1.0}, cost=COST)


def scored(*responses: str) -> Any:
    keep_all = SimpleNamespace(name="all", apply=lambda responses, _: responses)
    scorer = AwaitedPoolingTaskScorer(Judge(), keep_all, None, True, {})
    return asyncio.run(scorer.ascore_repeats({}, [{"response": text} for text in responses]))


@pytest.mark.parametrize("n", [1, 2])
def test_every_scored_output_counts_in_the_cost(n: int) -> None:
    found = scored(*["good"] * n)
    assert dict(found) == {"right": 1.0}
    assert found.cost == {"calls": n, "cost_usd": 0.5 * n}


def test_what_was_scored_before_a_failure_counts_as_well() -> None:
    with pytest.raises(ScoringError) as caught:
        scored("good", "bad")
    assert caught.value.cost == {"calls": 2, "cost_usd": 1.0}
