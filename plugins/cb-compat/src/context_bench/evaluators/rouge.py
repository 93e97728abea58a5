"""ROUGE of a summary."""

from cb_rouge import SummarizationQuality

__all__ = ["SummarizationQuality"]
