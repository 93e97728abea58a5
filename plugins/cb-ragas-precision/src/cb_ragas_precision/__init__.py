"""Did retrieval put what matters first? Context precision and recall, with and without a model.

An evaluator is imported when it is first used.
"""

from typing import TYPE_CHECKING

# The function has the name of its module, which would be in its place once that is imported.
from cb_ragas_precision.similarity import MEASURES as MEASURES
from cb_ragas_precision.similarity import similarity as similarity
from cbcore.lazy import lazy_names

if TYPE_CHECKING:
    from cb_ragas_precision.ids import ContextPrecisionIds as ContextPrecisionIds
    from cb_ragas_precision.precision import ContextPrecision as ContextPrecision
    from cb_ragas_precision.precision import ContextUtilization as ContextUtilization
    from cb_ragas_precision.predictions import RecordedPredictions as RecordedPredictions
    from cb_ragas_precision.ranking import average_precision as average_precision
    from cb_ragas_precision.ranking import ndcg as ndcg
    from cb_ragas_precision.ranking import reciprocal_rank as reciprocal_rank
    from cb_ragas_precision.recall import ContextRecall as ContextRecall
    from cb_ragas_precision.semantic import SemanticSimilarity as SemanticSimilarity
    from cb_ragas_precision.similar import ContextPrecisionNonLLM as ContextPrecisionNonLLM

_HOMES = {
    "ContextPrecision": "precision",
    "ContextPrecisionIds": "ids",
    "ContextPrecisionNonLLM": "similar",
    "ContextRecall": "recall",
    "ContextUtilization": "precision",
    "RecordedPredictions": "predictions",
    "SemanticSimilarity": "semantic",
    "average_precision": "ranking",
    "ndcg": "ranking",
    "reciprocal_rank": "ranking",
}

__all__ = ["MEASURES", *sorted(_HOMES), "similarity"]  # noqa: PLE0604
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
