"""The pictures that sections bring along: heat maps and curves, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cb_reporters import formats
from cb_reporters.markup import Markup, join, tag

_CELL_W, _CELL_H, _LABEL_W = 48, 26, 70
_WIDTH, _HEIGHT, _MARGIN = 640, 320, 48
_N_COLOURS = 8
"""Those of the page's style, which are others in the dark."""
_STEPS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10)
_WORST, _BEST = (204, 85, 70), (15, 118, 110)


def drawn(chart: Mapping[str, Any] | None) -> Markup | None:
    """The picture of a section; None where there is none, or of a kind that is not known."""
    kind = chart.get("kind") if isinstance(chart, Mapping) else None
    if chart is None or kind not in ("heat map", "curves"):
        return None
    picture = join(*_heat_maps(chart)) if kind == "heat map" else _curves(chart)
    return tag("figure", picture) if picture else None


def _heat_maps(chart: Mapping[str, Any]) -> Iterator[Markup]:
    columns = [str(column) for column in chart.get("columns") or ()]
    for panel in chart.get("panels") or ():
        rows = [str(row) for row in panel.get("rows") or ()]
        cells = [
            _cell(x, y, formats.finite(value), f"{row}, {column}")
            for y, (row, values) in enumerate(zip(rows, panel.get("values") or (), strict=False))
            for x, (column, value) in enumerate(zip(columns, values, strict=False))
        ]
        labels = [
            _label(_LABEL_W - 6, (y + 0.5) * _CELL_H, row, "end") for y, row in enumerate(rows)
        ]
        below = len(rows) * _CELL_H + 16
        labels += [
            _label(_LABEL_W + (x + 0.5) * _CELL_W, below, column, "middle")
            for x, column in enumerate(columns)
        ]
        title = str(panel.get("title") or "")
        yield join(
            tag("figcaption", f"{title}: {chart.get('y')} down, {chart.get('x')} across"),
            _picture(
                *(f"heat map of {title}", _LABEL_W + len(columns) * _CELL_W, below + 8),
                *(*cells, *labels),
            ),
        )


def _picture(label: str, width: int, height: int, *drawings: Markup) -> Markup:
    """A picture of this size; where there is no room for it, it is moved sideways."""
    svg = tag(
        *("svg", *drawings),
        viewBox=f"0 0 {width} {height}",
        width=float(width),
        role="img",
        aria_label=label,
    )
    return tag("div", svg, class_="picture", tabindex="0", role="group", aria_label=label)


def _cell(x: int, y: int, value: float | None, where: str) -> Markup:
    left, top = _LABEL_W + x * _CELL_W, y * _CELL_H
    if value is None:
        return tag("rect", x=left, y=top, width=_CELL_W - 2, height=_CELL_H - 2, fill="none")
    share = min(1.0, max(0.0, value))
    mixed = (round(a + (b - a) * share) for a, b in zip(_WORST, _BEST, strict=True))
    told = f"{100 * value:.0f}"
    return join(
        tag(
            *("rect", tag("title", f"{where}: {told}%")),
            x=left,
            y=top,
            width=_CELL_W - 2,
            height=_CELL_H - 2,
            fill=f"rgb({','.join(map(str, mixed))})",
        ),
        _label(left + _CELL_W / 2, top + _CELL_H / 2, told, "middle", fill="#fff"),
    )


def _curves(chart: Mapping[str, Any]) -> Markup | None:
    series = [
        (str(one.get("name")), [p for p in one.get("points") or () if _is_point(p)])
        for one in chart.get("series") or ()
    ]
    series = [(name, points) for name, points in series if points]
    if not series:
        return None
    xs = [float(p["x"]) for _, points in series for p in points]
    bounds = (p.get(key) for _, points in series for p in points for key in ("y", "low", "high"))
    ys = [y for bound in bounds if (y := formats.finite(bound)) is not None]
    scale = _Scale(0.0, _round_end(max(xs)), *_heights(series, ys))
    drawings = [_series(points, scale, i) for i, (_, points) in enumerate(series)]
    key = (
        tag("li", tag("bdi", name), class_=f"series-{i % _N_COLOURS}")
        for i, (name, _) in enumerate(series)
    )
    named = f"{chart.get('y')} against {chart.get('x')}"
    return join(
        tag("ul", *key, class_="key"),
        tag("figcaption", named),
        _picture(named, _WIDTH, _HEIGHT, _axes(scale), *drawings),
    )


def _heights(
    series: Sequence[tuple[str, Sequence[Mapping[str, Any]]]], bounds: Sequence[float]
) -> tuple[float, float]:
    """Where the axis of scores begins and ends; an interval that leaves 0 to 1 is cut there."""
    values = [float(point["y"]) for _, points in series for point in points]
    low = 0.0 if min(values) >= 0 else -_round_end(-min(bounds))
    return low, 1.0 if max(values) <= 1 else _round_end(max(bounds))


def _round_end(largest: float) -> float:
    """Where an axis ends that holds so much, so that its quarters are round numbers."""
    if not largest > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest / 4))
    return 4 * power * next(step for step in _STEPS if 4 * power * step >= largest * (1 - 1e-9))


class _Scale:
    """From values to places in the picture."""

    def __init__(self, x0: float, x1: float, y0: float, y1: float) -> None:
        self.x0, self.x1, self.y0, self.y1 = x0, x1, y0, y1

    def x(self, value: float) -> float:
        return _MARGIN + (value - self.x0) / (self.x1 - self.x0) * (_WIDTH - 2 * _MARGIN)

    def y(self, value: float) -> float:
        value = min(max(value, self.y0), self.y1)
        return _HEIGHT - _MARGIN - (value - self.y0) / (self.y1 - self.y0) * (_HEIGHT - 2 * _MARGIN)


def _axes(scale: _Scale) -> Markup:
    left, bottom = scale.x(scale.x0), scale.y(scale.y0)
    lines = [
        tag("line", x1=left, y1=bottom, x2=scale.x(scale.x1), y2=bottom, stroke="currentColor"),
        tag("line", x1=left, y1=bottom, x2=left, y2=scale.y(scale.y1), stroke="currentColor"),
    ]
    for quarter in range(5):
        x = scale.x0 + (scale.x1 - scale.x0) * quarter / 4
        y = scale.y0 + (scale.y1 - scale.y0) * quarter / 4
        lines += [
            _label(scale.x(x), bottom + 16, f"{x:.4g}", "middle"),
            _label(left - 6, scale.y(y), f"{y:.2g}", "end"),
        ]
    return join(*lines)


def _series(points: Sequence[Mapping[str, Any]], scale: _Scale, number: int) -> Markup:
    colour = "currentColor"
    places = [(scale.x(float(p["x"])), scale.y(float(p["y"]))) for p in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    drawings = [tag("polyline", points=line, fill="none", stroke=colour, stroke_width=2)]
    for point, (x, y) in zip(points, places, strict=True):
        low, high = (formats.finite(point.get(key)) for key in ("low", "high"))
        if low is not None and high is not None:
            drawings.append(
                tag("line", x1=x, y1=scale.y(low), x2=x, y2=scale.y(high), stroke=colour)
            )
        told = f"{point.get('label')}: {float(point['y']):.3f} at {float(point['x']):.4g}"
        drawings.append(tag("circle", tag("title", told), cx=x, cy=y, r=4, fill=colour))
    return tag("g", *drawings, class_=f"series-{number % _N_COLOURS}")


def _is_point(point: Any) -> bool:
    if not isinstance(point, Mapping):
        return False
    return all((v := formats.finite(point.get(k))) is not None and math.isfinite(v) for k in "xy")


def _label(x: float, y: float, text: str, anchor: str, *, fill: str = "currentColor") -> Markup:
    return tag(
        *("text", text),
        x=x,
        y=y,
        fill=fill,
        text_anchor=anchor,
        dominant_baseline="middle",
        font_size=12,
    )
