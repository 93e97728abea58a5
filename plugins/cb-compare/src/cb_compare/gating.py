"""Rules that a result is held to: what must be reached, and what must not be lost."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal

import attrs

from cb_compare.comparing import compare_runs
from cb_compare.records import Comparison, Options, Report
from cb_compare.rendering import examples, lost, numbers
from cbcore.exceptions import UsageError
from cbcore.names import hint
from cbcore.results import EvalResult, EvalRow
from cbcore.results.verdicts import format_needed
from cbcore.stats import Measured, Units

State = Literal["kept", "broken", "inconclusive"]


@attrs.frozen(kw_only=True)
class Rules:
    """The rules that a result is held to, by metric.

    `min` and `max` bound the value itself. `max_drop` bounds what was lost since the baseline.
    A drop is broken only when it is more than noise, or `strict`; where a larger one cannot be
    ruled out the rule is inconclusive, which `inconclusive` says how to count.
    """

    min: Mapping[str, float] = attrs.Factory(dict)
    max: Mapping[str, float] = attrs.Factory(dict)
    max_drop: Mapping[str, float] = attrs.Factory(dict)
    alpha: float = 0.05
    strict: bool = False
    inconclusive: Literal["pass", "fail"] = "pass"
    systems: Sequence[str] = ()

    @property
    def any(self) -> bool:
        """Whether there is a rule at all."""
        return bool(self.min or self.max or self.max_drop)


@attrs.frozen(kw_only=True)
class Outcome:
    """One rule for one system: its text, what became of it, and why."""

    rule: str
    system: str
    state: State
    told: str
    comparison: Comparison | None = None

    @property
    def line(self) -> str:
        """All of it on one line."""
        return f"{self.state}: {self.rule} for {self.system}: {self.told}"


@attrs.frozen
class Gate:
    """The outcome of every rule, and the comparisons behind the rules about drops."""

    outcomes: Sequence[Outcome]
    inconclusive: Literal["pass", "fail"] = "pass"
    reports: Sequence[Report] = ()

    @property
    def broken(self) -> list[Outcome]:
        """The outcomes that close the gate."""
        counted = {"broken", "inconclusive"} if self.inconclusive == "fail" else {"broken"}
        return [outcome for outcome in self.outcomes if outcome.state in counted]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        comparisons = [one for report in self.reports for one in report.comparisons]
        comparisons.sort(key=lambda one: one.dataset is not None)
        return {
            "passed": not self.broken,
            "rules": [
                {"rule": o.rule, "system": o.system, "state": o.state, "told": o.told}
                for o in self.outcomes
            ],
            "comparisons": [one.to_dict() for one in comparisons],
        }


def check(result: EvalResult, rules: Rules, baseline: EvalResult | None = None) -> Gate:
    """Hold a result to its rules."""
    if rules.max_drop and baseline is None:
        raise UsageError("a drop has to be from something", hint="--baseline RUN names it")
    if not rules.any:
        raise UsageError(
            "there is no rule to hold the result to",
            hint="--min f1=0.6, --max error_rate=1%, --max-drop f1=0.02, or [tool.cb.gate]",
        )
    if rules.systems:
        for name in rules.systems:
            if name not in result.systems:
                raise UsageError(
                    f"the run has no system {name!r}",
                    hint=hint(name, result.systems, f"it has {', '.join(result.systems)}"),
                )
        kept = set(rules.systems)
        result = dataclasses.replace(
            result,
            rows=[row for row in result.rows if row.system in kept],
            summary={s: values for s, values in result.summary.items() if s in kept},
        )
    outcomes = [*_unfinished(result), *_bounds(result, rules)]
    reports: list[Report] = []
    for metric, margin in rules.max_drop.items():
        assert baseline is not None  # noqa: S101 - refused above
        options = Options(metric=metric, alpha=rules.alpha, non_inferior=margin)
        report = compare_runs(baseline, result, options)
        reports.append(report)
        outcomes += [_drop(one, margin, rules) for one in report.overall]
        outcomes += _gone(baseline, report, metric, margin, rules)
    return Gate(outcomes, rules.inconclusive, reports)


def _unfinished(result: EvalResult) -> Iterator[Outcome]:
    """A run that ended early is no more than a part of what was to be judged."""
    state = result.config.get("state") or "finished"
    if state != "finished":
        told = f"the run is {state}: only the rows that were done count"
        yield Outcome(rule="finished", system="every system", state="inconclusive", told=told)


def _bounds(result: EvalResult, rules: Rules) -> Iterator[Outcome]:
    for kind, wanted in (("min", rules.min), ("max", rules.max)):
        for name, bound in wanted.items():
            _check_known(result, name)
            for system, rows in result.rows_by_system().items():
                value, told = _value(result, system, rows, name)
                fits = value is not None and (value >= bound if kind == "min" else value <= bound)
                yield Outcome(
                    rule=f"{kind} {name}={bound:g}",
                    system=system,
                    state="kept" if fits else "broken",
                    told=told,
                )


def _value(
    result: EvalResult, system: str, rows: Sequence[EvalRow], name: str
) -> tuple[float | None, str]:
    """The value of a score, a metric or a rate of one system, and how to tell it."""
    if name == "error_rate":
        errored = sum(row.error is not None for row in rows)
        first = next((str(row.example_id) for row in rows if row.error is not None), "")
        told = f"{errored:,} of {len(rows):,} rows errored" + (f", {first} first" if first else "")
        return (errored / len(rows) if rows else None), told
    if name == "missing_rate":
        score = result.config.get("score_field")
        missing = sum(row.error is None and score not in row.scores for row in rows)
        return (missing / len(rows) if rows else None), f"{missing:,} of {len(rows):,} rows lack it"
    values = [row.scores.get(name, math.nan) if row.error is None else math.nan for row in rows]
    estimate = Measured.mean(values, kind="score").terms.estimate(Units.of(rows))
    value = result.summary.get(system, {}).get(name)
    if estimate is None and value is not None:
        estimate = result.estimates.get(system, {}).get(name)
    elif estimate is not None:
        value = estimate.value
    if value is None:
        return None, "it has no value"
    if estimate is None or estimate.interval is None:
        return value, f"it is {value:.4g}"
    low, high = estimate.interval
    return value, f"it is {value:.4g} [{low:.4g}, {high:.4g}] on {examples(estimate.n)}"


def _check_known(result: EvalResult, name: str) -> None:
    known = dict.fromkeys(name for row in result.rows for name in row.scores)
    known |= dict.fromkeys(key for values in result.summary.values() for key in values)
    known |= {"error_rate": None, "missing_rate": None}
    if name not in known:
        raise UsageError(
            f"the result has neither a score nor a metric {name!r}",
            hint=hint(name, known, f"it has {', '.join(known)}"),
        )


def _drop(one: Comparison, margin: float, rules: Rules) -> Outcome:
    """A drop is broken when it is beyond the margin and more than noise."""
    drop = -(one.difference or 0.0)
    state: State = "kept"
    told = numbers(one)
    if one.statement and one.n:
        state = "inconclusive"
    elif one.difference is None:
        state, told = "broken", "no example has a score in both runs"
    elif drop > margin and (rules.strict or one.verdict == "worse"):
        state = "broken"
        told += f"; lost most: {lost(one)}"
    elif one.n > 1 and one.ties == one.n:
        told += "; every example scores as before"
    elif one.non_inferiority is None or one.non_inferiority.verdict != "yes":
        needed = one.non_inferiority.needed if one.non_inferiority else None
        state = "inconclusive"
        told += f"; {examples(one.n)} {'is' if one.n == 1 else 'are'} too few to tell"
        told += f" ({format_needed(needed)} needed)" if needed is not None else ""
    return Outcome(
        rule=f"max-drop {one.metric}={margin:g}",
        system=one.system,
        state=state,
        told=told,
        comparison=one,
    )


def _gone(
    baseline: EvalResult, report: Report, metric: str, margin: float, rules: Rules
) -> Iterator[Outcome]:
    """A system of the baseline that was not run again cannot have kept its score."""
    compared = {one.baseline for one in report.overall}
    for system in baseline.systems:
        if system not in compared and (not rules.systems or system in rules.systems):
            yield Outcome(
                rule=f"max-drop {metric}={margin:g}",
                system=system,
                state="inconclusive",
                told="it is in the baseline, and was not run again",
            )


def assert_no_regression(
    result: EvalResult,
    baseline: EvalResult | str | PathLike[str],
    *,
    metric: str | None = None,
    max_drop: float = 0.0,
    alpha: float = 0.05,
    strict: bool = False,
    inconclusive: Literal["pass", "fail"] = "pass",
) -> None:
    """Raise `AssertionError` when a system lost more than `max_drop` since the baseline.

    `baseline` is a result or the path of a saved one. As with `cb gate`, a drop counts when it
    is more than noise, or `strict`. The message names the examples that lost most.
    """
    __tracebackhide__ = True
    before = baseline if isinstance(baseline, EvalResult) else EvalResult.load(str(baseline))
    score = metric or str(result.config.get("score_field") or "f1")
    rules = Rules(max_drop={score: max_drop}, alpha=alpha, strict=strict, inconclusive=inconclusive)
    gate = check(result, rules, before)
    if gate.broken:
        raise AssertionError("\n".join(outcome.line for outcome in gate.broken))
