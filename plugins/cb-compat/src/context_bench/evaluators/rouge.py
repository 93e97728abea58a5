"""ROUGE of a summary."""

import cb_scorers.rouge as scorer
from cb_scorers.rouge import SummarizationQuality

__all__ = ["SummarizationQuality", "rouge_l"]


def rouge_l(prediction: str, reference: str) -> dict[str, float]:
    """ROUGE-L of a text against another: precision, recall and F1; 0.0 where one is empty."""
    overlap = scorer.rouge_l(scorer.tokenize(prediction), scorer.tokenize(reference))
    return {
        "rouge_l_precision": overlap.precision,
        "rouge_l_recall": overlap.recall,
        "rouge_l_f1": overlap.f1,
    }
