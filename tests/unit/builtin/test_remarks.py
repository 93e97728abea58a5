"""What a run warns about besides its numbers."""

from __future__ import annotations

from cb_testing import FakeSystem
from cbcore.columns import map_columns
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from tests.inline_executor import Inline

DATA = [{"id": n, "question": "q", "gold": "Paris"} for n in range(2)]


class Same:
    """Compares the response with the answer."""

    name = "same"
    emits = ("same",)

    def score(self, original, processed):
        return {"same": float(processed["response"] == original["answer"])}


class Awaited:
    """A system that stays in the process of the run."""

    name = "awaited"

    async def aprocess(self, example):
        return {"response": "Paris"}


def test_a_column_that_is_never_read_is_reported_next_to_systems_in_workers():
    """What is read in a worker nobody sees, but the awaited system is scored here."""
    warnings = []
    settings = RunSettings(
        systems=[FakeSystem(), Awaited()],
        datasets=[DATA],
        evaluators=[map_columns(Same(), answer_column="gold", gld_column="gold")],
        metrics=[],
        executor=Inline(),
    )
    compose(settings, warn=warnings.append).run()
    assert "same never looked at 'gld': gld_column had no effect." in warnings
    assert not any("'answer'" in warning for warning in warnings)
