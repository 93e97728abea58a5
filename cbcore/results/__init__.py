"""What a run produces: one `EvalRow` per system and example, collected in an `EvalResult`."""

from cbcore.results.display import FlatColumns
from cbcore.results.eval_result import EvalResult, RunConfig
from cbcore.results.eval_row import (
    POSITIONS,
    Counts,
    EvalRow,
    Example,
    RowsBySystem,
    Scored,
    Texts,
)
from cbcore.results.sections import Section, add_hook_sections, make_sections
from cbcore.results.summary import mark_idle, sum_up

__all__ = (
    "POSITIONS",
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
    "add_hook_sections",
    "make_sections",
    "mark_idle",
    "sum_up",
)
