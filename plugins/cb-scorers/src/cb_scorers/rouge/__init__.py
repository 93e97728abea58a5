"""ROUGE scores of a summary against gold summaries."""

from cb_scorers.rouge.evaluator import SummarizationQuality
from cb_scorers.rouge.lsum import rouge_lsum
from cb_scorers.rouge.rouge import Overlap, rouge_l, rouge_n, tokenize

__all__ = ["Overlap", "SummarizationQuality", "rouge_l", "rouge_lsum", "rouge_n", "tokenize"]
