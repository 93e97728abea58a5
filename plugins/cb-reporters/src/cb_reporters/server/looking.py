"""A run as somebody looked at it: what was read of it, and the page that can be made of that."""

from __future__ import annotations

import dataclasses

import attrs

from cb_reporters.page import Survey, render
from cbcore.results import EvalResult


@attrs.frozen(eq=False)
class Opened:
    """A run as it was read, and as far as it was; its numbers are of `n_summed_up` of its rows."""

    version: str
    live: bool
    result: EvalResult
    survey: Survey
    n_summed_up: int | None

    @property
    def is_whole(self) -> bool:
        return self.n_summed_up is not None and self.survey.is_whole(self.result)

    @property
    def grows(self) -> bool:
        """Whether the survey is not yet what it will be."""
        return self.live or not self.is_whole

    @property
    def shown(self) -> str:
        """What its page is called; one of rows that were all read is another."""
        if self.is_whole:
            return self.version
        is_read = self.survey.is_whole(self.result)
        return f"{self.version} {'read' if is_read else 'reading'}"

    def rendered(self) -> str:
        return render(self.result, self.survey, remote=True, live=self.live, version=self.shown)


def carried_over(before: EvalResult, now: EvalResult, n_summed_up: int) -> EvalResult:
    """A result with the numbers of an earlier look, which says so."""
    remark = f"{n_summed_up:,} of {len(now.rows):,} rows are summed up"
    reason = now.config.get("state_reason")
    return dataclasses.replace(
        now,
        config={
            **now.config,
            "metrics": before.config.get("metrics") or (),
            "state_reason": f"{reason}, and {remark}" if reason else remark,
        },
        summary={**now.summary, **before.summary},
        estimates=before.estimates,
        undecided=before.undecided,
        verdicts=before.verdicts,
        problems=before.problems,
    )
