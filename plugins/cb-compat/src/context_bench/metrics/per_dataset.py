"""One score, dataset by dataset."""

from cb_metrics import PerDatasetBreakdown

__all__ = ["PerDatasetBreakdown"]
