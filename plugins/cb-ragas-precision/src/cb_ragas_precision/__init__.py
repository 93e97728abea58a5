"""Did retrieval put what matters first? Context precision and recall, with and without a model."""

from cb_ragas_precision.ids import ContextPrecisionIds
from cb_ragas_precision.precision import ContextPrecision, ContextUtilization
from cb_ragas_precision.predictions import RecordedPredictions
from cb_ragas_precision.ranking import average_precision, ndcg, reciprocal_rank
from cb_ragas_precision.recall import ContextRecall
from cb_ragas_precision.semantic import SemanticSimilarity
from cb_ragas_precision.similar import ContextPrecisionNonLLM
from cb_ragas_precision.similarity import MEASURES, similarity

__all__ = [
    "MEASURES",
    "ContextPrecision",
    "ContextPrecisionIds",
    "ContextPrecisionNonLLM",
    "ContextRecall",
    "ContextUtilization",
    "RecordedPredictions",
    "SemanticSimilarity",
    "average_precision",
    "ndcg",
    "reciprocal_rank",
    "similarity",
]
