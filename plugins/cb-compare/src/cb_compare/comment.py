"""A run as a comment for a pull request."""

from __future__ import annotations

import attrs

from cb_compare.rendering import escape
from cbcore.results import EvalResult


@attrs.frozen
class Comment:
    """Short Markdown for a pull request: the verdicts, then the score of each system."""

    name = "comment"
    extension = "md"

    def render(self, result: EvalResult) -> str:
        """The comment."""
        score = str(result.config.get("score_field") or "score")
        state = result.config.get("state") or "finished"
        blocks = [f"### Benchmark: {escape(score)}"]
        if state != "finished":
            blocks.append(f"> **The run is {escape(state)}: only the rows that were done count.**")
        if result.verdicts:
            blocks.append("\n".join(f"- {escape(v.sentence)}." for v in result.verdicts))
        counts = result.counts(score)
        lines = [
            "| system | mean | 95% interval | scored | errored |",
            "| :-- | --: | --: | --: | --: |",
        ]
        for system in result.systems:
            value = result.summary.get(system, {}).get("mean_score")
            estimate = result.estimates.get(system, {}).get("mean_score")
            mean = "–" if value is None else f"{value:.3f}"
            interval = "–"
            if estimate is not None and estimate.interval is not None:
                interval = f"{estimate.interval[0]:.3f} to {estimate.interval[1]:.3f}"
            told = counts[system]
            lines.append(
                f"| {escape(system)} | {mean} | {interval} "
                f"| {told.scored:,} of {told.total:,} | {told.errored:,} |"
            )
        blocks.append("\n".join(lines))
        return "\n\n".join(blocks) + "\n"
