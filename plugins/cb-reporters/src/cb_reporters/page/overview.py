"""The upper part of the page: what was run, what to make of it, and the numbers behind that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cb_reporters.markup import Markup, join, tag
from cb_reporters.page.tables import cell, name, systems_table, table
from cb_reporters.view import View
from cbcore.results import EvalResult

if TYPE_CHECKING:
    from cb_reporters.sections import SectionLine, SectionView
    from cbcore.results.verdicts import Verdict

_DEEPEST = 6
_BAR = 150
_OUTCOMES = {
    "baseline": "baseline",
    "better": "gain",
    "worse": "loss",
    "undecided": "not significant",
    "failed": "failed",
    "unchanged": "unchanged",
    "not measured": "not measured",
}
_CLASSES = {"failed": "all-failed", "not measured": "not-measured"}
"""The outcomes that have a class of another name."""


def headline(view: View) -> Markup:
    """Title, facts, and what has to be known before any number is read."""
    facts = (
        tag("div", tag("dt", label), tag("dd", tag("bdi", text))) for label, text in view.facts
    )
    kind = "status reading" if view.running else "status"
    return join(
        tag("p", "Context benchmark", class_="kicker"),
        tag("h1", tag("bdi", view.title)),
        tag("dl", *facts, class_="facts"),
        tag("p", view.status, class_=kind, role="status") if view.status else None,
    )


def verdict_section(result: EvalResult, view: View) -> Markup | None:
    """One sentence for each system, the baseline first."""
    if not view.systems:
        return tag("p", "The result has no rows and no systems.", class_="lead")
    if not result.verdicts:
        told = _alone(result, view)
        return join(tag("h2", "Verdict"), tag("p", *told, class_="single")) if told else None
    widest = max(1.0, *(v.kept or 0.0 for v in result.verdicts))
    key = tag(
        "p",
        "Bars: the share of the baseline's score that is kept, with its 95% interval; "
        "the thin mark is the share of its tokens.",
        class_="caption",
    )
    return join(
        tag("h2", "Verdict"),
        tag("ul", *(_verdict(v, widest) for v in result.verdicts), class_="verdicts"),
        key if any(map(_has_bar, result.verdicts)) else None,
    )


def _alone(result: EvalResult, view: View) -> list[Markup | str]:
    """The statement on a single system; empty for several systems, or without a score."""
    quality = view.first("mean_score")
    if quality is None or quality.values[0] is None or len(view.systems) != 1:
        return []
    system = tag("strong", tag("bdi", view.systems[0]))
    score = str(result.config.get("score_field") or quality.header)
    told = f"{score} {quality.cells[0]}"
    if view.counts:  # of all rows, once they were read
        n_scored = int(view.counts[0].values[0] or 0)
        told += f" on {n_scored:,} example{'' if n_scored == 1 else 's'}"
    return [system, f" scores {told}. There is no other system to compare it with."]


def _verdict(verdict: Verdict, widest: float) -> Markup:
    rest = verdict.sentence.removeprefix(verdict.system)
    told = join(tag("strong", tag("bdi", verdict.system)), f"{rest}.")
    if rest == verdict.sentence:  # the name is not where it was expected
        told = join(verdict.sentence, ".")
    return tag(
        "li",
        tag("span", _label(verdict), class_="badge"),
        _bar(verdict, widest),
        tag("p", told),
        class_=_CLASSES.get(verdict.outcome, verdict.outcome),
    )


def _label(verdict: Verdict) -> str:
    if verdict.outcome == "undecided" and verdict.p_value is None:
        return "too few to test"
    return _OUTCOMES[verdict.outcome]


def _has_bar(verdict: Verdict) -> bool:
    return verdict.outcome not in ("failed", "unchanged", "not measured") and not verdict.is_blank


def _bar(verdict: Verdict, widest: float) -> Markup:
    """The share of quality that is kept, as a bar. Empty without a comparison."""
    if not _has_bar(verdict):
        return tag("svg", viewBox=f"0 0 {_BAR} 18", class_="bar", aria_hidden="true")

    def at(share: float) -> float:
        return 6 + (_BAR - 12) * min(max(share / widest, 0.0), 1.0)

    kept = 1.0 if verdict.outcome == "baseline" else verdict.kept
    tokens = 1.0 if verdict.outcome == "baseline" else verdict.tokens
    parts = [tag("line", x1=at(0), x2=at(1), y1=9, y2=9, class_="whole")]
    if verdict.kept_low is not None and verdict.kept_high is not None:
        parts.append(
            tag("line", x1=at(verdict.kept_low), x2=at(verdict.kept_high), y1=9, y2=9, class_="ci")
        )
    if tokens is not None:
        parts.append(tag("line", x1=at(tokens), x2=at(tokens), y1=2, y2=16, class_="tokens"))
    if kept is not None:
        parts.append(tag("circle", cx=at(kept), cy=9, r=4.5, class_="kept"))
    return tag("svg", *parts, viewBox=f"0 0 {_BAR} 18", class_="bar", aria_hidden="true")


def comparison_section(result: EvalResult, view: View) -> Markup | None:
    """The systems by every metric, with intervals and what cannot be told apart."""
    if not view.systems:
        return None
    return join(
        tag("h2", "Systems"),
        systems_table("Comparison of systems", view.systems, (*view.columns, *view.counts)),
        tag("p", legend, class_="caption") if (legend := _legend(view)) else None,
        tag("ul", *(tag("li", str(note), dir="auto") for note in result.problems), class_="notes")
        if result.problems
        else None,
        _details(view),
    )


def _legend(view: View) -> str:
    told = []
    if any(column.best for column in view.columns):
        told.append("Bold: best in its column; its interval allows for choosing the best.")
    if any(column.alike for column in view.columns):
        told.append("≈: no significant difference from the best (adjusted for all pairs).")
    if any("[" in text for column in view.columns for text in column.cells):
        told.append("Brackets: 95% interval.")
    return " ".join(told)


def _details(view: View) -> Markup | None:
    if not view.details:
        return None
    inner = systems_table("More metrics", view.systems, view.details)
    return tag("details", tag("summary", "More metrics"), inner, class_="more")


def datasets_table(view: View) -> Markup:
    """The quality of each system on each dataset."""
    lines = (
        (name(column.header), *(cell(column, i) for i in range(len(view.systems))))
        for column in view.datasets
    )
    return table("Quality by dataset", ("dataset", *view.systems), lines)


def section_table(section: SectionView) -> Markup:
    """The table that a plugin added: its tree, with every score."""
    told = "Value ± standard error; n: examples scored."
    if section.has_intervals and not section.one_system:
        told = f"{told} Brackets: 95% interval."
    if section.one_system:
        section = section.beside()
    heads = (section.header, *section.headers)
    lines = (_section_line(line, section) for line in section.lines)
    # Sorting would tear members from their groups, so these lines stay as they are.
    return join(
        table(section.title, heads, lines, texts=range(1 + section.n_described), kind="section"),
        tag("p", told, class_="caption") if section.n_described else None,
        _meanings(section.legend),
    )


def _meanings(told: Sequence[tuple[str, str]]) -> Markup | None:
    """The meanings of columns, below their table."""
    if not told:
        return None
    meanings = (
        tag("div", tag("dt", tag("bdi", head)), tag("dd", tag("bdi", meaning)))
        for head, meaning in told
    )
    return tag("dl", *meanings, class_="meanings")


def _section_line(line: SectionLine, section: SectionView) -> list[Markup]:
    indent = f"depth-{min(line.depth, _DEEPEST)}"
    text = tag("strong", line.name) if line.group else line.name
    label = tag("bdi", text) if line.named else None
    if line.note:
        cells = [tag("td", line.note, class_="text", colspan=str(len(section.headers)))]
    else:
        below = () if section.one_system else line.intervals
        intervals = (*("",) * (len(line.cells) - len(below)), *below)
        cells = [
            tag(
                "td",
                text,
                tag("span", interval, class_="interval") if interval.startswith("[") else None,
                class_="num" if i >= section.n_described else None,
            )
            for i, (text, interval) in enumerate(zip(line.cells, intervals, strict=True))
        ]
    return [tag("th", label, scope="row", class_=indent), *cells]
