"""The result of a run: one `EvalRow` per system and example, collected in an `EvalResult`."""

from cbcore.results.eval_result import EvalResult, RunConfig
from cbcore.results.eval_row import (
    Counts,
    EvalRow,
    Example,
    Joined,
    RowsBySystem,
    Scored,
    Texts,
)
from cbcore.results.sections import Section

__all__ = (
    "Counts",
    "EvalResult",
    "EvalRow",
    "Example",
    "Joined",
    "RowsBySystem",
    "RunConfig",
    "Scored",
    "Section",
    "Texts",
)
