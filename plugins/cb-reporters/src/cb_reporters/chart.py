"""A scatter of quality against tokens kept, as static SVG."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import attrs

from cb_reporters import formats
from cb_reporters.markup import Markup, tag
from cb_reporters.text import shorten, width
from cb_reporters.view import View
from cbcore.texts import visible

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 20, 56
_INSET = 18
_RADIUS = 5.5
_LABEL_COLUMNS = 28
# An average character of a sans-serif face at the size the style sheet gives labels.
_CHARACTER, _LINE = 6.7, 15.0

_Spot: TypeAlias = "tuple[float, float]"


@attrs.frozen
class Point:
    """One system: the share of tokens it keeps, and the quality it reaches with them."""

    system: str
    kept: float
    quality: float

    def dominates(self, other: Point) -> bool:
        """At least as good with at most as many tokens, and better in one of the two."""
        mine, theirs = (self.kept, -self.quality), (other.kept, -other.quality)
        return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


def points_of(view: View) -> list[Point]:
    """The systems that have both a quality and a compression ratio."""
    quality, saved = view.first("mean_score"), view.first("compression_ratio")
    if quality is None or saved is None:
        return []
    return [
        Point(system, 1 - s, q)
        for system, q, s in zip(view.systems, quality.values, saved.values, strict=True)
        if q is not None and s is not None
    ]


def front(points: Sequence[Point]) -> list[Point]:
    """The points no other dominates, from fewest tokens to most."""
    left = [p for p in points if not any(other.dominates(p) for other in points)]
    return sorted(left, key=lambda p: (p.kept, p.quality))


def scatter(points: Sequence[Point], quality: str) -> Markup:
    """Draw the points. `quality` is the header of the vertical axis."""
    across = _Axis.over([p.kept for p in points], LEFT + _INSET, WIDTH - RIGHT - _INSET)
    up = _Axis.over([p.quality for p in points], HEIGHT - BOTTOM - _INSET, TOP + _INSET)
    best = front(points)
    spots = [(across.at(p.kept), up.at(p.quality)) for p in points]
    line = [(across.at(p.kept), up.at(p.quality)) for p in best]
    described = "; ".join(_described(p) + " (Pareto front)" * (p in best) for p in points)
    return tag(
        "svg",
        tag("title", f"{quality} against tokens kept", id="chart-title"),
        tag("desc", described, id="chart-desc"),
        _frame(across, up, quality),
        _front_line(line),
        *_labels([shorten(visible(p.system), _LABEL_COLUMNS) for p in points], spots, line),
        *_dots(points, spots, best),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby="chart-title chart-desc",
    )


def _described(point: Point) -> str:
    quality, kept = formats.score(point.quality), formats.percent(point.kept)
    return f"{point.system}: {quality} with {kept} of the tokens"


@attrs.frozen
class _Axis:
    """Maps values from `low` to `high` onto pixels, with ticks at round values."""

    low: float
    high: float
    step: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> _Axis:
        low, high = min(values), max(values)
        # Differences too small to matter are not blown up to fill the drawing.
        span = max(high - low, 0.01 * max(1.0, abs(low), abs(high)))
        step = _round_step(span / 4)
        below = math.floor(low / step + 1e-9) * step
        above = math.ceil(high / step - 1e-9) * step
        return cls(below, above if above > below else below + step, step, start, end)

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [self.low + i * self.step for i in range(count + 1)]

    def decimals(self, scale: int = 1) -> int:
        return max(0, -math.floor(math.log10(self.step * scale) + 1e-9))


def _round_step(rough: float) -> float:
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))


def _frame(across: _Axis, up: _Axis, quality: str) -> Markup:
    floor, ceiling, right = HEIGHT - BOTTOM, TOP, WIDTH - RIGHT
    parts = []
    for value in up.ticks():
        y, text = up.at(value), formats.fixed(value, up.decimals())
        parts.append(tag("line", class_="grid", x1=LEFT, x2=right, y1=y, y2=y))
        parts.append(tag("text", text, class_="tick", x=LEFT - 10, y=y + 4, text_anchor="end"))
    for value in across.ticks():
        x, text = across.at(value), f"{formats.fixed(value * 100, across.decimals(100))}%"
        parts.append(tag("line", class_="grid", x1=x, x2=x, y1=ceiling, y2=floor))
        parts.append(tag("text", text, class_="tick", x=x, y=floor + 20, text_anchor="middle"))
    middle = (LEFT + right) / 2
    parts += [
        tag("text", "tokens kept →", class_="axis", x=middle, y=HEIGHT - 8, text_anchor="middle"),
        tag(
            "text",
            f"{quality} →",
            class_="axis",
            text_anchor="middle",
            transform=f"translate(14 {(ceiling + floor) / 2:.0f}) rotate(-90)",
        ),
    ]
    return tag("g", *parts)


def _front_line(spots: Sequence[_Spot]) -> Markup | None:
    """A staircase: the best quality that is to be had for so many tokens."""
    if len(set(spots)) < 2:
        return None
    (x, y), *rest = spots
    path = f"M{x:.1f} {y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest)
    return tag("path", d=path, class_="front")


def _dots(
    points: Sequence[Point], spots: Sequence[_Spot], best: Sequence[Point]
) -> Iterator[Markup]:
    """The points, those of the front last, so that none of the others hides them."""
    for on_front, kind in ((False, "dot"), (True, "dot best")):
        for point, (x, y) in zip(points, spots, strict=True):
            if (point in best) is on_front:
                told = tag("title", _described(point))
                yield tag("circle", told, class_=kind, cx=x, cy=y, r=_RADIUS)


@attrs.frozen
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def between(cls, one: _Spot, other: _Spot, *, margin: float) -> _Box:
        (left, right), (top, bottom) = map(sorted, zip(one, other, strict=True))
        return cls(left - margin, top - margin, right + margin, bottom + margin)

    def overlap(self, other: _Box) -> float:
        """The area both cover."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, across) * max(0.0, down)

    def outside(self) -> float:
        """The area that lies beyond the plot."""
        plot = _Box(LEFT, 0, WIDTH, HEIGHT - BOTTOM)
        return (self.right - self.left) * (self.bottom - self.top) - self.overlap(plot)


def _labels(
    names: Sequence[str], spots: Sequence[_Spot], line: Sequence[_Spot]
) -> Iterator[Markup]:
    """Each name beside its point, where it covers least of the others and of the line."""
    # A label right beside another system's point would be taken for that one's name.
    dots = [_Box.between(spot, spot, margin=_RADIUS + 8) for spot in spots]
    steps = []
    for start, end in itertools.pairwise(line):
        corner = (end[0], start[1])
        steps += [_Box.between(start, corner, margin=2), _Box.between(corner, end, margin=2)]
    placed: dict[int, _Place] = {}
    # Later rounds move labels out of the way of those placed after them.
    for _ in range(3):
        for i, (name, spot) in enumerate(zip(names, spots, strict=True)):
            labels = [place.box for j, place in placed.items() if j != i]
            others = [*steps, *dots[:i], *dots[i + 1 :], *labels]
            placed[i] = min(_places(name, spot), key=lambda place: place.covered(others))
    for i, name in enumerate(names):
        place = placed[i]
        x, y = place.anchor_x, place.box.bottom - 3.5
        yield tag("text", name, class_="label", x=x, y=y, text_anchor=place.anchor)


@attrs.frozen
class _Place:
    """Where a label could stand, and which of its ends is held there."""

    box: _Box
    anchor: str
    anchor_x: float

    def covered(self, others: Iterable[_Box]) -> float:
        return sum(map(self.box.overlap, others)) + 2 * self.box.outside()


def _places(name: str, spot: _Spot) -> Iterator[_Place]:
    """The places beside, above and below a point, the best to read first."""
    x, y = spot
    size = width(name) * _CHARACTER
    left, right, centred = ("end", x - 11 - size), ("start", x + 11), ("middle", x - size / 2)
    shift = {"start": 0.0, "middle": size / 2, "end": size}
    beside = ((y - _LINE / 2, side) for side in (right, left))
    heights = (y - _LINE - 9, y + 9, y - _LINE - 20, y + 20)
    for top, (anchor, start) in (*beside, *itertools.product(heights, (right, left, centred))):
        yield _Place(_Box(start, top, start + size, top + _LINE), anchor, start + shift[anchor])
