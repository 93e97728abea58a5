"""What memories add to a run, and the table that every report shows of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from cb_memory.gold_errors import GoldErrors
from cb_memory.reporting import costs, curves, lines
from cb_memory.reporting.facts import Findings
from cbcore.extensions import Contribution
from cbcore.results import EvalRow, Section

COLUMNS = {"questions": "number", "histories": "histories", "ceiling": "ceiling"}


@attrs.define
class MemoryContribution(Contribution):
    """Memories as systems, and what is to be said of their answers."""

    gold_errors: GoldErrors = attrs.Factory(GoldErrors)

    def section(
        self, rows: Mapping[str, Iterable[EvalRow]], failures: Mapping[str, str]
    ) -> tuple[Section | None, list[str]]:
        """Scores by category with their ceilings, curves, and what it all cost."""
        findings = Findings.of(rows)
        found: list[dict[str, Any]] = []
        for dataset in findings.datasets:
            found += lines.of_dataset(findings, dataset, self.gold_errors)
        if not found:
            return None, []
        found += costs.of_all(findings)
        remarks = [*self._unmatched(findings), *costs.never_pays(findings)]
        scores = [s for d in findings.datasets for s in lines.shown_scores(findings.score_names(d))]
        section = Section(
            "Memory",
            found,
            header="questions",
            columns=COLUMNS,
            names_data=False,
            chart=curves.chart_of(findings, next(iter(scores), None)),
        )
        return section, remarks

    def _unmatched(self, findings: Findings) -> list[str]:
        """Gold errors that no question of this run has, all of them: the ids are of other data."""
        asked = {one.example_id for one in findings.questions.values()}
        if not self.gold_errors or asked & self.gold_errors.ids:
            return []
        n = len(self.gold_errors.ids)
        return [f"none of the {n} gold errors is a question of this run: the ceiling stays 1"]
