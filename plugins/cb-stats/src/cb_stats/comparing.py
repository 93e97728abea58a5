"""Systems on the same examples: within one run pair by pair, or from one run to the next."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import sub
from typing import Any

import attrs

from cb_stats.noninferiority import judge
from cb_stats.records import Comparison, CostInterval, Options, Report, Verdict
from cb_stats.resampling import front_shares, permutation_p_value
from cb_stats.sameness import other_data
from cb_stats.samples import Key, Pairs, Question, grouped, sides_of
from cbcore.exceptions import ResultError, UsageError
from cbcore.names import hint
from cbcore.results import EvalResult
from cbcore.stats import (
    Estimate,
    examples_needed,
    holm,
    mean_of,
    paired_mean_of,
    smallest_effect,
    t_quantile,
)

MOST_EXAMPLES = 5
"""How many of the examples behind a regression are named."""


def compare_systems(
    result: EvalResult, options: Options | None = None, *, baseline: str | None = None
) -> Report:
    """The systems of one run: all pairs, or each against the `baseline`.

    Of a pair, the system that stands first in the run is the baseline.
    """
    options = options or Options()
    metric = metric_of(result, options.metric)
    sides = sides_of(result, metric)
    if baseline is not None and baseline not in sides:
        raise UsageError(
            f"the run has no system {baseline!r}",
            hint=hint(baseline, sides, f"it has {', '.join(sides)}"),
        )
    if len(sides) < 2:
        raise ResultError(
            "the run has one system, so there is nothing to compare it with",
            hint="name a second run, or run with more than one --system",
        )
    if baseline is None:
        pairs = [(other, first) for first, other in itertools.combinations(sides, 2)]
    else:
        pairs = [(system, baseline) for system in sides if system != baseline]
    found = _compared(
        [(one, other, sides[one], sides[other]) for one, other in pairs],
        *(metric, _parts(result), options),
    )
    return Report(
        f"{len(sides)} systems by {metric}",
        found,
        _pareto(sides, options.seed),
        _remarks(result),
    )


def compare_runs(before: EvalResult, after: EvalResult, options: Options | None = None) -> Report:
    """The same systems in two runs: what the second run has less what the first had.

    Systems are the same by name. Where each run has one system only, those are compared.
    """
    options = options or Options()
    metric = metric_of(after, options.metric)
    metric_of(before, metric)
    old, new = sides_of(before, metric), sides_of(after, metric)
    same = [(system, system) for system in new if system in old]
    if not same and len(old) == len(new) == 1:
        same = [(next(iter(new)), next(iter(old)))]
    if not same:
        raise ResultError(
            f"the runs have no system in common: {', '.join(old)} before, {', '.join(new)} after",
            hint="give systems names of their own: …,name=mine",
        )
    remarks = [
        f"{system} is only in the {which} run"
        for which, mine, other in (("first", old, new), ("second", new, old))
        for system in mine
        if system not in other and len(same) < max(len(old), len(new))
    ]
    found = _compared(
        [(one, other, new[one], old[other]) for one, other in same],
        *(metric, _parts(after), options),
        names=("the second run", "the first run"),
    )
    one, other = same[0]
    changed = other_data((before, old[other]), (after, new[one]))
    remarks += [*_remarks(before), *_remarks(after), *changed]
    return Report(
        f"two runs by {metric}", found, {}, list(dict.fromkeys(remarks)), other_data=bool(changed)
    )


def metric_of(result: EvalResult, asked: str | None) -> str:
    """The score to go by: the one asked for, or that which quality means in the run."""
    metric = asked or str(result.config.get("score_field") or "f1")
    known = dict.fromkeys(name for row in result.rows for name in row.scores)
    if metric not in known:
        raise UsageError(
            f"no row has a score {metric!r}",
            hint=hint(metric, known, f"there are {', '.join(known) or 'no scores at all'}"),
        )
    return metric


def _parts(result: EvalResult) -> dict[str | None, frozenset[str] | None]:
    """Everything, then each group of datasets and each dataset, by what it is called."""
    parts: dict[str | None, frozenset[str] | None] = {None: None}
    for section in result.sections.values():
        for i, line in enumerate(section.lines):
            if line.get("kind") == "group":
                members = _members(section.lines[i + 1 :], int(line.get("depth") or 0))
                parts[str(line.get("path") or line.get("name"))] = members
    datasets = sorted({row.dataset for row in result.rows})
    if len(datasets) > 1:
        parts |= {dataset: frozenset({dataset}) for dataset in datasets}
    return parts


def _members(lines: Sequence[Mapping[str, Any]], depth: int) -> frozenset[str]:
    """The datasets that stand below a group: those of the lines that are deeper."""
    keys = set()
    for line in lines:
        if int(line.get("depth") or 0) <= depth:
            break
        if line.get("key"):
            keys.add(str(line["key"]))
    return frozenset(keys)


def _compared(
    pairs: Sequence[tuple[str, str, dict[Key, Question], dict[Key, Question]]],
    metric: str,
    parts: Mapping[str | None, frozenset[str] | None],
    options: Options,
    names: tuple[str, str] | None = None,
) -> list[Comparison]:
    """Every pair on every part, adjusted level by level, what got worse first."""
    found: list[Comparison] = []
    paired = [
        (one, other, Pairs.of(mine, theirs, names or (one, other)))
        for one, other, mine, theirs in pairs
    ]
    for part, datasets in parts.items():
        level = [
            _comparison(
                (one, other, metric, part),
                both if datasets is None else both.only(datasets),
                options,
            )
            for one, other, both in paired
        ]
        if part is None or any(one.n for one in level):
            found += level
    overall = [one for one in found if one.dataset is None]
    rest = [one for one in found if one.dataset is not None]
    return [
        one for level in (overall, rest) for one in _worst_first(_adjusted(level, options.alpha))
    ]


def _comparison(
    about: tuple[str, str, str, str | None], pairs: Pairs, options: Options
) -> Comparison:
    system, baseline, metric, dataset = about
    bare = Comparison(
        system=system,
        baseline=baseline,
        metric=metric,
        dataset=dataset,
        n=len(pairs.keys),
        unpaired=pairs.unpaired(),
    )
    if not pairs.keys:
        return bare
    first, second = ([q.score for q in side] for side in (pairs.first, pairs.second))
    differences, groups = list(map(sub, first, second)), pairs.groups()
    estimate = mean_of(differences, groups, n=len(differences))
    bare = attrs.evolve(
        bare,
        difference=math.fsum(differences) / len(differences),
        mean=math.fsum(first) / len(first),
        baseline_mean=math.fsum(second) / len(second),
        wins=sum(d > 0 for d in differences),
        ties=sum(d == 0 for d in differences),
        losses=sum(d < 0 for d in differences),
        **_costs(pairs),
        within_variance=pairs.within_variance(),
        regressed=_regressed(pairs, differences),
    )
    if estimate is None or estimate.stderr is None:
        return bare
    df = (estimate.clusters or len(differences)) - 1
    reach = 1.0 if all(0 <= score <= 1 for score in (*first, *second)) else None
    steady = paired_mean_of(differences, groups, reach=reach)
    low, high = _bounds(steady, t_quantile(1 - options.alpha / 2, df), reach)
    p_value, test = permutation_p_value(differences, groups, seed=options.seed)
    alpha, power, margin = options.alpha, options.power, options.non_inferior
    needed, to_detect = (
        examples_needed(estimate.stderr, len(differences), effect, alpha=alpha, power=power)
        for effect in (estimate.value, options.detect or 0.0)
    )
    return attrs.evolve(
        bare,
        low=low,
        high=high,
        stderr=estimate.stderr,
        p_value=p_value,
        test=test,
        correlation=_correlation(first, second),
        clusters=estimate.clusters,
        detectable=smallest_effect(estimate.stderr, alpha=alpha, power=power) or None,
        needed=needed,
        needed_to_detect=to_detect,
        non_inferiority=(
            None
            if margin is None
            else judge(estimate, steady, df, margin, alpha=alpha, power=power)
        ),
    )


def _bounds(
    steady: Estimate | None, t: float, reach: float | None
) -> tuple[float, float] | tuple[None, None]:
    """The interval of a difference, which ends where scores can differ no more."""
    if steady is None or steady.stderr is None:
        return None, None
    half, farthest = t * steady.stderr, math.inf if reach is None else reach
    return max(steady.value - half, -farthest), min(steady.value + half, farthest)


def _costs(pairs: Pairs) -> dict[str, Any]:
    """What the system spends of what the baseline does, and how sure that is."""
    shares = {"tokens": pairs.share_of_tokens(), "dollars": pairs.share_of_dollars()}
    known = {name: share for name, share in shares.items() if share is not None}
    found: dict[str, Any] = {name: share.value for name, share in known.items()}
    sure = {name: CostInterval.of(share) for name, share in known.items()}
    found["cost_intervals"] = {name: one for name, one in sure.items() if one is not None}
    return found


def _adjusted(level: Sequence[Comparison], alpha: float) -> Iterator[Comparison]:
    """With p-values adjusted for how many there are, and a verdict by that."""
    tested = [one for one in level if one.p_value is not None]
    adjusted = iter(holm([one.p_value for one in tested if one.p_value is not None]))
    for one in level:
        if one.p_value is None:
            yield one
            continue
        p = next(adjusted)
        verdict: Verdict = "undecided"
        if p <= alpha and one.difference:
            verdict = "better" if one.difference > 0 else "worse"
        yield attrs.evolve(one, p_adjusted=p, verdict=verdict)


def _worst_first(level: Iterable[Comparison]) -> list[Comparison]:
    order = {"worse": 0, "undecided": 1, "better": 2}
    return sorted(level, key=lambda one: (order[one.verdict], one.difference or 0.0))


def _regressed(pairs: Pairs, differences: Sequence[float]) -> list[dict[str, Any]]:
    """The examples that lost most, the worst first."""
    losses = ((d, i) for i, d in enumerate(differences) if d < 0)
    return [
        {
            "dataset": pairs.keys[i][0],
            "example_id": pairs.keys[i][1],
            "score": pairs.first[i].score,
            "baseline_score": pairs.second[i].score,
        }
        for _, i in heapq.nsmallest(MOST_EXAMPLES, losses)
    ]


def _correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    mean_a, mean_b = math.fsum(first) / len(first), math.fsum(second) / len(second)
    a, b = [x - mean_a for x in first], [y - mean_b for y in second]
    scale = math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))
    if not scale:
        return None
    return max(-1.0, min(1.0, math.fsum(x * y for x, y in zip(a, b, strict=True)) / scale))


def _pareto(sides: Mapping[str, Mapping[Key, Question]], seed: int) -> dict[str, float]:
    """How often each system is on the front, on the examples that all have a score for."""
    scored = {s: side for s, side in sides.items() if any(q.n for q in side.values())}
    if len(scored) < 2:
        return {}
    first, *others = scored.values()
    keys = [
        key
        for key, question in first.items()
        if question.n and all(key in o and o[key].n for o in others)
    ]
    points = {
        system: (
            [side[key].score for key in keys],
            [side[key].tokens for key in keys],
        )
        for system, side in scored.items()
    }
    groups = grouped(keys, [first[key].cluster for key in keys])
    return front_shares(points, groups, seed=seed)


def _remarks(result: EvalResult) -> list[str]:
    state = result.config.get("state") or "finished"
    label = result.config.get("run_id") or "a run"
    return (
        [] if state == "finished" else [f"{label} is {state}: only the rows that were done count"]
    )
