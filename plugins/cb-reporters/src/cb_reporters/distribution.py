"""How scores are distributed: their figures, and a histogram over a box plot for each system."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence

import attrs

from cb_reporters import formats
from cb_reporters.formats import ABSENT
from cb_reporters.markup import Markup, tag
from cb_reporters.text import shorten
from cbcore.results import EvalResult
from cbcore.texts import visible

N_BINS = 10
MOST_SCORES, MOST_SYSTEMS = 24, 12
WIDTH, LEFT, RIGHT = 760, 24, 24
_TITLE, _BARS, _BOX, _GAP, _AXIS = 20, 64, 18, 14, 26
_NAME_COLUMNS = 80


@attrs.frozen
class Distribution:
    """One score of one system: the values of the rows that have it, and how many have not."""

    system: str
    values: tuple[float, ...]
    missing: int

    def figures(self) -> list[tuple[str, float | None]]:
        """Mean, median, standard deviation (of a sample), minimum and maximum.

        None for one that cannot be had: of too few values, or of more than a number can hold.
        """
        values = self.values
        mean = std = None
        with contextlib.suppress(OverflowError):
            mean = math.fsum(values) / len(values) if values else None
        if len(values) > 1:
            import statistics  # which brings fractions and decimals with it

            with contextlib.suppress(OverflowError):
                std = statistics.stdev(values)
        return [
            ("mean", mean),
            ("median", _quantile(sorted(values), 0.5) if values else None),
            ("std", std),
            ("min", min(values) if values else None),
            ("max", max(values) if values else None),
        ]

    def bins(self, low: float, high: float) -> list[int]:
        """How many values fall into each of ten equal parts; the last one is closed above."""
        counts = [0] * N_BINS
        for value in self.values:
            share = (value - low) / (high - low)
            counts[min(int(share * N_BINS), N_BINS - 1)] += 1
        return counts


@attrs.frozen
class Box:
    """A box plot: quartiles, whiskers at the last values within 1.5 × the box, and the rest."""

    quartiles: tuple[float, float, float]
    whiskers: tuple[float, float]
    outliers: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Box:
        ordered = sorted(values)
        low, middle, high = (_quantile(ordered, q) for q in (0.25, 0.5, 0.75))
        reach = 1.5 * (high - low)
        inside = [v for v in ordered if low - reach <= v <= high + reach]
        outside = [v for v in ordered if not low - reach <= v <= high + reach]
        return cls((low, middle, high), (inside[0], inside[-1]), tuple(dict.fromkeys(outside)))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between the closest ranks (Hyndman and Fan's type 7)."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def distributions_of(result: EvalResult) -> dict[str, list[Distribution]]:
    """Every score by name, that of the run first; a list of the systems for each."""
    grouped = result.rows_by_system()
    wanted = result.config.get("score_field")
    names = dict.fromkeys(name for row in result.rows for name in row.scores)
    ordered = sorted(names, key=lambda name: name != wanted)
    found: dict[str, list[Distribution]] = {}
    for name in ordered[:MOST_SCORES]:
        found[name] = []
        for system, rows in grouped.items():
            measured = [row for row in rows if row.error is None]
            finite = [formats.finite(row.scores.get(name)) for row in measured]
            values = tuple(value for value in finite if value is not None)
            found[name].append(Distribution(system, values, len(measured) - len(values)))
    return found


def cells(distribution: Distribution) -> Iterator[tuple[str, str, float | None]]:
    """Header, text and value of each figure of a system."""
    for header, value in distribution.figures():
        yield header, ABSENT if value is None else formats.score(value), value
    scored = len(distribution.values)
    yield "scored", formats.count(scored), scored
    yield "missing", formats.count(distribution.missing), distribution.missing


def drawing(score: str, distributions: Sequence[Distribution], number: int) -> Markup | None:
    """Histograms over box plots, one pair for each system that has values, on one axis.

    None where there is no value, or where they are too far apart for any axis.
    """
    shown = [d for d in distributions if d.values][:MOST_SYSTEMS]
    if not shown:
        return None
    every = [value for d in shown for value in d.values]
    low, high = min(0.0, *every), max(1.0, *every)
    if not math.isfinite(high - low):
        return None
    panel = _TITLE + _BARS + _BOX + _GAP
    height = panel * len(shown) + _AXIS
    parts = [_panel(d, i * panel, low, high) for i, d in enumerate(shown)]
    title, described = f"distribution-{number}-title", f"distribution-{number}-desc"
    return tag(
        "svg",
        tag("title", f"Distribution of {score}", id=title),
        tag("desc", "; ".join(_told(d) for d in shown), id=described),
        *_axis(low, high, height),
        *parts,
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_labelledby=f"{title} {described}",
    )


def _told(distribution: Distribution) -> str:
    figures = ", ".join(f"{header} {text}" for header, text, _ in cells(distribution))
    return f"{distribution.system}: {figures}"


def _x(value: float, low: float, high: float) -> float:
    return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def _axis(low: float, high: float, height: int) -> Iterator[Markup]:
    for part in range(6):
        value = low + (high - low) * (part / 5)
        x = _x(value, low, high)
        yield tag("line", class_="grid", x1=x, x2=x, y1=_TITLE, y2=height - _AXIS)
        text = formats.general(round(value, 6))
        yield tag("text", text, class_="tick", x=x, y=height - 8, text_anchor="middle")


def _panel(distribution: Distribution, top: float, low: float, high: float) -> Markup:
    name = shorten(visible(distribution.system), _NAME_COLUMNS)
    counts = distribution.bins(low, high)
    floor, tallest, step = top + _TITLE + _BARS, max(counts), (high - low) / N_BINS
    bars = []
    for i, count in enumerate(counts):
        left, right = _x(low + i * step, low, high), _x(low + (i + 1) * step, low, high)
        size = _BARS * count / tallest
        if count:
            bars.append(
                tag(
                    "rect",
                    tag(
                        "title", f"{count} from {low + i * step:.4g} to {low + (i + 1) * step:.4g}"
                    ),
                    class_="bar",
                    x=left + 1,
                    y=floor - size,
                    width=right - left - 2,
                    height=size,
                )
            )
    label = tag("text", name, class_="label", x=LEFT, y=top + _TITLE - 6)
    return tag("g", label, *bars, _box(Box.of(distribution.values), floor + _GAP / 2, low, high))


def _box(box: Box, top: float, low: float, high: float) -> Markup:
    first, middle, third = (_x(value, low, high) for value in box.quartiles)
    start, end = (_x(value, low, high) for value in box.whiskers)
    centre, bottom = top + _BOX / 2, top + _BOX
    width = max(third - first, 1.0)
    return tag(
        "g",
        tag("line", class_="whisker", x1=start, x2=first, y1=centre, y2=centre),
        tag("line", class_="whisker", x1=third, x2=end, y1=centre, y2=centre),
        tag("rect", class_="box", x=first, y=top, width=width, height=_BOX),
        tag("line", class_="median", x1=middle, x2=middle, y1=top, y2=bottom),
        *(
            tag("circle", class_="outlier", cx=_x(value, low, high), cy=centre, r=2.5)
            for value in box.outliers
        ),
    )
