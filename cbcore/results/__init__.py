"""What a run produces: one `EvalRow` per system and example, collected in an `EvalResult`."""

from cbcore.results.display import FlatColumns
from cbcore.results.eval_result import EvalResult, RunConfig
from cbcore.results.eval_row import Counts, EvalRow, Example, RowsBySystem, Scored, Texts
from cbcore.results.sections import Section
from cbcore.results.summary import sum_up

__all__ = (
    "Counts",
    "EvalResult",
    "EvalRow",
    "Example",
    "FlatColumns",
    "RowsBySystem",
    "RunConfig",
    "Scored",
    "Section",
    "Texts",
    "sum_up",
)
