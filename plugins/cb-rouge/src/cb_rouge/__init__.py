"""ROUGE scores of a summary against gold summaries."""

from cb_rouge.evaluator import SummarizationQuality
from cb_rouge.lsum import rouge_lsum
from cb_rouge.rouge import Overlap, rouge_l, rouge_n, tokenize

__all__ = ["Overlap", "SummarizationQuality", "rouge_l", "rouge_lsum", "rouge_n", "tokenize"]
