"""How often reports claim what is not so: simulated samples, and the functions that a run calls.

Each line draws samples of which the truth is known, and counts: intervals that hold the true
value, or claims that are wrong. `REQUIRED` has what each line must reach.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from benchmarks.report import Report, Table

Draw = Callable[[random.Random], "bool | None"]
"""One sample: whether it counts; None for a sample without an interval, which does not."""


class Line(NamedTuple):
    """One simulation: what is counted, how many samples, and the rate that it must keep."""

    what: str
    draw: Draw
    n_samples: int
    at_most: float | None = None
    at_least: float | None = None

    def rate(self, n_samples: int) -> tuple[float, int]:
        """The share of samples that count, and how many samples there were."""
        chance = random.Random(self.what)
        found = [self.draw(chance) for _ in range(n_samples)]
        known = [one for one in found if one is not None]
        return (sum(known) / len(known) if known else math.nan), len(known)

    @property
    def required(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most:.1%}"
        return "" if self.at_least is None else f"≥ {self.at_least:.1%}"

    def is_met(self, rate: float, n_samples: int) -> bool:
        """Whether the requirement holds, but for three standard errors of the simulation."""
        wanted = self.at_most if self.at_most is not None else self.at_least
        if wanted is None:
            return True
        slack = 3 * math.sqrt(wanted * (1 - wanted) / max(1, n_samples))
        return rate <= wanted + slack if self.at_most is not None else rate >= wanted - slack


def f1_like(chance: random.Random, difficulty: Sequence[float], shift: float = 0.0) -> list[float]:
    """Scores of which most are 0 or 1, by how hard each example is."""
    found = []
    for hard in difficulty:
        right = 1 / (1 + math.exp(-2 * (hard + shift + chance.gauss(0, 0.7))))
        if chance.random() < 0.3:
            found.append(min(1.0, max(0.0, right + chance.gauss(0, 0.15))))
        else:
            found.append(float(chance.random() < right))
    return found


def zero_or_one(
    chance: random.Random, difficulty: Sequence[float], shift: float = 0.0
) -> list[float]:
    """Scores of 0 and 1."""
    return [float(chance.random() < 1 / (1 + math.exp(-2 * (x + shift)))) for x in difficulty]


class Quality:
    """The mean score, as cb-metrics has it."""

    name = "mean_score"
    score_field = "f1"

    def compute(self, rows: Iterable[Any]) -> dict[str, float]:
        from cbcore.stats import Measured

        return {"mean_score": Measured.mean([row.scores["f1"] for row in rows], kind="score")}


def equal_systems(n_systems: int, n: int, scores: Callable[..., list[float]]) -> Any:
    """The summary of a run of systems that are equally good."""
    from cbcore.results import EvalRow
    from cbcore.results.summary import sum_up

    def sample(chance: random.Random) -> Any:
        difficulty = [chance.gauss(0, 1) for _ in range(n)]
        rows = {
            f"s{k}": [
                EvalRow(f"s{k}", i, {"f1": score}, 9, 9)
                for i, score in enumerate(scores(chance, difficulty))
            ]
            for k in range(n_systems)
        }
        return sum_up(rows, [Quality()], "f1")

    return sample


def claims_any(n_systems: int, n: int, scores: Callable[..., list[float]]) -> Draw:
    """Whether a run of equal systems has a significant verdict or denies a tie."""
    sample = equal_systems(n_systems, n, scores)

    def draw(chance: random.Random) -> bool:
        found = sample(chance)
        if any(one.outcome in ("better", "worse") for one in found.verdicts):
            return True
        values = [summary["mean_score"] for summary in found.summary.values()]
        ties = found.undecided.get("mean_score")
        return ties is not None and len(ties) < sum(value < max(values) for value in values)

    return draw


def best_covers(n_systems: int, n: int, scores: Callable[..., list[float]], truth: float) -> Draw:
    """Whether the printed interval of the best of equal systems holds the true value."""
    sample = equal_systems(n_systems, n, scores)

    def draw(chance: random.Random) -> bool:
        found = sample(chance)
        best = max(found.summary, key=lambda system: found.summary[system]["mean_score"])
        low, high = found.estimates[best]["mean_score"].interval
        return bool(low <= truth <= high)

    return draw


def has_power(n_systems: int) -> Draw:
    """Whether the number of examples that a pilot of the true size names shows the difference."""
    from cbcore.stats import examples_needed, holm
    from cbcore.stats.measured import Terms, Units
    from cbcore.stats.paired import difference_of

    shift, pilot = -0.5, random.Random(1)

    def difference(chance: random.Random, n: int) -> Any:
        difficulty = [chance.gauss(0, 1) for _ in range(n)]
        base = f1_like(chance, difficulty)
        pairs = [f1_like(chance, difficulty, shift if k == 0 else 0.0) for k in range(n_systems)]
        units = Units(n, [("d", i, 0) for i in range(n)])
        return [difference_of(Terms(one), Terms(base), units) for one in pairs]

    large = difference(pilot, 5_000)[0]
    needed = examples_needed(large.stderr, large.n, large.value, alpha=0.05 / n_systems)
    assert needed is not None

    def draw(chance: random.Random) -> bool:
        found = difference(chance, needed)
        return holm([one.p_value for one in found])[0] <= 0.05

    return draw


def covers_saved(n: int, deviation: float, *, rare: bool = False) -> Draw:
    """Whether the interval of tokens saved holds the true share, of lognormal lengths."""
    from cb_metrics.tokens import CompressionRatio
    from cbcore.results import EvalRow

    def row(chance: random.Random) -> tuple[float, float]:
        length = math.exp(chance.gauss(6, deviation))
        if rare:
            return length, length * (0.1 if chance.random() < 0.05 else 1.0)
        return length, min(length, 150 * chance.uniform(0.9, 1))

    many = [row(random.Random(k)) for k in range(50_000)]
    truth = 1 - math.fsum(b for _, b in many) / math.fsum(a for a, _ in many)

    def draw(chance: random.Random) -> bool | None:
        rows = [EvalRow("s", i, {}, *row(chance)) for i in range(n)]
        value = CompressionRatio().compute(rows)["compression_ratio"]
        found = value.terms.estimate()
        if found is None or found.interval is None:
            return None
        return found.interval[0] <= truth <= found.interval[1]

    return draw


def differences(
    chance: random.Random, n: int, chances: Sequence[tuple[float, float]]
) -> list[float]:
    found = []
    for _ in range(n):
        thrown, value = chance.random(), 0.0
        for share, size in chances:
            if thrown < share:
                value = size
                break
            thrown -= share
        found.append(value)
    return found


def calls_a_gain(n: int, chances: Sequence[tuple[float, float]]) -> Draw:
    """Whether scores that differ by nothing on average are called a gain."""
    from cbcore.stats.measured import Terms, Units
    from cbcore.stats.paired import difference_of

    units = Units(n, [("d", i, 0) for i in range(n)])

    def draw(chance: random.Random) -> bool:
        lost = differences(chance, n, chances)
        first, second = ([0.5 + sign * d / 2 for d in lost] for sign in (1, -1))
        found = difference_of(Terms(first), Terms(second), units)
        return bool(
            found and found.p_value is not None and found.p_value <= 0.05 and found.value > 0
        )

    return draw


def calls_no_worse(n: int, margin: float, chances: Sequence[tuple[float, float]]) -> Draw:
    """Whether a loss of the margin is said to be ruled out."""
    from cb_compare.noninferiority import judge
    from cbcore.stats import Estimate
    from cbcore.stats.estimates import mean_of

    def draw(chance: random.Random) -> bool:
        lost = differences(chance, n, chances)
        seen = mean_of(lost)
        assert seen is not None
        return judge(seen, Estimate.of_differences(lost), n - 1, margin).verdict == "yes"

    return draw


def claims_a_budget(*, adaptive: bool, n: int, margin: float = 0.1, n_points: int = 20) -> Draw:
    """Whether a sweep names a budget where every point loses the margin."""
    from cb_sweeps import BudgetCurves, smallest
    from cb_sweeps.search import bisect, is_good_enough
    from cbcore.results import EvalRow
    from cbcore.results.verdicts import ALPHA

    names = [f"cut {k}" for k in range(1, n_points + 1)]
    searched = {"n_points": n_points} if adaptive else {}

    def point(system: str, full: Sequence[float], chance: random.Random) -> list[Any]:
        rows = []
        for i, score in enumerate(full):
            again = float(chance.random() < 0.5) if chance.random() < 0.2 else score
            kept = 0.0 if chance.random() < margin / 0.5 else again
            rows.append(EvalRow(system, i, {"f1": kept}, 100, 50))
        return rows

    def draw(chance: random.Random) -> bool:
        smallest.N_DRAWS = 10  # those are of the range, which is not counted here
        full = [float(chance.random() < 0.5) for _ in range(n)]
        rows = {"full": [EvalRow("full", i, {"f1": s}, 100, 100) for i, s in enumerate(full)]}

        def is_enough(name: str) -> bool:
            rows[name] = point(name, full, chance)
            alpha = ALPHA / n_points.bit_length()
            return is_good_enough(rows[name], rows["full"], "f1", margin, alpha)

        if adaptive:
            bisect(names, is_enough)
        else:
            rows.update({name: point(name, full, chance) for name in names})
        systems = [
            {"name": name, "sweep": {"name": "cut", "values": {"n": k}, **searched}}
            for k, name in enumerate(names)
            if name in rows
        ]
        found = BudgetCurves(margin=margin).section(rows, {"systems": systems})
        return found is not None and found.lines[0]["smallest_value"] is not None

    return draw


RARE = [(0.02, -0.9), (0.36, 0.05)]
"""Mean zero: 2 % lose 0.9, 36 % gain 0.05."""
RARER_THAN_NOT = [(0.1, -0.9), (0.9, 0.1)]
"""Mean zero: 10 % lose 0.9, the others gain 0.1."""


def lines() -> list[Line]:
    """The simulations, with what each must reach."""
    truth = (
        math.fsum(f1_like(random.Random(1), [random.Random(k).gauss(0, 1) for k in range(50_000)]))
        / 50_000
    )
    loses = [(0.02 / 0.9 + 0.05 * 0.5 / 0.9, -0.9), (0.5, 0.05)]
    return [
        *(
            Line(
                f"any claim, {k} equal systems, n = {n}, {name}", claims_any(k, n, scores), m, 0.05
            )
            for k, m in ((2, 1500), (6, 800), (20, 400))
            for n in (40, 200)
            for name, scores in (("F1-like", f1_like), ("0/1", zero_or_one))
        ),
        *(
            Line(
                f"interval of the best of {k}, n = {n}",
                *(best_covers(k, n, f1_like, truth), 2000 // k * 2),
                at_least=0.93,
            )
            for k in (6, 20)
            for n in (40, 200)
        ),
        *(
            Line(
                f"power at the number of examples named, {k} systems",
                has_power(k),
                300,
                at_least=0.75,
            )
            for k in (1, 6, 20)
        ),
        *(
            Line(
                f"sweep claims a budget at the margin, {name}, n = {n}",
                claims_a_budget(adaptive=name == "adaptive", n=n),
                300,
                0.05,
            )
            for name in ("grid", "adaptive")
            for n in (100, 200)
        ),
        *(
            Line(
                f"tokens saved, fixed budget, sd {sd}, n = {n}",
                covers_saved(n, sd),
                2000,
                at_least=least,
            )
            for sd, n, least in (
                *((0.6, 20, 0.92), (0.6, 40, 0.92), (0.6, 200, 0.93)),
                *((1.0, 20, 0.88), (1.0, 40, 0.9), (1.0, 200, 0.92)),
            )
        ),
        *(
            Line(
                f"tokens saved, 5 of 100 contexts cut, n = {n}",
                covers_saved(n, 0.6, rare=True),
                2000,
            )
            for n in (20, 40, 200)
        ),
        *(
            Line(
                f"calls a gain, 2 % lose 0.9 and 36 % gain 0.05, n = {n}",
                calls_a_gain(n, RARE),
                2000,
                0.05,
            )
            for n in (20, 40, 200)
        ),
        *(
            Line(
                f"calls a gain, 10 % lose 0.9 and others gain 0.1, n = {n}",
                calls_a_gain(n, RARER_THAN_NOT),
                2000,
                0.05,
            )
            for n in (10, 20, 40, 200)
        ),
        *(
            Line(
                f"no worse by 0.02 at a loss of 0.02, skewed, n = {n}",
                calls_no_worse(n, 0.02, loses),
                2000,
                0.05,
            )
            for n in (20, 40, 60, 100, 200, 500)
        ),
    ]


def run(*, quick: bool = False) -> Report:
    """Simulate all lines; a tenth of the samples with `quick`."""
    table = Table("Claims and intervals", ["what", "measured", "required", "samples", "verdict"])
    report = Report("statistics", [table])
    for line in lines():
        rate, n_samples = line.rate(max(40, line.n_samples // (10 if quick else 1)))
        met = line.is_met(rate, n_samples)
        verdict = ("met" if met else "NOT MET") if line.required else ""
        table.rows.append([line.what, f"{rate:.1%}", line.required, f"{n_samples:,}", verdict])
        report.data[line.what] = rate
        print(*table.rows[-1], sep=" | ", flush=True)
    report.notes.append("A requirement is met within three standard errors of the simulation.")
    return report


def main() -> None:
    import argparse

    parser = argparse.ArgumentParser(prog="python -m benchmarks.statistics", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples")
    print(run(quick=parser.parse_args().quick).markdown())


if __name__ == "__main__":
    main()
