"""Values that keep what each row added to them, and the rows as a sample."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Iterable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from cbcore.stats.estimates import (
    CONFIDENCE,
    Estimate,
    find_present,
    mean_of,
    rate_of,
    ratio_of,
    reach_of,
)

if TYPE_CHECKING:
    from cbcore.results import EvalRow

CLUSTER = "cluster"
"""The key of a row's metadata that names the source which its example shares with others."""


@attrs.frozen(eq=False, repr=False)
class Units:
    """The rows of one system as a sample, in their order.

    `keys` are the dataset, example and repeat of each row. `groups` are the group of each row: its
    cluster, or else its example if that was tried several times. They are None if all rows are
    independent. `clustered` says that some groups are clusters.
    """

    n_rows: int
    keys: Sequence[tuple[str, str | int, int]] = ()
    groups: Sequence[Hashable] | None = None
    clustered: bool = False

    @classmethod
    def of(cls, rows: Sequence[EvalRow], *, keyed: bool = True) -> Units:
        """Look at the rows once. Keys that are asked for, or needed, are kept."""
        clusters: dict[int, Hashable] = {}
        keys: list[tuple[str, str | int, int]] = []
        repeated = False
        for position, row in enumerate(rows):  # once, as they may be on disk
            cluster = row.metadata.get(CLUSTER) if row.metadata else None
            if cluster is not None:
                clusters[position] = _hashable(cluster)
            if row.repeat:
                repeated = True
            if keyed:
                keys.append((row.dataset, row.example_id, row.repeat))
        if not repeated and not clusters:
            return cls(len(rows), keys)
        if not keys:
            keys = [(row.dataset, row.example_id, row.repeat) for row in rows]
        groups: list[Hashable] = [
            (key[0], clusters[i]) if i in clusters else key[:2] if repeated else key
            for i, key in enumerate(keys)
        ]
        return cls(len(rows), keys, groups, bool(clusters)).at(range(len(rows)))

    def at(self, positions: Sequence[int]) -> Units:
        """The rows at these positions, in this order."""
        keys = [self.keys[i] for i in positions] if self.keys else ()
        if self.groups is None:
            return Units(len(positions), keys)
        groups = [self.groups[i] for i in positions]
        if len(set(groups)) == len(groups):
            return Units(len(positions), keys)  # no two rows share anything
        return Units(len(positions), keys, groups, self.clustered)


def n_questions(units: Units, where: Iterable[int]) -> int:
    """How many examples the rows at these positions are of."""
    return len({units.keys[i][:2] for i in where})


def _hashable(value: object) -> Hashable:
    return value if isinstance(value, str | int | float) else repr(value)


Better: TypeAlias = Literal["higher", "lower"] | None
"""Which values are better. None means that no system is best by them."""

Kind: TypeAlias = Literal["score", "rate", "amount"]
"""The kinds of values: a score that is between 0 and 1 wherever all are, 0 or 1, or not negative."""


@attrs.frozen(eq=False, repr=False, slots=False)
class Terms:
    """The amounts that the rows of a system add to a value, in their order; NaN for none.

    The value is Σ x / Σ y over the rows that count, which are those whose x is not NaN. Without
    `y` it is the mean of x, and `kind` says what x can be; with `y`, whether both are scores.
    Where there are terms for some rows only, `positions` says for which. A subclass may be another
    value, with its own estimate.
    """

    x: Sequence[float]
    y: Sequence[float] | None = None
    kind: Kind | None = None
    positions: Sequence[int] | None = None

    def at(self, positions: Sequence[int]) -> Terms:
        """The terms at these positions, in this order."""
        x = [self.x[i] for i in positions]
        y = None if self.y is None else [self.y[i] for i in positions]
        return attrs.evolve(self, x=x, y=y, positions=None)

    def units(self, all_rows: Units) -> Units:
        """Of all rows of the system, those that there are terms for."""
        units = all_rows if self.positions is None else all_rows.at(self.positions)
        if units.n_rows != len(self.x):
            raise ValueError(f"{len(self.x)} terms were given for {units.n_rows} rows")
        return units

    @functools.cached_property
    def mask(self) -> Sequence[bool] | None:
        """Which rows count; None if all do."""
        mask = find_present(self.x)
        return None if all(mask) else mask

    def select(self, values: Sequence[Any]) -> Sequence[Any]:
        """Of one value for each row, those of the rows that count."""
        return values if self.mask is None else list(compress(values, self.mask))

    def value(self) -> float:
        """The value of the terms; NaN without terms."""
        x = self.select(self.x)
        if self.y is None:
            return math.fsum(x) / len(x) if x else math.nan
        below = math.fsum(self.select(self.y))
        return math.fsum(x) / below if below else math.nan

    def estimate(
        self, units: Units | None = None, *, confidence: float = CONFIDENCE
    ) -> Estimate | None:
        """The uncertainty of the value, given what was sampled; None if there is no value."""
        groups = n = None
        if units is not None:
            units = self.units(units)
            if units.groups is not None:
                groups = self.select(units.groups)
                n = n_questions(units, self.select(range(units.n_rows)))
        return self.estimate_grouped(groups, n, confidence)

    def estimate_grouped(
        self,
        groups: Sequence[Hashable] | None,
        n: int | None = None,
        confidence: float = CONFIDENCE,
    ) -> Estimate | None:
        """The same as `estimate`, for rows in `groups`, which are `n` examples. Only rows that count."""
        x = self.select(self.x)
        if self.y is not None:
            below = self.select(self.y)
            reach = reach_of(x, below) if self.kind == "score" and x else None
            return ratio_of(x, below, groups, n=n, reach=reach, confidence=confidence)
        if self.kind == "rate" or (self.kind == "score" and set(x) <= {0.0, 1.0}):
            return rate_of(x, groups, n=n, confidence=confidence)
        found = mean_of(x, groups, n=n, confidence=confidence)
        if found is None or found.interval is None or self.kind is None or min(x) < 0:
            return found
        low, high = found.interval
        low = max(0.0, low)
        if self.kind == "score" and max(x) <= 1:
            high = min(1.0, high)
        return attrs.evolve(found, interval=(low, high))


class Measured(float):
    """A value of a metric, with the terms it was made of and which direction is `better`.

    Read, it is a plain float. `None` for `better` means that no system is best by it.
    """

    __slots__ = ("better", "terms")

    terms: Terms
    better: Better

    def __new__(  # noqa: PYI034 - `Self` is younger than Python 3.10
        cls, terms: Terms, *, better: Better = None
    ) -> Measured:
        self = super().__new__(cls, terms.value())
        self.terms = terms
        self.better = better
        return self

    @classmethod
    def mean(
        cls,
        values: Sequence[float],
        *,
        better: Better = "higher",
        kind: Kind | None = None,
        positions: Sequence[int] | None = None,
    ) -> Measured:
        """The mean of one value for each row, NaN for rows that do not count.

        `kind` says what the values can be, so that no interval goes beyond it. `positions` says
        which rows they are of, if not of all.
        """
        return cls(Terms(values, kind=kind, positions=positions), better=better)

    @classmethod
    def ratio(
        cls,
        numerators: Sequence[float],
        denominators: Sequence[float],
        *,
        better: Better = None,
        kind: Literal["score"] | None = None,
    ) -> Measured:
        """Σ numerators / Σ denominators; a numerator of NaN for rows that do not count.

        `kind` says that both are scores between 0 and 1, so that rare differences are allowed for.
        """
        return cls(Terms(numerators, denominators, kind), better=better)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(Measured, better=self.better), (self.terms,)
