"""An evaluator of `cb`, called as in context-bench: plain scores out, whatever it returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored


class Wrapped:
    """Scores as a plain dict. In a run `component` scores instead, with all it has to say."""

    def __init__(self, component: Any) -> None:
        self.component = component
        self.name: str = component.name
        self.emits: tuple[str, ...] = tuple(component.emits)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """The scores. Raises `MissingScoreError` with the reason there are none."""
        return plain(self.component.score(original, processed))


def component_of(evaluator: Any) -> Any:
    """What scores in a run: the component behind a wrapper, else the evaluator itself."""
    return evaluator.component if isinstance(evaluator, Wrapped) else evaluator


def plain(scored: Scored | Mapping[str, float]) -> dict[str, float]:
    """The scores alone. Raises `MissingScoreError` where every one is missing."""
    if not isinstance(scored, Scored):
        return dict(scored)
    if scored.missing and not scored.scores:
        raise MissingScoreError("; ".join(scored.missing.values()))
    return dict(scored.scores)
