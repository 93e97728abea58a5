"""The document around the data: everything that reads without a script, and what scripts need."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from cb_reporters.markup import Markup, digest_source, join, tag
from cb_reporters.page.charts import Charts
from cb_reporters.page.embedding import Embedded, embed
from cb_reporters.page.figures import figures
from cb_reporters.page.overview import comparison_section, headline, verdict_section
from cb_reporters.page.problems import errors_section, missing_section
from cb_reporters.page.reproduce import reproduce_section
from cb_reporters.page.survey import Survey
from cb_reporters.view import View
from cbcore.json_data import to_json_safe
from cbcore.results import EvalResult

MAX_ROWS = 100_000
MAX_MB = 24.0
_ROWS_IN_MEMORY = 20_000

_ASSETS = Path(__file__).with_name("assets")
_READING = (
    "The rows are still being read. Numbers that are here already rest on all of them; examples "
    "appear as they are read, and counts, errors and distributions when all are."
)
_CHAPTERS = {
    "verdict": "Verdict",
    "systems": "Systems",
    "errors": "Errors",
    "missing": "Missing scores",
    "frontier": "Charts",
    "examples": "Examples",
    "reproduce": "Reproduce",
}


def render(
    result: EvalResult,
    survey: Survey | None = None,
    *,
    remote: bool = False,
    live: bool = False,
    version: str = "",
    max_rows: int = MAX_ROWS,
    max_mb: float = MAX_MB,
) -> str:
    """The whole page of a result.

    With `remote` it asks the server that it came from for examples, otherwise it holds them:
    all, or where they have more than `max_rows` rows or `max_mb` megabytes a sample of them.
    `live` says that the run is still going, `version` what the server calls the page. `survey` spares going through the rows once more;
    where it has not read all of them, the page says so, and what rests on all is left out.
    """
    survey = Survey.of(result) if survey is None else survey
    index, is_whole = survey.index, survey.is_whole(result)
    view = View.of(result, survey.counts() if is_whole else {})
    charts = Charts.of(result, view, survey)
    held = Embedded(Markup(""), len(index.keys), len(index.keys))
    if not remote:
        held = embed(result, index, max_rows, max_mb)
    sections = dict(_sections(result, view, survey, charts, held))
    head = _head(result, survey, charts, held, "remote" if remote else "inline")
    head |= {"live": live or not is_whole, "version": version}
    body = tag(
        "body",
        tag("a", "Skip to the examples", href="#examples", class_="skip"),
        tag(
            "header",
            headline(view),
            None if is_whole else tag("p", _READING, class_="status reading", role="status"),
            _chapters(sections),
            id="top",
            data_live=True,
        ),
        tag("main", *(_placed(name, section) for name, section in sections.items())),
        tag("script", Markup(_json(head)), type="application/json", id="head"),
        held.markup,
        tag("script", _asset("page.js")),
    )
    policy = ("connect-src 'self'; " if remote else "") + "base-uri 'none'; form-action 'none'"
    return f"<!doctype html>\n{tag('html', _document_head(view.title, policy), body, lang='en')}\n"


def _sections(
    result: EvalResult, view: View, survey: Survey, charts: Charts, held: Embedded
) -> Iterator[tuple[str, Markup]]:
    is_whole = survey.is_whole(result)
    causes = survey.causes() if is_whole else []
    unscored = survey.unscored if is_whole else {}
    written = [
        ("verdict", verdict_section(result, view)),
        ("systems", comparison_section(result, view)),
        ("errors", errors_section(causes, survey.n_read)),
        ("missing", missing_section(causes, unscored, survey.index.main_score)),
        *figures(charts, view),
        ("examples", _explorer(held) if survey.index.keys else None),
        ("reproduce", reproduce_section(result, survey.scores)),
    ]
    for name, section in written:
        if section:
            yield name, section


def _placed(name: str, section: Markup) -> Markup:
    # What a running run changes is replaced as a whole; the explorer asks again by itself.
    return tag("section", section, id=name, data_live=name != "examples")


def _chapters(sections: dict[str, Markup]) -> Markup:
    links = [
        tag("a", title, href=f"#{name}") for name, title in _CHAPTERS.items() if name in sections
    ]
    return tag("nav", *links, class_="chapters", aria_label="On this page")


def _explorer(held: Embedded) -> Markup:
    told = None
    if held.shown < held.total:
        told = (
            f"A sample of {held.shown:,} of {held.total:,} examples, taken evenly from every "
            "system's errors, missing scores, and low and high scores. All numbers above rest "
            "on all rows."
        )
    return join(
        tag("h2", "Examples"),
        tag("p", told, class_="lead sampled") if told else None,
        tag(
            "div",
            tag("p", "Exploring examples needs scripts, which are not run here.", class_="caption"),
            id="explorer",
        ),
    )


def _head(
    result: EvalResult, survey: Survey, charts: Charts, held: Embedded, mode: str
) -> dict[str, Any]:
    index = survey.index
    baseline = next((v.system for v in result.verdicts if v.outcome == "baseline"), None)
    return {
        "mode": mode,
        "systems": list(index.systems),
        "datasets": list(index.datasets),
        "scores": list(index.scores),
        "score": index.main_score,
        "baseline": baseline or next(iter(index.systems), None),
        "examples": held.shown,
        "charts": charts.to_json(),
    }


def _document_head(title: str, policy: str) -> Markup:
    style, script = _asset("style.css"), _asset("page.js")
    allowed = f"style-src {digest_source(style)}; script-src {digest_source(script)}"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag(
            "meta",
            http_equiv="Content-Security-Policy",
            content=f"default-src 'none'; {allowed}; {policy}",
        ),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · cb"),
        tag("style", style),
    )


def _json(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(to_json_safe(data)).replace("<", "\\u003c")


def _asset(name: str) -> Markup:
    return Markup((_ASSETS / name).read_text("utf-8"))


def _check_max_rows(_: object, __: object, value: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"max_rows must be a whole number of at least 0, not {value!r}")


def _check_max_mb(_: object, __: object, value: float) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        raise ValueError(f"max_mb must be a number above 0, not {value!r}")


@attrs.frozen(eq=False)
class Html:
    """Self-contained web page: verdict, tables, charts, and every example side by side.

    Loads nothing from anywhere. Verdict, tables and causes of errors read without scripts; where
    scripts may run, charts are drawn and examples can be filtered, searched and opened.
    Examples with more than `max_rows` rows in all, or above `max_mb` megabytes, are sampled from
    every system and outcome; the numbers rest on all rows.
    """

    name = "html"
    extension = "html"

    max_rows: int = attrs.field(default=MAX_ROWS, validator=_check_max_rows)
    max_mb: float = attrs.field(default=MAX_MB, validator=_check_max_mb)

    def render(self, result: EvalResult) -> str:
        """The whole page."""
        if len(result.rows) <= _ROWS_IN_MEMORY:  # a row on disk is decoded once, not once per use
            result = dataclasses.replace(result, rows=list(result.rows))
        return render(result, max_rows=self.max_rows, max_mb=self.max_mb)
