"""`--cache-model`: the bill of a provider with a prompt cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore.specs import Spec

if TYPE_CHECKING:
    from cbcore.settings import RunSettings


def cb_configure(settings: RunSettings) -> None:
    """Add the evaluator and the metric that the flag stands for."""
    model = settings.get("cache-model")
    if model is not None:
        settings.added_evaluators.append(Spec("prompt_blocks"))
        settings.added_metrics.append(f"net_cost:{model}")
