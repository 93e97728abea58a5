"""Precision, recall and rank by the ids of what was retrieved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cb_ragas_precision import fields
from cb_ragas_precision.evaluating import ColumnEvaluator, Outcome
from cb_ragas_precision.ranking import average_precision, ndcg, reciprocal_rank, set_precision
from cbcore.columns import Column
from cbcore.results import Scored


class ContextPrecisionIds(ColumnEvaluator):
    """Are the contexts with the right ids retrieved, and ranked first?

    Ids are compared as text, so 1 equals "1" but not "1.0". One that was retrieved twice
    counts where it stands first.

    - `context_ids_column`, `reference_context_ids_column`: where the ids are read from.
    """

    name = "context_precision_ids"
    emits = (
        "context_precision_ids",
        "context_ap_ids",
        "context_recall_ids",
        "context_mrr_ids",
        "context_ndcg_ids",
    )
    applies_to = ("retrieval",)
    automatic = True
    needs = ("reference_context_ids",)
    needs_output = ("context_ids",)
    uses = (fields.CONTEXT_IDS, fields.REFERENCE_IDS)

    def __init__(
        self,
        *,
        context_ids_column: Column | None = None,
        reference_context_ids_column: Column | None = None,
        **legacy_columns: Any,
    ) -> None:
        columns = {
            "context_ids_column": context_ids_column,
            "reference_context_ids_column": reference_context_ids_column,
        }
        self._set_columns(columns, legacy_columns)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Outcome:
        """The scores. Raises `MissingScoreError` without lists of ids on both sides."""
        values = self._read(original, processed)
        retrieved = fields.ids(values["context_ids"], "retrieved")
        wanted = set(fields.ids(values["reference_context_ids"], "reference"))
        if not retrieved:
            return self._nothing_retrieved()
        verdicts = [int(one in wanted) for one in retrieved]
        scores = {
            "context_precision_ids": set_precision(verdicts),
            "context_ap_ids": average_precision(verdicts),
            "context_mrr_ids": reciprocal_rank(verdicts),
        }
        if not wanted:
            reason = "the example has no reference ids, so there is nothing to recall"
            unscored = ("context_recall_ids", "context_ndcg_ids")
            return Scored(scores, dict.fromkeys(unscored, reason))
        scores["context_recall_ids"] = sum(verdicts) / len(wanted)
        scores["context_ndcg_ids"] = ndcg(verdicts, len(wanted))
        return scores
