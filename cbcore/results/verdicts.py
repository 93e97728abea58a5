"""What to make of each system beside the others of its run, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import attrs

from cbcore.results.baselines import ContextTotals, baseline_of
from cbcore.results.thresholds import THRESHOLD, is_blank
from cbcore.stats import Estimate, Measured, Units, estimate_of
from cbcore.stats._estimates import FEWEST_UNITS
from cbcore.stats._measured import Terms
from cbcore.stats._paired import Difference, difference_of, examples_needed, holm

if TYPE_CHECKING:
    from cbcore.results import EvalRow

__all__ = (
    "ALPHA",
    "Statements",
    "Verdict",
    "find_unranked",
    "format_needed",
    "format_p_value",
    "too_few",
    "unseen_loss",
)

ALPHA = 0.05
"""How often chance alone may be called a difference."""

MOST_NEEDED = 10_000
"""A larger number of examples that would be needed is not printed: the guess is too rough."""

_MOST_DIGITS = 6


Outcome = Literal["baseline", "better", "worse", "undecided", "failed", "unchanged", "not measured"]
NO_COMPARISON: tuple[Outcome, ...] = ("failed", "unchanged", "not measured")
"""Outcomes of systems that cannot be compared with the baseline."""


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
            mean = f"{self.score} {_number(self.mean, self.mean_low, self.mean_high)}"
            if self.is_blank:
                return (
                    f"{self.system} is the baseline and is right on 0 of {examples} ({mean}): "
                    "its reader cannot do this task, so quality kept cannot be measured"
                )
            return f"{self.system} is the baseline: {mean} on {examples}"
        if self.outcome in NO_COMPARISON:
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
            told = f"{self.system} keeps {kept} of {self.baseline}'s {self.score}{cost}"
        else:
            apart = _number(self.difference, self.low, self.high, sign="+")
            told = f"{self.system} is {apart} from {self.baseline} in {self.score}{cost}"
        passed_on = (
            "; it passed on all contexts unchanged (is it switched on?)"
            if self.is_unchanged
            else ""
        )
        return f"{told}; {self._conclusion(examples)}{passed_on}"

    @property
    def is_tested(self) -> bool:
        """Whether there were enough independent units to test the difference."""
        return self.p_value is not None

    def _statement(self, examples: str) -> str:
        """What happened in place of a comparison."""
        if self.outcome == "failed":
            return f"{self.system} failed on {_all(self.n_rows, 'row')}"
        if self.outcome == "unchanged":
            contexts = _all(self.n_rows - self.n_failed, "context")
            return f"{self.system} passed on {contexts} unchanged (is it switched on?)"
        if self.is_blank:
            mean = f"{self.score} {_number(self.mean, self.mean_low, self.mean_high)}"
            return f"{self.system} is right on 0 of {examples} ({mean})"
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
            return too_few(self.n, self.clusters)
        p_value = format_p_value(self.p_value or 0.0, self.n_tests)
        is_gain = self.outcome == "better" or (self.difference or 0) > 0
        kind = "gain" if is_gain else "loss"
        if self.outcome == "better" and self.unseen is not None:
            return f"significant gain ({p_value}), but {unseen_loss(self.unseen)}"
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


def too_few(n: int, clusters: int | None) -> str:
    """The statement on a difference that has too few independent units to test."""
    units, kind = (n, "examples") if clusters is None else (clusters, "independent sources")
    return f"too few {kind} to test ({units:,}; at least {FEWEST_UNITS} needed)"


def unseen_loss(share: float) -> str:
    """The statement on losses that a sample without them, or with few of them, can miss."""
    return f"a rare large loss, in up to {format_share(share)} of examples, may be unseen"


def not_told_from_best(
    measured: Mapping[str, Measured], units: Mapping[str, Units], verdicts: Sequence[Verdict] = ()
) -> list[str] | None:
    """The systems that are not significantly different from the best one: its ties.

    The same examples choose the best system and compare it, so each p-value is adjusted for all
    pairs of systems. `verdicts` are those on the same score, if there are any. Ties never
    contradict them: without a significant verdict all systems are ties, and the baseline is
    judged as its verdicts say. None if no system is best by this value, if all values are equal,
    or if a pair has too few independent units to test.
    """
    values = {system: value for system, value in measured.items() if math.isfinite(value)}
    better = next((value.better for value in values.values()), None)
    if better is None or len(set(map(float, values.values()))) < 2:
        return None
    choose = max if better == "higher" else min
    best = choose(values, key=lambda system: float(values[system]))
    others = [system for system in values if float(values[system]) != float(values[best])]
    n_pairs = len(values) * (len(values) - 1) // 2
    ties = []
    for other in others:
        mine, theirs = values[best].terms, values[other].terms
        pair = _Pair.of(mine.units(units[best]), theirs.units(units[other]))
        found = difference_of(*pair.terms(mine, theirs), pair.units)
        if found is not None and found.n_units < FEWEST_UNITS:
            return None
        p_value = None if found is None else found.p_value
        if p_value is None or p_value * n_pairs > ALPHA:
            ties.append(other)
    return _agree_with(best, others, ties, values[best].terms, verdicts)


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
    wide = estimate_of(value.terms, units, confidence=1 - ALPHA / n_systems)
    if n_systems < 2 or estimate.interval is None or wide is None or wide.interval is None:
        return estimate
    low, high = estimate.interval
    if value.better == "higher":
        low = wide.interval[0]
    else:
        high = wide.interval[1]
    return attrs.evolve(estimate, interval=(low, high), best_of=n_systems)


def verdicts_of(
    rows_by_system: Mapping[str, Sequence[EvalRow]],
    score: str,
    units: Mapping[str, Units],
    baseline: str | None = None,
    *,
    threshold: float = THRESHOLD,
    records: Collection[Mapping[str, Any]] = (),
) -> list[Verdict]:
    """What to make of each system: the baseline first, the others in their order.

    The baseline is, unless it is named, the `baseline_of` all systems with a score. If no system
    has the score, or the only system is right on no example, the verdicts state that. A score that reaches the `threshold` is right. `records` describe the
    systems, as the config of a run does: they show which systems only put stages before the
    reader of the baseline.
    """
    seen = Statements(rows_by_system, score, threshold=threshold, records=records)
    measured = seen.scores
    base = baseline or seen.baseline()
    if base is None:
        alone = (seen.of(system, system, n=0) for system, rows in rows_by_system.items() if rows)
        return [one for one in alone if one is not None]
    own = estimate_of(measured[base].score, units[base])
    verdicts = [_baseline(base, score, own, measured[base])]
    if len(rows_by_system) == 1:
        blank = attrs.evolve(verdicts[0], outcome="not measured")
        return [blank] if blank.is_blank else []
    others = [system for system in rows_by_system if system != base]
    found = {system: _compared(system, base, measured, units) for system in others}
    stated = {
        system: seen.of(
            *(system, base),
            n=0 if difference is None else difference.n,
            is_tied=difference is None or not difference.wins + difference.losses,
            tokens=None if tokens is None else tokens.value,
        )
        for system, (difference, _, tokens) in found.items()
    }
    raw = {
        system: difference.p_value
        for system, (difference, _, _) in found.items()
        if stated[system] is None and difference is not None and difference.p_value is not None
    }
    adjusted = dict(zip(raw, holm(list(raw.values())), strict=True))
    for system, (difference, kept, tokens) in found.items():
        if (statement := stated[system]) is not None or difference is None:
            verdicts += [] if statement is None else [statement]
            continue
        verdict = _verdict(
            *(system, base, score, difference, adjusted.get(system), kept, tokens), len(raw)
        )
        if measured[base].is_blank:  # a share of next to nothing
            verdict = attrs.evolve(verdict, kept=None, kept_low=None, kept_high=None)
        is_unchanged = seen.is_unchanged(system, base)
        counts = measured[system].counts()
        verdicts.append(attrs.evolve(verdict, **counts, is_unchanged=is_unchanged))
    return verdicts


def find_unranked(verdicts: Iterable[Verdict], *, by_score: bool) -> frozenset[str]:
    """The systems of which nothing was measured, so none of them can be the best.

    `by_score` says that systems are ranked by a score: then a system that is right on no
    example, as the baseline is, is not ranked either.
    """
    return frozenset(
        one.system
        for one in verdicts
        if one.outcome in ("failed", "unchanged")
        or (by_score and (one.outcome == "not measured" or one.is_blank))
    )


class _Reader(NamedTuple):
    """What a system's record says: the digest of the whole, and of the stage that answers."""

    whole: str
    last: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> _Reader:
        stages = record.get("stages") or (record,)
        return cls(str(record.get("digest") or ""), str(stages[-1].get("digest") or ""))


class _Scores(NamedTuple):
    """The scores and the tokens of one system, row by row, and what became of its rows."""

    score: Terms
    tokens: Sequence[float]
    totals: ContextTotals
    has_any: bool
    n_rows: int = 0
    n_failed: int = 0
    n_right: int = 0
    is_blank: bool = False

    @classmethod
    def of(cls, rows: Sequence[EvalRow], score: str, threshold: float) -> _Scores:
        scores: list[float] = []
        tokens: list[float] = []
        totals = ContextTotals()
        n_failed = n_right = 0
        has_any = False
        for row in rows:
            value = math.nan
            if row.error is None:
                value = row.scores.get(score, math.nan)
                n_right += value >= threshold
                has_any = has_any or not math.isnan(value)
            else:
                n_failed += 1
            scores.append(value)
            tokens.append(row.output_tokens)
            totals.add(row)
        return cls(
            *(Terms(scores, kind="score"), tokens, totals, has_any),
            *(len(scores), n_failed, n_right),
            is_blank=is_blank(scores, threshold),
        )

    def counts(self) -> dict[str, Any]:
        """How many rows there are, and how many of them failed."""
        return {"n_rows": self.n_rows, "n_failed": self.n_failed}


class Statements:
    """What happened, for pairs of systems that cannot be compared.

    `threshold` and `records` are those of `verdicts_of`.
    """

    def __init__(
        self,
        rows_by_system: Mapping[str, Sequence[EvalRow]],
        score: str,
        *,
        threshold: float = THRESHOLD,
        records: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        self.scores = {
            system: _Scores.of(rows, score, threshold) for system, rows in rows_by_system.items()
        }
        self._score = score
        self._readers = {str(record.get("name")): _Reader.of(record) for record in records}

    def baseline(self) -> str | None:
        """The baseline of the systems that have a score."""
        return baseline_of({s: found.totals for s, found in self.scores.items() if found.has_any})

    def of(
        self,
        system: str,
        baseline: str,
        *,
        n: int,
        is_tied: bool = True,
        tokens: float | None = None,
    ) -> Verdict | None:
        """The verdict that replaces a comparison on `n` examples; None where one can be made.

        `is_tied` says that no score differs. A stage that leaves the context alone and changes
        scores may have changed something else, so it is compared.
        """
        mine, base = self.scores[system], self.scores[baseline]
        outcome: Outcome | None = None
        if mine.n_rows and mine.n_failed == mine.n_rows:
            outcome = "failed"
        elif is_tied and self.is_unchanged(system, baseline):
            outcome = "unchanged"
        elif n == 0 or (base.is_blank and not mine.n_right):
            outcome = "not measured"
        if outcome is None:
            return None
        return Verdict(
            system=system,
            baseline=baseline,
            score=self._score,
            outcome=outcome,
            n=n,
            tokens=tokens,
            **mine.counts(),
        )

    def is_unchanged(self, system: str, baseline: str) -> bool:
        """Whether a system that only adds stages to the baseline's reader passes on all contexts."""
        if not all(self.scores[one].totals.is_unchanged for one in (system, baseline)):
            return False
        mine, base = self._readers.get(system), self._readers.get(baseline)
        if mine is None or base is None or mine.whole == base.whole:
            return False  # the same system once more, or nothing is known
        return mine.whole != mine.last == base.last


class _Pair(NamedTuple):
    """Where the rows of the same examples stand in each of two systems."""

    first: Sequence[int] | None
    second: Sequence[int] | None
    units: Units

    @classmethod
    def of(cls, first: Units, second: Units) -> _Pair:
        if first.keys == second.keys:
            return cls(None, None, first)
        where = {key: i for i, key in enumerate(second.keys)}
        left = [i for i, key in enumerate(first.keys) if key in where]
        return cls(left, [where[first.keys[i]] for i in left], first.at(left))

    def terms(self, first: Terms, second: Terms) -> tuple[Terms, Terms]:
        return (
            first if self.first is None else first.at(self.first),
            second if self.second is None else second.at(self.second),
        )


def _compared(
    system: str, base: str, measured: Mapping[str, _Scores], units: Mapping[str, Units]
) -> tuple[Difference | None, Estimate | None, Estimate | None]:
    """The difference of scores, the share that is kept, and the share of tokens."""
    pair = _Pair.of(units[system], units[base])
    mine, theirs = pair.terms(measured[system].score, measured[base].score)
    difference = difference_of(mine, theirs, pair.units)
    if difference is None:
        return None, None, None
    tokens = Terms(measured[system].tokens, measured[base].tokens)
    if pair.first is not None and pair.second is not None:
        tokens = Terms(
            [measured[system].tokens[i] for i in pair.first],
            [measured[base].tokens[i] for i in pair.second],
        )
    # NaN, which does not count, where either has no score.
    nothing = [0.0 * (a - b) for a, b in zip(mine.x, theirs.x, strict=True)]
    share = estimate_of(Terms(list(map(add, tokens.x, nothing)), tokens.y), pair.units)
    kept = Terms(list(map(add, mine.x, nothing)), theirs.x, "score")
    # A share of what may be negative, or of nothing, means nothing.
    if min(kept.counted(theirs.x)) < 0:
        return difference, None, share
    return difference, estimate_of(kept, pair.units), share


def _baseline(system: str, score: str, own: Estimate | None, seen: _Scores) -> Verdict:
    low, high = own.interval if own is not None and own.interval else (None, None)
    return Verdict(
        system=system,
        baseline=system,
        score=score,
        outcome="baseline",
        n=own.n if own is not None else 0,
        mean=own.value if own is not None else None,
        mean_low=low,
        mean_high=high,
        is_blank=seen.is_blank,
        **seen.counts(),
    )


def _verdict(
    system: str,
    base: str,
    score: str,
    difference: Difference,
    p_value: float | None,
    kept: Estimate | None,
    tokens: Estimate | None,
    n_tests: int,
) -> Verdict:
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
    kept_low, kept_high = _interval(kept if difference.stderr else None)
    tokens_low, tokens_high = _interval(tokens if tokens and _varies(tokens) else None)
    return Verdict(
        system=system,
        baseline=base,
        score=score,
        outcome=outcome,
        n=difference.n,
        kept=kept.value if kept is not None else None,
        kept_low=kept_low,
        kept_high=kept_high,
        tokens=tokens.value if tokens is not None else None,
        tokens_low=tokens_low,
        tokens_high=tokens_high,
        difference=difference.value,
        low=low,
        high=high,
        p_value=p_value,
        n_tests=n_tests,
        clusters=difference.clusters,
        n_differ=difference.wins + difference.losses,
        needed=needed,
        unseen=difference.unseen,
    )


def _interval(estimate: Estimate | None) -> tuple[float | None, float | None]:
    """Both bounds, or none where one is missing."""
    if estimate is None or estimate.interval is None or not estimate.is_bounded:
        return None, None
    return estimate.interval


def _varies(share: Estimate) -> bool:
    """Whether it was seen to differ among the examples, by more than rounding."""
    return share.stderr is not None and share.stderr > 1e-12 * abs(share.value)


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
