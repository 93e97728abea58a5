"""ROUGE of a summary."""

import cb_rouge
from cb_rouge import SummarizationQuality

__all__ = ["SummarizationQuality", "rouge_l"]


def rouge_l(prediction: str, reference: str) -> dict[str, float]:
    """ROUGE-L of a text against another: precision, recall and F1; 0.0 where one is empty."""
    overlap = cb_rouge.rouge_l(cb_rouge.tokenize(prediction), cb_rouge.tokenize(reference))
    return {
        "rouge_l_precision": overlap.precision,
        "rouge_l_recall": overlap.recall,
        "rouge_l_f1": overlap.f1,
    }
