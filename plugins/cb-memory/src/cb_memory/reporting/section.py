"""The table on memories that every report shows."""

from __future__ import annotations

from typing import Any

import attrs

from cb_memory.gold_errors import GoldErrors
from cb_memory.reporting import costs, curves, lines
from cb_memory.reporting.facts import Findings
from cbcore.results import EvalResult, Section

COLUMNS = {"questions": "number", "histories": "histories", "ceiling": "ceiling"}


@attrs.frozen(eq=False)
class MemoryReport:
    """The hooks of one run with memories."""

    gold_errors: GoldErrors = attrs.Factory(GoldErrors)

    def cb_summarize(self, result: EvalResult) -> Section | None:
        """Scores by category with their ceilings, curves, and what it all cost."""
        findings = Findings.of(result.rows_by_system())
        found: list[dict[str, Any]] = []
        for dataset in findings.datasets:
            found += lines.of_dataset(findings, dataset, self.gold_errors)
        if not found:
            return None
        found += costs.of_all(findings)
        result.problems += [*self._unmatched(findings), *costs.never_pays(findings)]
        scores = [s for d in findings.datasets for s in lines.shown_scores(findings.score_names(d))]
        return Section(
            "Memory",
            found,
            header="questions",
            columns=COLUMNS,
            names_data=False,
            chart=curves.chart_of(findings, next(iter(scores), None)),
        )

    def _unmatched(self, findings: Findings) -> list[str]:
        """A remark if no question of this run has a gold error: the ids are of other data."""
        asked = {one.example_id for one in findings.questions.values()}
        if not self.gold_errors or asked & self.gold_errors.ids:
            return []
        n = len(self.gold_errors.ids)
        return [f"none of the {n} gold errors is a question of this run: the ceiling stays 1"]
