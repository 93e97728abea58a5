"""What a dry run counts."""

from __future__ import annotations

import pytest

from cb_testing import FakeSystem
from cbcore.protocols import Cost
from cbcore.run.dry_run import plan_run
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose

EXAMPLES = [{"id": n, "context": "c", "question": "q", "answer": "yes"} for n in range(4)]


class Judge:
    """Scores all repeats of an example with one request of ten cents."""

    name = "judge"
    emits = ("agreement",)

    async def ascore(self, original, processed):
        return {"agreement": 1.0}

    async def ascore_repeats(self, original, outputs):
        return {"agreement": 1.0}

    def max_cost(self, example):
        return Cost(usd=0.1)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_judge_of_repeats_is_paid_once_for_each_example(repeats):
    settings = RunSettings(
        systems=[FakeSystem()],
        datasets=[EXAMPLES],
        evaluators=[Judge()],
        metrics=[],
        repeats=repeats,
    )
    (planned,) = plan_run(compose(settings))
    assert planned.calls == 4 * repeats
    assert planned.judging.usd == pytest.approx(0.4)
