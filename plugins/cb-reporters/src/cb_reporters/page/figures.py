"""The charts of the page: a place for each drawing, what it shows in words, and its table."""

from __future__ import annotations

from collections.abc import Iterator

from cb_reporters import formats
from cb_reporters.markup import Markup, join, tag
from cb_reporters.page.charts import Axis, Charts, Estimate
from cb_reporters.page.distributions import ScoreSpread
from cb_reporters.page.overview import datasets_table, section_table
from cb_reporters.page.tables import name, number, table
from cb_reporters.view import View

_MOST_OTHERS = 3

_UNITS = {
    "share": formats.percent,
    "tokens": formats.average,
    "usd": lambda value: f"${value:.4g}",
    "seconds": formats.duration,
}


def figures(charts: Charts, view: View) -> Iterator[tuple[str, Markup]]:
    """Every chart that has something to show, by the id of its section."""
    if charts.axes:
        drawn = [_frontier(charts, axis) for axis in charts.axes]
        first, *others = drawn
        rest = [
            tag("details", tag("summary", f"By {axis.label}"), figure, class_="more")
            for axis, figure in zip(charts.axes[1:], others, strict=True)
        ]
        yield "frontier", join(tag("h2", f"Quality against {charts.axes[0].label}"), first, *rest)
    if charts.families:
        yield "families", join(tag("h2", "Curves"), _families(charts))
    yield from _places(charts, view)
    if charts.spreads:
        yield "distributions", join(*_distributions(charts.spreads))
    if charts.latency:
        yield "latency", join(tag("h2", "Latency"), _latency(charts))


def _figure(chart: str, label: str, caption: str, inner: Markup) -> Markup:
    return tag(
        "figure",
        tag("div", class_="plot", data_chart=chart, role="img", aria_label=label),
        tag("figcaption", caption),
        tag("details", tag("summary", "Table"), inner, class_="data"),
    )


def _bounds(estimate: Estimate, write: formats.Format) -> str:
    value, low, high = estimate
    text = write(value)
    return text if low is None or high is None else f"{text} [{write(low)}, {write(high)}]"


def _frontier(charts: Charts, axis: Axis) -> Markup:
    write = _UNITS[axis.unit]
    points = [point for point in charts.points if axis.key in point.costs]
    lines = [
        (
            name(point.system),
            number(_bounds(point.costs[axis.key], write), point.costs[axis.key][0]),
            number(_bounds(point.quality, formats.score), point.quality[0]),
        )
        for point in points
    ]
    heads = ("system", axis.label, charts.quality)
    caption = (
        "Up and to the left is better; lines are 95% intervals. Filled points are on the front: no "
        "other system is as good for less, or better for as much."
    )
    label = f"{charts.quality} against {axis.label} of {len(points)} systems; the table has it all"
    return _figure(f"frontier-{axis.key}", label, caption, table(label, heads, lines))


def _families(charts: Charts) -> Markup:
    heads = ("family", "parameter", "system", "at", charts.quality)
    lines = [
        (
            name(family.name),
            tag("td", tag("bdi", family.parameter)),
            tag("td", tag("bdi", system)),
            number(formats.general(at), at),
            number(_bounds(quality[system], formats.score), quality[system][0]),
        )
        for family, quality in charts.families
        for at, system in family.systems
    ]
    label = f"{charts.quality} of systems that differ in one parameter"
    caption = "Systems that differ in one number only are one curve; bands are 95% intervals."
    return _figure("families", label, caption, table(label, heads, lines, texts=range(3)))


def _places(charts: Charts, view: View) -> Iterator[tuple[str, Markup]]:
    caption = "Lines are 95% intervals."
    if charts.datasets:
        inner = datasets_table(view)
        label = f"{charts.quality} of every system on each dataset"
        yield (
            "datasets",
            join(tag("h2", "By dataset"), _figure("datasets", label, caption, inner)),
        )
    elif view.datasets:
        yield "datasets", join(tag("h2", "By dataset"), datasets_table(view))
    by_title = {group.title: group for group in charts.groups}
    if not view.sections:
        return
    from cb_reporters.section_charts import drawn

    for number_of, section in enumerate(view.sections):
        title = tag("h2", tag("bdi", section.title))
        group = by_title.get(section.title)
        pictures = [drawn(section.chart)]
        if group is not None:
            label = f"{group.metric} of every system in each line of {section.title}"
            lines = "95% intervals" if group.intervals else "one standard error to either side"
            told = f"{group.metric}; lines are {lines}. All scores are below."
            pictures.append(
                tag(
                    "figure",
                    tag("div", class_="plot", data_chart=group.id, role="img", aria_label=label),
                    tag("figcaption", told),
                )
            )
        yield f"section-{number_of}", join(title, *pictures, section_table(section))


def _distributions(spreads: list[ScoreSpread]) -> Iterator[Markup]:
    """The score of the run in full, the others to be opened, many of them behind one more."""
    drawn = 0
    others = []
    for position, spread in enumerate(spreads):
        inner = _spread_table(spread)
        label = f"distribution of {spread.score} for each system"
        caption = "How many rows have which score; the line is the mean."
        figure = inner
        if spread.drawn() is not None:
            figure = _figure(f"distribution-{drawn}", label, caption, inner)
            drawn += 1
        if position == 0:
            yield join(tag("h2", "Distribution of ", tag("bdi", spread.score)), figure)
        else:
            summary = tag("summary", tag("bdi", spread.score))
            others.append(tag("details", summary, figure, class_="more"))
    if len(others) <= _MOST_OTHERS:
        yield from others
    else:
        summary = tag("summary", f"{len(others)} other scores")
        yield tag("details", summary, tag("div", *others), class_="more")


def _spread_table(spread: ScoreSpread) -> Markup:
    heads = ["system", *(title for title, _ in spread.systems[0].figures()), "scored", "missing"]
    lines = []
    for one in spread.systems:
        values = (
            number(formats.ABSENT if v is None else formats.score(v), v) for _, v in one.figures()
        )
        counts = (number(f"{n:,}", n) for n in (len(one.values), one.missing))
        lines.append((name(one.system), *values, *counts))
    return table(f"Figures of {spread.score}", heads, lines)


def _latency(charts: Charts) -> Markup:
    keys = ("p5", "q1", "median", "q3", "p95")
    lines = [
        (name(one["system"]), *(number(formats.duration(one[key]), one[key]) for key in keys))
        for one in charts.latency
    ]
    label = "latency of every system"
    caption = "Point: median; bar: the middle half; line: from 5 to 95% of the rows."
    return _figure("latency", label, caption, table(label, ("system", *keys), lines))
