"""One sentence on each system: how its quality and its tokens compare with those of a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import add
from typing import Any, Literal

import attrs

from cbcore.results.eval_row import CHANGED, EvalRow
from cbcore.stats import Estimate, Measured, Units
from cbcore.stats.estimates import FEWEST_UNITS
from cbcore.stats.measured import Terms
from cbcore.stats.paired import Difference, difference_of, examples_needed, holm

__all__ = (
    "ContextTotals",
    "Verdict",
    "compare_systems",
    "format_needed",
    "format_p_value",
    "format_too_few",
    "format_unseen_loss",
    "is_blank",
)

ALPHA = 0.05
"""How often chance alone may be called a difference."""

THRESHOLD = 0.7
"""The score from which an answer is right, unless a run sets another."""

MOST_NEEDED = 10_000
"""A larger number of examples that would be needed is not printed: the guess is too rough."""

_NEXT_TO_NOTHING = 0.1
"""A mean score below this, without one right answer, is what chance overlaps add up to."""

_MOST_DIGITS = 6

Outcome = Literal["baseline", "better", "worse", "undecided", "failed", "unchanged", "not measured"]


# -- the baseline ------------------------------------------------------------------------------


def is_blank(scores: Iterable[float], threshold: float = THRESHOLD) -> bool:
    """Whether a baseline with these scores cannot do its task; NaN is a missing score.

    That is so if no score reaches the threshold, and their mean is next to nothing.
    """
    known = [score for score in scores if not math.isnan(score)]
    if not known or max(known) >= threshold:
        return False
    return 0 <= math.fsum(known) / len(known) < _NEXT_TO_NOTHING


@attrs.define
class ContextTotals:
    """The tokens that a system got and sent, added up row by row without failed rows."""

    n_given: int = 0
    n_sent: int = 0
    n_changed: int = 0
    n_failed: int = 0

    def add(self, row: EvalRow) -> None:
        """Count one row."""
        if row.error is not None:
            self.n_failed += 1
            return
        self.n_given += row.input_tokens
        self.n_sent += row.output_tokens
        self.n_changed += row.output_tokens != row.input_tokens or CHANGED in row.metadata

    @property
    def is_unchanged(self) -> bool:
        """Whether the system passed on every context as it was."""
        return self.n_given > 0 and not self.n_changed

    @staticmethod
    def find_baseline(totals: Mapping[str, ContextTotals]) -> str | None:
        """The first system that passes on all contexts unchanged; None without systems.

        If there is none, the first that sends no fewer tokens than it got, or else the first.
        """
        unchanged = [system for system, found in totals.items() if found.is_unchanged]
        whole = [system for system, found in totals.items() if found.n_sent >= found.n_given > 0]
        return next(iter([*unchanged, *whole, *totals]), None)


# -- a verdict in words ------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Verdict:
    """One system against the baseline, on the examples that both have a score for.

    `kept` is the share of the baseline's mean score, with its 95 % interval; None where that
    means nothing, as with a mean of zero. `tokens` is the share of its tokens, with its interval
    where that share differs among the examples. `difference` is that of the means, and `n_differ`
    counts the examples with another score. `p_value` is adjusted for the `n_tests` comparisons of
    the run; it is None with too few independent units to test. `clusters` counts the clusters of
    the examples. `needed` is about how many examples show a difference as large as the one that
    was seen, at the same adjusted level. `unseen` is the share of examples in which a difference
    may occur that the sample did not show (95 %); None if it shows gains and losses alike.

    Three outcomes replace the comparison. A system that `failed` has an error in every row. A
    system that is `unchanged` passed on every context as it was, as its baseline does. Quality is
    `not measured` if there is no score to compare, or if neither system is right on any example.
    `n_rows` counts the rows of the system, `n_failed` those that failed. A baseline that
    `is_blank` cannot do the task. A system that `is_unchanged` passes on every context and has
    other scores than its baseline. A system that is its own baseline without the outcome
    `baseline` has no other system to be compared with.
    """

    system: str
    baseline: str
    score: str
    outcome: Outcome
    n: int
    mean: float | None = None
    mean_low: float | None = None
    mean_high: float | None = None
    kept: float | None = None
    kept_low: float | None = None
    kept_high: float | None = None
    tokens: float | None = None
    tokens_low: float | None = None
    tokens_high: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    n_tests: int = 0
    clusters: int | None = None
    n_differ: int | None = None
    needed: int | None = None
    unseen: float | None = None
    n_rows: int = 0
    n_failed: int = 0
    is_blank: bool = False
    is_unchanged: bool = False

    @property
    def sentence(self) -> str:
        """The verdict, for people."""
        examples = f"{self.n:,} example{'' if self.n == 1 else 's'}"
        if self.outcome == "baseline":
            if self.is_blank:
                return (
                    f"{self.system} is the baseline and is right on 0 of {examples} "
                    f"({self._mean()}): its reader cannot do this task, so quality kept cannot be "
                    "measured"
                )
            return f"{self.system} is the baseline: {self._mean()} on {examples}"
        if self.outcome in ("failed", "unchanged", "not measured"):
            return self._statement(examples)
        cost = ""
        if self.tokens is not None:
            bounds = _bounds(self.tokens_low, self.tokens_high, 100, 0)
            cost = f" at {_percent(self.tokens)}{bounds} of its tokens"
        if self.n_differ == 0:
            # No interval: equal scores do not show how much others may differ.
            each = "the one example" if self.n == 1 else f"each of {examples}"
            same = f"{self.system} scores the same as {self.baseline} on {each}{cost}"
            if self.unseen is None:
                return same
            return f"{same}; up to {format_share(self.unseen)} of other examples may differ"
        if self.kept is not None:
            kept = _percent(self.kept) + _bounds(self.kept_low, self.kept_high, 100, 0)
            text = f"{self.system} keeps {kept} of {self.baseline}'s {self.score}{cost}"
        else:
            apart = _number(self.difference, self.low, self.high, sign="+")
            text = f"{self.system} is {apart} from {self.baseline} in {self.score}{cost}"
        text = f"{text}; {self._conclusion(examples)}"
        if self.is_unchanged:
            text += "; it passed on all contexts unchanged (is it switched on?)"
        return text

    def is_ranked(self, *, by_score: bool) -> bool:
        """Whether something of the system was measured, so that it can be the best.

        `by_score` says that systems are ranked by a score: then a system that is right on no
        example, as the baseline is, is not ranked either.
        """
        is_unknown = self.outcome == "not measured" or self.is_blank
        return self.outcome not in ("failed", "unchanged") and not (by_score and is_unknown)

    def _mean(self) -> str:
        return f"{self.score} {_number(self.mean, self.mean_low, self.mean_high)}"

    def _statement(self, examples: str) -> str:
        """The sentence that replaces a comparison."""
        if self.outcome == "failed":
            return f"{self.system} failed on {_all(self.n_rows, 'row')}"
        if self.outcome == "unchanged":
            contexts = _all(self.n_rows - self.n_failed, "context")
            return f"{self.system} passed on {contexts} unchanged (is it switched on?)"
        if self.is_blank:
            return f"{self.system} is right on 0 of {examples} ({self._mean()})"
        if self.system == self.baseline:
            rows = "its only row" if self.n_rows == 1 else f"any of its {self.n_rows:,} rows"
            return f"{self.system} has no score {self.score!r} in {rows}"
        if self.n == 0:
            return f"{self.system} shares no scored example with {self.baseline}"
        why = f"{self.score} cannot be compared, as both are right on no example"
        if self.tokens is None:
            return f"{self.system}: {why}"
        return f"{self.system} sends {_percent(self.tokens)} of {self.baseline}'s tokens; its {why}"

    def _conclusion(self, examples: str) -> str:
        if self.p_value is None and self.outcome == "undecided":
            return format_too_few(self.n, self.clusters)
        p_value = format_p_value(self.p_value or 0.0, self.n_tests)
        kind = "gain" if (self.difference or 0) > 0 else "loss"
        if self.outcome == "better" and self.unseen is not None:
            return f"significant gain ({p_value}), but {format_unseen_loss(self.unseen)}"
        if self.outcome != "undecided":
            return f"significant {kind} ({p_value})"
        if not self.difference:
            return f"no significant difference ({p_value})"
        are = "is" if self.n == 1 else "are"
        needed = "" if self.needed is None else f" ({format_needed(self.needed)} needed)"
        return f"no significant {kind} ({p_value}), but {examples} {are} too few to tell{needed}"


def format_p_value(p_value: float, n_tests: int) -> str:
    """A p-value, and for how many comparisons it is adjusted."""
    shown = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    return shown if n_tests < 2 else f"{shown}, adjusted for {n_tests:,} comparisons"


def format_needed(count: int) -> str:
    """About how many examples are needed: two digits, as it is a guess."""
    if count > MOST_NEEDED:
        return f"more than {MOST_NEEDED:,}"
    digits = max(0, len(str(count)) - 2)
    return f"about {round(count, -digits):,}"


def format_too_few(n: int, clusters: int | None) -> str:
    """The statement on a difference that has too few independent units to test."""
    units, kind = (n, "examples") if clusters is None else (clusters, "independent sources")
    return f"too few {kind} to test ({units:,}; at least {FEWEST_UNITS} needed)"


def format_unseen_loss(share: float) -> str:
    """The statement on losses that a sample without them, or with few of them, can miss."""
    return f"a rare large loss, in up to {format_share(share)} of examples, may be unseen"


def _all(count: int, noun: str) -> str:
    return f"its only {noun}" if count == 1 else f"all {count:,} {noun}s"


def _percent(share: float) -> str:
    return f"{100 * share:,.0f}%"


def format_share(share: float) -> str:
    """A share in percent, which is not rounded to zero."""
    return _percent(share) if share >= 0.01 else f"{100 * share:.1g}%"


def _number(value: float | None, low: float | None, high: float | None, *, sign: str = "") -> str:
    if value is None:
        return "unknown"
    return f"{value:{sign}.3f}" + _bounds(low, high, 1, 2)


def _bounds(low: float | None, high: float | None, scale: float, digits: int) -> str:
    if low is None or high is None:
        return ""
    while True:
        shown = f"{low * scale:.{digits}f}", f"{high * scale:.{digits}f}"
        if shown[0] != shown[1] or low == high or digits >= _MOST_DIGITS:
            return f" [{shown[0]}, {shown[1]}]"
        digits += 1  # of many examples: two bounds that look alike would tell nothing


# -- comparisons -------------------------------------------------------------------------------


class _Side:
    """One system of a comparison: its scores and tokens row by row, and what became of its rows."""

    def __init__(
        self, rows: Sequence[EvalRow], score: str, threshold: float, record: Mapping[str, Any]
    ) -> None:
        scores: list[float] = []
        self.tokens: list[float] = []
        self.contexts = ContextTotals()
        for row in rows:  # once, as they may be on disk
            value = row.scores.get(score, math.nan)
            scores.append(math.nan if row.error is not None else value)
            self.tokens.append(row.output_tokens)
            self.contexts.add(row)
        self.terms = Terms(scores, kind="score")
        self.n_rows = len(scores)
        self.n_failed = self.contexts.n_failed
        self.is_right = any(value >= threshold for value in scores)
        self.is_blank = is_blank(scores, threshold)
        self.has_any = not all(map(math.isnan, scores))
        self._digest = record.get("digest")
        self._reader = (record.get("stages") or (record,))[-1].get("digest")

    def is_unchanged(self, base: _Side) -> bool:
        """Whether a system that only adds stages to the baseline's reader passes on all contexts."""
        if not (self.contexts.is_unchanged and base.contexts.is_unchanged):
            return False
        if not self._digest or not base._digest or self._digest == base._digest:
            return False  # the same system once more, or nothing is known
        return bool(self._digest != self._reader == base._reader)

    def find_outcome(self, base: _Side, difference: Difference | None) -> Outcome | None:
        """The outcome that replaces the comparison with the baseline; None if there is a comparison.

        A stage that leaves the context alone and changes scores may have changed something else,
        so it is compared.
        """
        if self.n_rows and self.n_failed == self.n_rows:
            return "failed"
        if not (difference and difference.n_differ) and self.is_unchanged(base):
            return "unchanged"
        if difference is None or (base.is_blank and not self.is_right):
            return "not measured"
        return None


def compare_systems(
    rows_by_system: Mapping[str, Sequence[EvalRow]],
    score: str,
    config: Mapping[str, Any],
    units: Mapping[str, Units] | None = None,
    *,
    baseline: str | None = None,
) -> list[Verdict]:
    """A verdict on each system: the baseline first, the others in their order.

    The baseline is that of all systems with a score, unless it is named. If no system has the
    score, or the only system is right on no example, the verdicts state that. The `config` of the
    run has the threshold from which a score is right, and the records of the systems, which show
    which systems only put stages before the reader of the baseline.
    """
    threshold = float(config.get("settings", {}).get("threshold", THRESHOLD))
    records = {str(record.get("name")): record for record in config.get("systems") or ()}
    sides = {
        system: _Side(rows, score, threshold, records.get(system, {}))
        for system, rows in rows_by_system.items()
    }
    units = units or {system: Units.of(rows) for system, rows in rows_by_system.items()}

    def make(system: str, **facts: Any) -> Verdict:
        side = sides[system]
        facts = {"baseline": base, "n": 0, "n_rows": side.n_rows, "n_failed": side.n_failed} | facts
        return Verdict(system=system, score=score, **facts)

    base = baseline or ContextTotals.find_baseline(
        {s: one.contexts for s, one in sides.items() if one.has_any}
    )
    if base is None:
        alone = {s: one.find_outcome(one, None) for s, one in sides.items() if one.n_rows}
        return [make(system, baseline=system, outcome=o) for system, o in alone.items()]
    of_base = sides[base]
    own = of_base.terms.estimate(units[base])
    outcome = "not measured" if len(sides) == 1 else "baseline"
    facts = {"outcome": outcome, "is_blank": of_base.is_blank, **_list_bounds("mean", own)}
    verdicts = [make(base, n=own.n if own else 0, **facts)]
    if len(sides) == 1:
        return verdicts if of_base.is_blank else []
    compared = {
        system: _compare(side, of_base, units[system], units[base])
        for system, side in sides.items()
        if system != base
    }
    outcomes = {s: sides[s].find_outcome(of_base, found) for s, (found, _) in compared.items()}
    raw = {
        s: d.p_value
        for s, (d, _) in compared.items()
        if d and d.p_value is not None and not outcomes[s]
    }
    adjusted = dict(zip(raw, holm(list(raw.values())), strict=True))
    for system, (difference, shares) in compared.items():
        if difference is None or outcomes[system]:
            n, tokens = difference.n if difference else 0, shares.get("tokens")
            verdicts.append(make(system, outcome=outcomes[system], n=n, tokens=tokens))
        else:
            facts = _conclude(difference, adjusted.get(system), len(raw)) | shares
            verdicts.append(make(system, is_unchanged=sides[system].is_unchanged(of_base), **facts))
    return verdicts


def _pair(first: Units, second: Units) -> tuple[Sequence[int], Sequence[int], Units]:
    """The positions of the rows of the same examples in each of two systems, and their units."""
    if first.keys == second.keys:
        return range(first.n_rows), range(first.n_rows), first
    where = {key: i for i, key in enumerate(second.keys)}
    left = [i for i, key in enumerate(first.keys) if key in where]
    return left, [where[first.keys[i]] for i in left], first.at(left)


def _compare(
    mine: _Side, base: _Side, units: Units, base_units: Units
) -> tuple[Difference | None, dict[str, Any]]:
    """The difference of scores, and the shares of quality and of tokens for a verdict."""
    left, right, paired = _pair(units, base_units)
    first, second = mine.terms.at(left), base.terms.at(right)
    difference = difference_of(first, second, paired)
    if difference is None:
        return None, {}
    # NaN, which does not count, where either has no score.
    nothing = [0.0 * (a - b) for a, b in zip(first.x, second.x, strict=True)]
    own_tokens = map(add, (mine.tokens[i] for i in left), nothing)
    tokens = Terms(list(own_tokens), [base.tokens[i] for i in right]).estimate(paired)
    varies = tokens is not None and (tokens.stderr or 0.0) > 1e-12 * abs(tokens.value)
    shares = _list_bounds("tokens", tokens, has_bounds=varies)
    kept = Terms(list(map(add, first.x, nothing)), second.x, "score")
    # A share of what may be negative, or of next to nothing, means nothing.
    if min(kept.select(second.x)) >= 0 and not base.is_blank:
        shares |= _list_bounds("kept", kept.estimate(paired), has_bounds=bool(difference.stderr))
    return difference, shares


def _list_bounds(name: str, found: Estimate | None, *, has_bounds: bool = True) -> dict[str, Any]:
    """A value of a verdict, and both bounds unless one is missing."""
    if found is None:
        return {}
    low, high = None, None
    if has_bounds and found.interval is not None and found.is_bounded:
        low, high = found.interval
    return {name: found.value, f"{name}_low": low, f"{name}_high": high}


def _conclude(difference: Difference, p_value: float | None, n_tests: int) -> dict[str, Any]:
    """The fields of a verdict that a difference gives."""
    outcome: Outcome = "undecided"
    needed = None
    if p_value is not None and p_value <= ALPHA:
        outcome = "better" if difference.value > 0 else "worse"
    elif p_value is not None and difference.stderr:
        alpha = ALPHA / n_tests
        needed = examples_needed(difference.stderr, difference.n, difference.value, alpha=alpha)
        if needed is not None and needed <= difference.n:
            needed = None  # clusters are too few, not examples
    low, high = difference.interval or (None, None)
    shown = {name: getattr(difference, name) for name in ("n", "clusters", "n_differ", "unseen")}
    numbers = {"difference": difference.value, "low": low, "high": high}
    tested = {"p_value": p_value, "n_tests": n_tests, "needed": needed}
    return {"outcome": outcome, **shown, **numbers, **tested}


# -- the best system ---------------------------------------------------------------------------


def find_ties(
    ranked: Mapping[str, Measured], units: Mapping[str, Units], verdicts: Sequence[Verdict] = ()
) -> tuple[list[str], list[str] | None]:
    """The best systems by a value, and those that are not significantly different: its ties.

    The same examples choose the best system and compare it, so each p-value is adjusted for all
    pairs of systems. `verdicts` are those on the same score, if there are any. Ties never
    contradict them: without a significant verdict all systems are ties, and the baseline is
    judged as its verdicts say. The ties are None if no system is best by this value, if all
    values are equal, or if a pair has too few independent units to test.
    """
    better = next((value.better for value in ranked.values()), None)
    if better is None or len(set(map(float, ranked.values()))) < 2:
        return [], None
    highest = (max if better == "higher" else min)(map(float, ranked.values()))
    best = [system for system, value in ranked.items() if float(value) == highest]
    others = [system for system in ranked if system not in best]
    n_pairs = len(ranked) * (len(ranked) - 1) // 2
    mine = ranked[best[0]].terms
    ties = []
    for other in others:
        theirs = ranked[other].terms
        left, right, paired = _pair(mine.units(units[best[0]]), theirs.units(units[other]))
        found = difference_of(mine.at(left), theirs.at(right), paired)
        if found is not None and found.n_units < FEWEST_UNITS:
            return best, None
        if found is None or found.p_value is None or found.p_value * n_pairs > ALPHA:
            ties.append(other)
    return best, _agree_with(best[0], others, ties, mine, verdicts)


def _agree_with(
    best: str, others: list[str], ties: list[str], terms: Terms, verdicts: Sequence[Verdict]
) -> list[str]:
    """The ties with the best system that do not contradict the verdicts."""
    outcomes = {one.system: one.outcome for one in verdicts}
    if not outcomes:
        return ties
    if not {"better", "worse"} & set(outcomes.values()):
        return others
    if terms.kind == "rate":  # the pass rate is not the score that the verdicts compare
        return ties
    if outcomes.get(best) == "baseline":
        return [other for other in others if outcomes.get(other) != "worse"]
    if outcomes.get(best) != "better":
        return [o for o in others if o in ties or outcomes.get(o) == "baseline"]
    return [o for o in ties if outcomes.get(o) != "baseline"]


def allow_for_choice(estimate: Estimate, value: Measured, units: Units, n_systems: int) -> Estimate:
    """The estimate of the best of several systems, with an interval that allows for choosing it.

    Choosing the best value makes it look better than it is, so the bound on the other side is
    that of a Bonferroni interval for all systems.
    """
    wide = value.terms.estimate(units, confidence=1 - ALPHA / n_systems)
    if n_systems < 2 or estimate.interval is None or wide is None or wide.interval is None:
        return estimate
    low, high = estimate.interval
    if value.better == "higher":
        low = wide.interval[0]
    else:
        high = wide.interval[1]
    return attrs.evolve(estimate, interval=(low, high), best_of=n_systems)
