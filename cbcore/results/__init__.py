"""What a run produces: one `EvalRow` per system and example, collected in an `EvalResult`."""

from cbcore.results.eval_result import EvalResult, RunConfig
from cbcore.results.eval_row import (
    Counts,
    EvalRow,
    RowsBySystem,
    Scored,
)
from cbcore.results.examples import Example, Texts
from cbcore.results.sections import Section

__all__ = (
    "Counts",
    "EvalResult",
    "EvalRow",
    "Example",
    "RowsBySystem",
    "RunConfig",
    "Scored",
    "Section",
    "Texts",
)
