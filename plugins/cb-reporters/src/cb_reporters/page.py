"""The result as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import attrs

from cb_reporters import chart, distribution, formats
from cb_reporters.markup import Markup, join, tag
from cb_reporters.rows_table import rows_section
from cb_reporters.section_charts import drawn
from cb_reporters.sections import SectionLine, SectionView
from cb_reporters.view import Column, View, components
from cbcore.plain import json_safe
from cbcore.results import EvalResult

_DEEPEST = 6
_KINDS = ("systems", "datasets", "evaluators", "metrics")
_SETTINGS = ("run_id", "state", "state_reason", "cbcore", "started", "score_field", "threshold")


def _check_max_rows(_: object, __: object, value: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"max_rows must be a whole number of at least 0, not {value!r}")


@attrs.frozen
class Html:
    """Self-contained web page with a comparison, a chart and the rows.

    Loads nothing from anywhere and reads without scripts; where scripts may run, rows can be
    filtered and tables sorted. `max_rows` limits the rows shown; the numbers rest on all.
    """

    name = "html"
    extension = "html"

    max_rows: int = attrs.field(default=1000, validator=_check_max_rows)

    def render(self, result: EvalResult) -> str:
        """The whole page."""
        view = View.of(result)
        sections = (
            _comparison(view),
            *(_section(section) for section in view.sections),
            _chart(view),
            _by_dataset(view),
            _distribution(result),
            _details(view),
            rows_section(result, self.max_rows),
            _provenance(result.config),
        )
        style, script = _asset("page.css"), _asset("page.js")
        policy = (
            f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
            "base-uri 'none'; form-action 'none'"
        )
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", f"{view.title} · cb"),
            tag("style", style),
        )
        body = tag(
            "body",
            _headline(view),
            tag("main", *(tag("section", section) for section in sections if section)),
            tag("script", script),
        )
        return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _asset(name: str) -> Markup:
    return Markup((resources.files("cb_reporters") / name).read_text(encoding="utf-8"))


def _hash(content: str) -> str:
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _headline(view: View) -> Markup:
    facts = (tag("div", tag("dt", label), tag("dd", text)) for label, text in view.facts)
    notes = tag("ul", *(tag("li", note, dir="auto") for note in view.notes), class_="notes")
    return tag(
        "header",
        tag("p", "Context benchmark", class_="kicker"),
        tag("h1", tag("bdi", view.title)),
        tag("dl", *facts, class_="facts"),
        tag("p", view.status, class_="status", role="status") if view.status else None,
        notes if view.notes else None,
    )


def _comparison(view: View) -> Markup | None:
    if not view.systems:
        return tag("p", "The result has no rows and no systems.", class_="lead")
    return join(
        tag("h2", "Comparison"),
        _systems_table("Comparison of systems", view.systems, (*view.columns, *view.counts)),
        tag("p", legend, class_="caption") if (legend := _legend(view)) else None,
        tag("ul", *(tag("li", tag("bdi", told)) for told in view.verdicts), class_="verdicts")
        if view.verdicts
        else None,
    )


def _legend(view: View) -> str:
    told = []
    if any(column.best for column in view.columns):
        told.append("Bold: best in its column.")
    if any(column.alike for column in view.columns):
        told.append("≈: the examples do not tell it from the best.")
    if any("[" in cell for column in view.columns for cell in column.cells):
        told.append("Brackets: 95% interval.")
    return " ".join(told)


def _systems_table(label: str, systems: Sequence[str], columns: Sequence[Column]) -> Markup:
    head = (tag("th", column.header, scope="col", class_="num") for column in columns)
    body = (
        tag(
            "tr",
            tag("th", tag("bdi", system), scope="row"),
            *(_cell(column, i) for column in columns),
        )
        for i, system in enumerate(systems)
    )
    return _table(label, (tag("th", "system", scope="col"), *head), body)


def _table(label: str, head: Sequence[Markup], body: Iterator[Markup]) -> Markup:
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), class_="sortable")
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)


def _cell(column: Column, i: int) -> Markup:
    value = column.values[i]
    text = tag("strong", column.cells[i]) if i in column.best else column.cells[i]
    alike = " ≈" if i in column.alike else None
    kind = "num none" if value is None else "num"
    sort_by = None if value is None else repr(value)
    sure = (column.sure[i] or None) if column.sure else None
    return tag("td", text, alike, class_=kind, data_value=sort_by, title=sure)


def _chart(view: View) -> Markup | None:
    points = chart.points_of(view)
    if len(points) < 2:
        return None
    quality = view.first("mean_score")
    caption = (
        "Up and to the left is better. Filled points are on the Pareto front: no other system "
        "is as good with fewer tokens, or better with as many."
    )
    drawing = chart.scatter(points, quality.header if quality else "quality")
    return join(
        tag("h2", "Quality against tokens kept"),
        tag(
            "figure",
            tag(
                "div",
                drawing,
                class_="scroll plain",
                tabindex="0",
                role="region",
                aria_label="Chart",
            ),
            tag("figcaption", caption),
        ),
    )


def _section(section: SectionView) -> Markup:
    head = [tag("th", tag("bdi", section.header), scope="col")]
    for i, header in enumerate(section.headers):
        number = i >= section.n_described
        head.append(tag("th", tag("bdi", header), scope="col", class_="num" if number else None))
    body = (_section_line(line, section) for line in section.lines)
    # Sorting would tear members from their groups, so these lines stay as they are.
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), class_="section")
    return join(
        tag("h2", tag("bdi", section.title)),
        drawn(section.chart),
        tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=section.title),
        tag("p", "Value ± standard error; n: examples scored.", class_="caption")
        if section.n_described
        else None,
    )


def _section_line(line: SectionLine, section: SectionView) -> Markup:
    indent = f"depth-{min(line.depth, _DEEPEST)}"
    name = tag("strong", line.name) if line.group else line.name
    label = tag("bdi", name) if line.named else None
    cells: list[Markup] = []
    if line.note:
        cells.append(tag("td", line.note, class_="text", colspan=str(len(section.headers))))
    for i, cell in enumerate(() if line.note else line.cells):
        cells.append(tag("td", cell, class_="num" if i >= section.n_described else None))
    return tag("tr", tag("th", label, scope="row", class_=indent), *cells)


def _by_dataset(view: View) -> Markup | None:
    if not view.datasets:
        return None
    head = (tag("th", tag("bdi", system), scope="col", class_="num") for system in view.systems)
    body = (
        tag(
            "tr",
            tag("th", tag("bdi", column.header), scope="row"),
            *(_cell(column, i) for i in range(len(view.systems))),
        )
        for column in view.datasets
    )
    table = _table("Quality by dataset", (tag("th", "dataset", scope="col"), *head), body)
    return join(tag("h2", "By dataset"), table)


def _distribution(result: EvalResult) -> Markup | None:
    """The score of the run in full, the others to be opened."""
    parts = []
    for number, (score, found) in enumerate(distribution.distributions_of(result).items()):
        figures = join(_figures_table(score, found), _drawn(score, found, number))
        if number == 0:
            parts += [tag("h2", "Distribution of ", tag("bdi", score)), figures]
        else:
            parts.append(tag("details", tag("summary", tag("bdi", score)), figures, class_="score"))
    return join(*parts) if parts else None


def _figures_table(score: str, found: Sequence[distribution.Distribution]) -> Markup:
    cells = [list(distribution.cells(one)) for one in found]
    head = [tag("th", header, scope="col", class_="num") for header, _, _ in cells[0]]
    body = (
        tag(
            "tr",
            tag("th", tag("bdi", one.system), scope="row"),
            *(
                tag("td", text, class_="num", data_value=None if value is None else repr(value))
                for _, text, value in row
            ),
        )
        for one, row in zip(found, cells, strict=True)
    )
    return _table(f"Figures of {score}", (tag("th", "system", scope="col"), *head), body)


def _drawn(score: str, found: Sequence[distribution.Distribution], number: int) -> Markup | None:
    drawing = distribution.drawing(score, found, number)
    if drawing is None:
        return None
    caption = (
        "Above, how many rows have which score; below, the median, the middle half and, as "
        "points, what lies more than 1.5 times that half away."
    )
    scroll = tag(
        "div",
        drawing,
        class_="scroll plain",
        tabindex="0",
        role="region",
        aria_label=f"Distribution of {score}",
    )
    return tag("figure", scroll, tag("figcaption", caption))


def _details(view: View) -> Markup | None:
    if not view.details:
        return None
    table = _systems_table("More metrics", view.systems, view.details)
    return tag("details", tag("summary", tag("h2", "More metrics")), table, class_="more")


def _provenance(config: Mapping[str, Any]) -> Markup | None:
    lines = [
        tag(
            "tr",
            tag("td", kind.removesuffix("s")),
            tag("th", tag("bdi", _text(component.get("name"))), scope="row"),
            tag("td", _text(component.get("component"))),
            tag("td", f"{_text(component.get('plugin'))} {_text(component.get('version'))}"),
            tag("td", _parameters(component.get("params")), class_="text"),
            tag("td", tag("code", _text(component.get("digest"))[:12])),
        )
        for kind in _KINDS
        for component in components(config, kind)
    ]
    rest = sorted(set(config) - {*_KINDS, *_SETTINGS})
    settings = [
        tag("div", tag("dt", name.replace("_", " ")), tag("dd", _setting(name, config[name])))
        for name in (*_SETTINGS, *rest)
        if config.get(name) is not None
    ]
    if not lines and not settings:
        return None
    headers = ("kind", "name", "component", "from", "parameters", "digest")
    head = [tag("th", header, scope="col") for header in headers]
    return join(
        tag("h2", "Provenance"),
        tag("dl", *settings, class_="facts small") if settings else None,
        _table("Components", head, iter(lines)) if lines else None,
    )


def _setting(name: str, value: Any) -> str:
    return formats.moment(str(value)) if name == "started" else _text(value)


def _parameters(value: Any) -> str:
    if not isinstance(value, Mapping):
        return _text(value)
    return ", ".join(f"{key}={_text(item)}" for key, item in value.items())


def _text(value: Any) -> str:
    """A value from the config: text as it is, nothing as nothing, the rest as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(json_safe(value), ensure_ascii=False)
