"""What to make of each system beside the others of its run, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import add
from typing import TYPE_CHECKING, Literal, NamedTuple

import attrs

from cbcore.stats import Estimate, Measured, Units, estimate_of
from cbcore.stats._measured import Terms
from cbcore.stats._paired import Difference, difference_of, examples_needed, holm

if TYPE_CHECKING:
    from cbcore.results import EvalRow

__all__ = ("Verdict",)

ALPHA = 0.05
"""How often chance alone may be called a difference."""

_MOST_DIGITS = 6

Outcome = Literal["baseline", "better", "worse", "undecided"]


@attrs.frozen(kw_only=True)
class Verdict:
    """One system against the baseline, on the examples that both have a score for.

    `kept` is the share of the baseline's mean score, with its 95 % interval; None where that
    means nothing, as with a mean of zero. `tokens` is the share of its tokens, with its interval
    where that share differs among the examples. `difference` is that of the means. `p_value` is adjusted for the number of systems. `needed` is about how
    many examples would show a difference as large as the one that was seen. Where none differs,
    `unseen` is the share of all examples that may differ nevertheless (95 %).
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
    needed: int | None = None
    unseen: float | None = None

    @property
    def sentence(self) -> str:
        """The verdict, for people."""
        examples = f"{self.n:,} example{'' if self.n == 1 else 's'}"
        if self.outcome == "baseline":
            return (
                f"{self.system} is the baseline: {self.score} "
                f"{_number(self.mean, self.mean_low, self.mean_high)} on {examples}"
            )
        if self.n == 0:
            return f"{self.system} shares no scored example with {self.baseline}"
        cost = ""
        if self.tokens is not None:
            bounds = _bounds(self.tokens_low, self.tokens_high, 100, 0)
            cost = f" at {_percent(self.tokens)}{bounds} of its tokens"
        if self.unseen is not None or self.difference == self.low == self.high == 0:
            # No interval: of what was never seen to differ, equal scores do not tell how much.
            each = "the one example" if self.n == 1 else f"each of {examples}"
            told = f"{self.system} scores as {self.baseline} does on {each}{cost}"
            if self.unseen is None:
                return told
            return f"{told}; up to {_small_percent(self.unseen)} of others may differ"
        if self.kept is not None:
            kept = _percent(self.kept) + _bounds(self.kept_low, self.kept_high, 100, 0)
            told = f"{self.system} keeps {kept} of {self.baseline}'s {self.score}{cost}"
        else:
            apart = _number(self.difference, self.low, self.high, sign="+")
            told = f"{self.system} is {apart} from {self.baseline} in {self.score}{cost}"
        return f"{told}; {self._conclusion(examples)}"

    def _conclusion(self, examples: str) -> str:
        is_sized = self.kept is None or self.kept_low is not None
        do = "does" if self.n == 1 else "do"
        if self.outcome != "undecided":
            size = "" if is_sized else f", how large it is {examples} {do} not tell"
            return f"the {'gain' if self.outcome == 'better' else 'loss'} is real{size}"
        if not self.difference:
            return f"{examples} {do} not tell which is better"
        kind = "gain" if self.difference > 0 else "loss"
        size = "" if is_sized else ", nor how large it is"
        would = "" if self.needed is None else f" (about {_about(self.needed)} would)"
        return f"{examples} {do} not tell whether the {kind} is real{size}{would}"


def not_told_from_best(
    measured: Mapping[str, Measured], units: Mapping[str, Units]
) -> list[str] | None:
    """The systems whose value the examples do not tell from the best one's.

    None where nothing is best by this value, or there is nothing to tell apart.
    """
    values = {system: value for system, value in measured.items() if math.isfinite(value)}
    better = next((value.better for value in values.values()), None)
    if better is None or len(set(map(float, values.values()))) < 2:
        return None
    choose = max if better == "higher" else min
    best = choose(values, key=lambda system: float(values[system]))
    others = [system for system in values if float(values[system]) != float(values[best])]
    p_values = []
    for other in others:
        mine, theirs = values[best].terms, values[other].terms
        pair = _Pair.of(mine.units(units[best]), theirs.units(units[other]))
        found = difference_of(*pair.terms(mine, theirs), pair.units)
        p_value = None if found is None else found.p_value
        p_values.append(1.0 if p_value is None else p_value)
    return [other for other, p in zip(others, holm(p_values), strict=True) if p > ALPHA]


def verdicts_of(
    rows_by_system: Mapping[str, Sequence[EvalRow]],
    score: str,
    units: Mapping[str, Units],
    baseline: str | None = None,
) -> list[Verdict]:
    """What to make of each system: the baseline first, the others in their order.

    The baseline is, unless it is named, the first system that leaves the context whole, or else
    the first of all. Nothing without a system that has the score.
    """
    measured = {system: _Scores.of(rows, score) for system, rows in rows_by_system.items()}
    scored = [system for system, found in measured.items() if found.has_any]
    if not scored:
        return []
    base = baseline or next((s for s in scored if measured[s].keeps_all), scored[0])
    own = estimate_of(measured[base].score, units[base])
    verdicts = [_baseline(base, score, own)]
    found = [
        _compared(system, base, measured, units) for system in rows_by_system if system != base
    ]
    adjusted = holm([1.0 if d is None or d.p_value is None else d.p_value for d, _, _ in found])
    others = (system for system in rows_by_system if system != base)
    for system, p_value, (difference, kept, tokens) in zip(others, adjusted, found, strict=True):
        verdicts.append(_verdict(system, base, score, difference, p_value, kept, tokens))
    return verdicts


class _Scores(NamedTuple):
    """The scores and the tokens of one system, row by row."""

    score: Terms
    tokens: Sequence[float]
    keeps_all: bool
    has_any: bool

    @classmethod
    def of(cls, rows: Sequence[EvalRow], score: str) -> _Scores:
        scores: list[float] = []
        tokens: list[float] = []
        n_input = n_output = 0
        for row in rows:
            value = row.scores.get(score, math.nan) if row.error is None else math.nan
            scores.append(value)
            tokens.append(row.output_tokens)
            if row.error is None:
                n_input += row.input_tokens
                n_output += row.output_tokens
        has_any = any(value == value for value in scores)  # noqa: PLR0124 - NaN differs from itself
        return cls(Terms(scores, kind="score"), tokens, n_output >= n_input, has_any)


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
    kept = Terms(list(map(add, mine.x, nothing)), theirs.x)
    # A share of what may be negative, or of nothing, means nothing.
    if min(kept.counted(theirs.x)) < 0:
        return difference, None, share
    return difference, estimate_of(kept, pair.units), share


def _baseline(system: str, score: str, own: Estimate | None) -> Verdict:
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
    )


def _verdict(
    system: str,
    base: str,
    score: str,
    difference: Difference | None,
    p_value: float,
    kept: Estimate | None,
    tokens: Estimate | None,
) -> Verdict:
    if difference is None:
        return Verdict(system=system, baseline=base, score=score, outcome="undecided", n=0)
    outcome: Outcome = "undecided"
    needed = unseen = None
    if not difference.wins and not difference.losses:
        # That share of examples which, were it to differ, would show none in 5 of 100 samples.
        unseen = 1 - ALPHA ** (1 / (difference.clusters or difference.n))
    if p_value <= ALPHA:
        outcome = "better" if difference.value > 0 else "worse"
    elif difference.stderr:
        needed = examples_needed(difference.stderr, difference.n, difference.value)
        if needed is not None and needed <= difference.n:
            needed = None  # what counts are clusters, or there are many systems: not examples alone
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
        p_value=p_value if difference.p_value is not None else None,
        needed=needed,
        unseen=unseen,
    )


def _interval(estimate: Estimate | None) -> tuple[float | None, float | None]:
    """Both bounds, or none where one is missing."""
    if estimate is None or estimate.interval is None or not estimate.is_bounded:
        return None, None
    return estimate.interval


def _varies(share: Estimate) -> bool:
    """Whether it was seen to differ among the examples, by more than rounding."""
    return share.stderr is not None and share.stderr > 1e-12 * abs(share.value)


def _percent(share: float) -> str:
    return f"{100 * share:,.0f}%"


def _small_percent(share: float) -> str:
    """As `_percent`, and below one not rounded to none."""
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


def _about(count: int) -> str:
    """A number to two digits: it is a guess."""
    digits = max(0, len(str(count)) - 2)
    return f"{round(count, -digits):,}"
