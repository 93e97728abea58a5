"""Context precision and recall by likeness to reference contexts: no model needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cb_ragas_precision import fields
from cb_ragas_precision.evaluating import ColumnEvaluator, Outcome
from cb_ragas_precision.ranking import average_precision
from cb_ragas_precision.similarity import check_measure, measure_called
from cbcore.columns import Column
from cbcore.results import Scored


class ContextPrecisionNonLLM(ColumnEvaluator):
    """Are contexts that resemble a reference context ranked first, and are all references found?

    - `threshold`: a context is relevant, and a reference found, when the two are at least
      this much alike.
    - `measure`: levenshtein, jaro, jaro_winkler, hamming or token_overlap.
    - `contexts_column`, `reference_contexts_column`: where these are read from.
    """

    name = "context_precision_nonllm"
    emits = ("context_precision_nonllm", "context_recall_nonllm")
    applies_to = ("retrieval",)
    automatic = True
    needs = ("reference_contexts",)
    needs_output = ("contexts",)
    uses = (fields.CONTEXTS, fields.REFERENCE_CONTEXTS)

    def __init__(
        self,
        threshold: float = 0.5,
        measure: str = "levenshtein",
        *,
        contexts_column: Column | None = None,
        reference_contexts_column: Column | None = None,
        **legacy_columns: Any,
    ) -> None:
        self.measure = check_measure(measure, threshold)
        self.threshold = float(threshold)
        columns = {
            "contexts_column": contexts_column,
            "reference_contexts_column": reference_contexts_column,
        }
        self._set_columns(columns, legacy_columns)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Outcome:
        """Both scores. Raises `MissingScoreError` without lists of texts on both sides."""
        values = self._read(original, processed)
        found = fields.contexts(values["contexts"])
        references = fields.references(values["reference_contexts"])
        if not found:
            return self._nothing_retrieved()
        relevant, recalled = matches(found, references, self.measure, self.threshold)
        scores = {
            "context_precision_nonllm": average_precision(relevant),
            "context_recall_nonllm": sum(recalled) / len(recalled),
        }
        details = fields.remarks(found, references)
        return Scored(scores, {}, details) if details else scores


def matches(
    found: Sequence[str], references: Sequence[str], measure: str, threshold: float
) -> tuple[list[int], list[int]]:
    """Which contexts resemble a reference, and which references resemble a context."""
    alike = measure_called(measure)
    relevant, recalled = [0] * len(found), [0] * len(references)
    for i, context in enumerate(found):
        for j, reference in enumerate(references):
            if alike(context, reference, score_cutoff=threshold) >= threshold:
                relevant[i] = recalled[j] = 1
    return relevant, recalled
