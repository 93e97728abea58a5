"""Systems on the same examples: within one run pair by pair, or from one run to the next."""

from __future__ import annotations

import heapq
import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import sub
from typing import Any, cast

import attrs

from cb_compare.noninferiority import judge
from cb_compare.records import Comparison, CostInterval, Options, Report, Verdict
from cb_compare.resampling import front_shares
from cb_compare.samples import Key, Pairs, Question, grouped, sides_of
from cbcore.exceptions import ResultError, UsageError
from cbcore.names import hint
from cbcore.results import EvalResult
from cbcore.results.verdicts import Verdict as Statement
from cbcore.results.verdicts import compare_systems as find_verdicts
from cbcore.stats import Estimate, Terms, Units, difference_of, examples_needed, holm

MOST_EXAMPLES = 5
"""How many of the examples behind a regression are named."""


def compare_systems(
    result: EvalResult,
    options: Options | None = None,
    *,
    baseline: str | None = None,
    all_pairs: bool = False,
) -> Report:
    """The systems of one run: each against the `baseline`, or `all_pairs`.

    The default baseline is that of the run: the first system that leaves the context whole, or
    else the first with a score. In a pair, the system that comes first in the run is the baseline.
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
    rows = result.rows_by_system()
    verdicts = [
        verdict
        for base in (sides if all_pairs else [baseline])
        for verdict in find_verdicts(rows, metric, result.config, baseline=base)
        if verdict.system != verdict.baseline
    ]
    stated = {(verdict.system, verdict.baseline): verdict for verdict in verdicts}
    pairs = list(stated)
    if all_pairs:
        pairs = [(other, first) for first, other in itertools.combinations(sides, 2)]
    found = _compared(
        [(one, other, sides[one], sides[other]) for one, other in pairs],
        *(metric, _parts(result), options),
        stated=stated,
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
    for one, other in same:
        _check_same_data(old[other], new[one])
    remarks = [
        f"{system} is only in the {which} run"
        for which, mine, other in (("first", old, new), ("second", new, old))
        for system in mine
        if system not in other and len(same) < max(len(old), len(new))
    ]
    first, old_rows, new_rows = "the first run", before.rows_by_system(), after.rows_by_system()
    stated = {
        (one, other): find_verdicts(
            {first: old_rows[other], one: new_rows[one]}, metric, after.config, baseline=first
        )[-1]
        for one, other in same
    }
    found = _compared(
        [(one, other, new[one], old[other]) for one, other in same],
        *(metric, _parts(after), options),
        names=("the second run", first),
        stated=stated,
    )
    remarks += [*_remarks(before), *_remarks(after)]
    return Report(f"two runs by {metric}", found, {}, list(dict.fromkeys(remarks)))


def _check_same_data(old: Mapping[Key, Question], new: Mapping[Key, Question]) -> None:
    """Refuse to compare examples that have the same id and different data."""
    shared = [key for key in new if key in old and old[key].digest and new[key].digest]
    changed = [key for key in shared if old[key].digest != new[key].digest]
    if changed:
        raise ResultError(
            f"{len(changed):,} of {len(shared):,} examples have the same id but different data in "
            f"the two runs, {changed[0][1]!r} first. The scores cannot be compared.",
            hint="run both on the same data: `cb run` again for the older result",
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
    *,
    stated: Mapping[tuple[str, str], Statement],
) -> list[Comparison]:
    """Every pair on every part, adjusted level by level, what got worse first.

    A pair with a statement in place of a comparison has no parts.
    """
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
                None if part else stated[one, other],
            )
            for one, other, both in paired
        ]
        if part is None:
            paired = [pair for pair, one in zip(paired, level, strict=True) if not one.statement]
        if part is None or any(one.n for one in level):
            found += level
    overall = [one for one in found if one.dataset is None]
    rest = [one for one in found if one.dataset is not None]
    return [one for level in (overall, rest) for one in _worst_first(_adjusted(level, options))]


def _comparison(
    about: tuple[str, str, str, str | None],
    pairs: Pairs,
    options: Options,
    verdict: Statement | None,
) -> Comparison:
    """A pair on a part; with nothing but a statement, if there is one in place of the numbers."""
    system, baseline, metric, dataset = about
    bare = Comparison(
        system=system,
        baseline=baseline,
        metric=metric,
        dataset=dataset,
        n=len(pairs.keys),
        unpaired=pairs.unpaired(),
    )
    costs = _costs(pairs) if pairs.keys else {}
    outcome = verdict.outcome if verdict else "undecided"
    is_stated = outcome in ("failed", "unchanged") or (outcome == "not measured" and pairs.keys)
    if verdict and is_stated:
        told = verdict.sentence
        return attrs.evolve(bare, verdict=cast(Verdict, outcome), statement=told, **costs)
    if not pairs.keys:
        return bare
    first, second = ([q.score for q in side] for side in (pairs.first, pairs.second))
    differences, groups = list(map(sub, first, second)), pairs.groups()
    units = Units(len(differences), [(*key, 0) for key in pairs.keys], groups, groups is not None)
    terms = Terms(first, kind="score"), Terms(second, kind="score")
    found = difference_of(*terms, units, confidence=1 - options.alpha)
    low, high = (found.interval if found is not None else None) or (None, None)
    bare = attrs.evolve(
        bare,
        difference=math.fsum(differences) / len(differences),
        low=low,
        high=high,
        mean=math.fsum(first) / len(first),
        baseline_mean=math.fsum(second) / len(second),
        wins=sum(d > 0 for d in differences),
        ties=sum(d == 0 for d in differences),
        losses=sum(d < 0 for d in differences),
        **costs,
        within_variance=pairs.within_variance(),
        regressed=_regressed(pairs, differences),
    )
    estimate = Terms(differences).estimate_grouped(groups, len(differences))
    if found is None or estimate is None or found.stderr is None:
        return bare
    reach = 1.0 if all(0 <= score <= 1 for score in (*first, *second)) else None
    margin = options.non_inferior
    return attrs.evolve(
        bare,
        stderr=found.stderr,
        p_value=found.p_value,
        test=found.test,
        correlation=_correlation(first, second),
        clusters=found.clusters,
        unseen=found.unseen,
        non_inferiority=(
            None
            if margin is None
            else judge(
                *(estimate, Estimate.of_differences(differences, groups, reach=reach)),
                *(found.n_units - 1, margin),
                alpha=options.alpha,
                power=options.power,
            )
        ),
    )


def _costs(pairs: Pairs) -> dict[str, Any]:
    """The tokens and dollars of the system as shares of those of the baseline, with intervals."""
    shares = {"tokens": pairs.share_of_tokens(), "dollars": pairs.share_of_dollars()}
    known = {name: share for name, share in shares.items() if share is not None}
    found: dict[str, Any] = {name: share.value for name, share in known.items()}
    sure = {name: CostInterval.of(share) for name, share in known.items()}
    found["cost_intervals"] = {name: one for name, one in sure.items() if one is not None}
    return found


def _adjusted(level: Sequence[Comparison], options: Options) -> Iterator[Comparison]:
    """With p-values adjusted for their number, a verdict by that, and the power at that level."""
    raw = [one.p_value for one in level if one.p_value is not None]
    adjusted, alpha = iter(holm(raw)), options.alpha / max(1, len(raw))
    for one in level:
        if one.p_value is None:
            yield one
            continue
        p, stderr = next(adjusted), one.stderr or 0.0
        verdict: Verdict = "undecided"
        if p <= options.alpha and one.difference:
            verdict = "better" if one.difference > 0 else "worse"
        needed, to_detect = (
            examples_needed(stderr, one.n, effect, alpha=alpha, power=options.power)
            for effect in (one.difference or 0.0, options.detect or 0.0)
        )
        yield attrs.evolve(
            one,
            p_adjusted=p,
            n_tests=len(raw),
            verdict=verdict,
            detectable=smallest_effect(stderr, alpha=alpha, power=options.power) or None,
            needed=None if verdict == "undecided" and needed and needed <= one.n else needed,
            needed_to_detect=to_detect,
        )


def _worst_first(level: Iterable[Comparison]) -> list[Comparison]:
    order = {"failed": 0, "worse": 1, "undecided": 2, "better": 4}
    return sorted(level, key=lambda one: (order.get(one.verdict, 3), one.difference or 0.0))


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
    try:
        return statistics.correlation(first, second)
    except statistics.StatisticsError:  # one side is always the same
        return None


def _pareto(sides: Mapping[str, Mapping[Key, Question]], seed: int) -> dict[str, float]:
    """How often each system is on the front, on the examples that all have a score for.

    A system without a score other than 0 is not on any front: it costs little and does nothing.
    """
    scored = {s: side for s, side in sides.items() if any(q.n and q.score for q in side.values())}
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


def smallest_effect(stderr: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that a sample with this standard error mostly shows.

    `alpha` is the level of the test; for one of m comparisons, divide it by m.
    """
    normal = statistics.NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * stderr
