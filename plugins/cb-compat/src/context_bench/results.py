"""Rows and results: those of `cb`, which have every attribute of the old ones."""

from cbcore.results import EvalResult, EvalRow

__all__ = ["EvalResult", "EvalRow"]
