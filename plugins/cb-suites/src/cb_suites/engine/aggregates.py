"""From the scores of tasks to the score of a group, with the standard error that belongs to it.

Every formula, with its source, is in `docs/explanation/suite-aggregates.md`.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter
from typing import Any

import attrs

from cb_suites.engine.model import AggregateMetric, GroupNode, Leaf
from cbcore.exceptions import ConfigError
from cbcore.introspection import signature_of
from cbcore.stats import Estimate, t_quantile, wilson

N_DRAWS = 1000
"""Draws behind the standard error of a median, a minimum, a maximum or a function."""

_SEED = 1234
NAMED: dict[str, Callable[[Sequence[float]], float]] = {
    "median": statistics.median,
    "min": min,
    "max": max,
}


@attrs.frozen
class WeightedMean(Estimate):
    """A mean, with the weights by which it is made of its leaves.

    They give a mean of means whose parts share leaves a standard error still.
    """

    weights: Mapping[str, float] = attrs.field(factory=dict, repr=False)


def combine(metric: AggregateMetric, parts: Mapping[str, Estimate]) -> Estimate | None:
    """One number for several parts, by the metric's aggregation; None without parts."""
    found = _combined(metric, parts)
    return found and _with_interval(found, metric, parts, parts)


def _combined(metric: AggregateMetric, parts: Mapping[str, Estimate]) -> Estimate | None:
    estimates = list(parts.values())
    if not estimates:
        return None
    if metric.aggregation == "mean":
        return _mean(parts, weighted=metric.weight_by_size)
    function = _function(metric)
    sizes = [part.n for part in estimates]
    value = float(function([part.value for part in estimates], sizes))
    if not math.isfinite(value):
        raise ArithmeticError(f"the aggregation gave {value}")
    if len(estimates) == 1 and not callable(metric.aggregation):
        return Estimate(value, estimates[0].stderr, sum(sizes))
    return Estimate(value, _drawn_stderr(function, estimates), sum(sizes))


def _mean(parts: Mapping[str, Estimate], *, weighted: bool) -> WeightedMean:
    estimates = list(parts.values())
    total, k = sum(part.n for part in estimates), len(estimates)
    shares = [part.n / total if weighted else 1 / k for part in estimates]
    value = math.fsum(s * part.value for s, part in zip(shares, estimates, strict=True))
    weights: dict[str, float] = {}
    shared = False
    for share, (key, part) in zip(shares, parts.items(), strict=True):
        for leaf, weight in _weights(part, key).items():
            shared = shared or leaf in weights
            weights[leaf] = weights.get(leaf, 0.0) + share * weight
    stderr = None
    if not shared:
        if any(part.clusters not in (None, part.n) for part in estimates) and weighted:
            # How examples spread does not tell how sources do, so there is nothing to pool.
            stderr = _shared_stderr(dict(zip(parts, shares, strict=True)), parts)
        else:
            stderr = _pooled_stderr(estimates) if weighted else _combined_stderr(estimates)
    return WeightedMean(value, stderr, total, weights)


def _weights(part: Estimate, key: str) -> Mapping[str, float]:
    """The leaves a part is made of; one that is no mean of others is a leaf itself."""
    return (part.weights if isinstance(part, WeightedMean) else {}) or {key: 1.0}


def _pooled_stderr(parts: Sequence[Estimate]) -> float | None:
    """√(s²/N), s² pooled within the parts. A part of one example adds no degree of freedom."""
    total = sum(part.n for part in parts)
    freedom = total - len(parts)
    if freedom <= 0 or any(part.stderr is None and part.n > 1 for part in parts):
        return None
    squares = math.fsum((p.n - 1) * p.n * p.stderr**2 for p in parts if p.stderr is not None)
    return math.sqrt(squares / freedom / total)


def _combined_stderr(parts: Sequence[Estimate]) -> float | None:
    """√Σse²/k: the mean of k independent means."""
    squares = [part.stderr**2 for part in parts if part.stderr is not None]
    return math.sqrt(math.fsum(squares)) / len(parts) if len(squares) == len(parts) else None


def _shared_stderr(weights: Mapping[str, float], leaves: Mapping[str, Estimate]) -> float | None:
    """√Σ(w·se)² over the leaves a mean is made of, each once with all its weight."""
    terms = []
    for leaf, weight in weights.items():
        part = leaves.get(leaf)
        if part is None or part.stderr is None:
            return None
        terms.append((weight * part.stderr) ** 2)
    return math.sqrt(math.fsum(terms))


def _function(metric: AggregateMetric) -> Callable[[Sequence[float], Sequence[int]], Any]:
    """The aggregation as a function of values and sizes."""
    chosen = metric.aggregation
    if not callable(chosen):
        if chosen not in NAMED:
            known = ", ".join(("mean", *NAMED))
            raise ConfigError(
                f"aggregate of {metric.metric}",
                f"there is no aggregation {chosen!r}",
                hint=f"one of {known}, or a function",
            )
        named = NAMED[chosen]
        return lambda values, sizes: named(values)
    n_taken = sum(map(_is_ours, signature_of(chosen).parameters.values()))
    if n_taken <= 1:
        return lambda values, sizes: chosen(values)
    if n_taken == 2:
        return chosen
    return lambda values, sizes: chosen(values, sizes, metric.weight_by_size)


def _is_ours(parameter: Parameter) -> bool:
    """Whether a parameter is for us to give: one without a default, or named as we name it."""
    by_place = parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    named = parameter.name in ("sizes", "weights", "weight_by_size")
    return by_place and (parameter.default is Parameter.empty or named)


def _drawn_stderr(function: Callable[..., Any], parts: Sequence[Estimate]) -> float | None:
    """The spread of the aggregate when each part is drawn from its own normal distribution."""
    if any(part.stderr is None for part in parts):
        return None
    draw = random.Random(_SEED)  # noqa: S311 - reproducible, not secret
    sizes = [part.n for part in parts]
    try:
        drawn = [
            float(function([draw.gauss(p.value, p.stderr or 0.0) for p in parts], sizes))
            for _ in range(N_DRAWS)
        ]
    except (ArithmeticError, ValueError):
        return None  # a function need not be defined everywhere
    spread = statistics.stdev(drawn) if all(map(math.isfinite, drawn)) else math.nan
    return spread if math.isfinite(spread) else None


# -- how sure it is ----------------------------------------------------------------------------


def _with_interval(
    made: Estimate,
    metric: AggregateMetric,
    parts: Mapping[str, Estimate],
    leaves: Mapping[str, Estimate],
) -> Estimate:
    """The estimate with its 95 % interval; without one where it has no standard error.

    That of one part is the part's. A mean of rates has Wilson's, of as many independent examples
    as would be as uncertain, and no more than there are: a micro mean's is that of all examples
    as one set. Anything else has Student's t, which ends where its parts' intervals do.
    `leaves` are what the parts are made of, each once.
    """
    function_of_its_own = callable(metric.aggregation)
    if len(parts) == 1 and not function_of_its_own:
        (only,) = parts.values()
        return attrs.evolve(
            made, interval=only.interval, method=only.method, clusters=only.clusters
        )
    hang_together = any(leaf.clusters is not None for leaf in leaves.values())
    count = sum(leaf.clusters or leaf.n for leaf in leaves.values())
    made = attrs.evolve(made, clusters=count if hang_together else None)
    if made.stderr is None or count < 2:
        return made
    t = t_quantile(0.975, count - 1)
    if metric.aggregation == "mean" and all(_is_rate(part) for part in parts.values()):
        variance = made.stderr**2 if hang_together else _variance_of_rate(made, leaves)
        effective = float(count)
        if variance > 0:
            effective = min(made.n, made.value * (1 - made.value) / variance)
        z = t if hang_together else statistics.NormalDist().inv_cdf(0.975)
        return attrs.evolve(made, interval=wilson(made.value, effective, z), method="wilson")
    low, high = made.value - t * made.stderr, made.value + t * made.stderr
    ends = [part.interval or (part.value, part.value) for part in parts.values()]
    if not function_of_its_own and min(end for end, _ in ends) >= 0:
        low = max(0.0, low)
        high = min(1.0, high) if max(end for _, end in ends) <= 1 else high
    return attrs.evolve(made, interval=(low, high), method="t")


def _is_rate(part: Estimate) -> bool:
    return part.method is not None and part.method.startswith("wilson")


def _variance_of_rate(made: Estimate, leaves: Mapping[str, Estimate]) -> float:
    """Σ w²p(1-p)/n over the leaves of a mean; what its standard error says, if they are not known."""
    weights = made.weights if isinstance(made, WeightedMean) else {}
    if not weights or not weights.keys() <= leaves.keys():
        return (made.stderr or 0.0) ** 2
    rates = ((weight, leaves[key]) for key, weight in weights.items())
    return math.fsum(w * w * leaf.value * (1 - leaf.value) / leaf.n for w, leaf in rates)


# -- over a tree -------------------------------------------------------------------------------

Scores = Mapping[tuple[str, str], Estimate]
"""What one task reached: (metric, filter) → estimate."""


def aggregate(
    group: GroupNode, metric: AggregateMetric, scores: Mapping[str, Scores]
) -> dict[str, Estimate]:
    """One number of a group for each filter it covers, from the scores of its leaves by key.

    Leaves without the score are left out; what is missing is for the caller to tell.
    """
    values = {name: _of_group(group, metric, name, scores) for name in metric.filters}
    return {name: value for name, value in values.items() if value is not None}


def _of_group(
    group: GroupNode, metric: AggregateMetric, name: str, scores: Mapping[str, Scores]
) -> Estimate | None:
    leaves = dict(_present(group.leaves(), metric.metric, name, scores))
    if metric.over == "leaves":
        return combine(metric, leaves)
    parts: dict[str, Estimate] = {}
    for child in group.children:
        if isinstance(child, Leaf):
            part, key = leaves.get(child.key), child.key
        else:
            part, key = _of_child(child, metric, name, scores), child.path
        if part is not None:
            parts[key] = part
    combined = _combined(metric, parts)
    if combined is None:
        return None
    stderr = combined.stderr
    if stderr is None and isinstance(combined, WeightedMean):
        stderr = _shared_stderr(combined.weights, leaves)
    # Children may share leaves: their examples are weighed as often, and counted once.
    n = sum(leaf.n for leaf in leaves.values())
    return _with_interval(attrs.evolve(combined, stderr=stderr, n=n), metric, parts, leaves)


def _of_child(
    child: GroupNode, metric: AggregateMetric, name: str, scores: Mapping[str, Scores]
) -> Estimate | None:
    """The child's own number where it has one; else the mean the parent would make of it."""
    own = [a for a in child.aggregates if a.metric == metric.metric and name in a.filters]
    fallback = attrs.evolve(metric, aggregation="mean", over="leaves")
    return _of_group(child, own[0] if own else fallback, name, scores)


def _present(
    leaves: Iterable[Leaf], metric: str, name: str, scores: Mapping[str, Scores]
) -> Iterable[tuple[str, Estimate]]:
    for leaf in leaves:
        found = scores.get(leaf.key, {}).get((metric, name))
        if found is not None:
            yield leaf.key, found
