"""The end of the page: how to get the same numbers again."""

from __future__ import annotations

from cb_reporters import formats
from cb_reporters.markup import Markup, join, tag
from cb_reporters.page.reproduce import Used, commands_of, environment_of, used_in
from cb_reporters.page.tables import header, table
from cbcore.results import EvalResult


def reproduce_section(result: EvalResult, scores: set[str]) -> Markup | None:
    """Facts, the command, and every component spelt out; nothing that is not there."""
    facts = environment_of(result.config)
    used = used_in(result, scores)
    if not facts and not used:
        return None
    settings = [
        tag("div", tag("dt", label), tag("dd", tag("bdi", formats.moment(text))))
        for label, text in facts
    ]
    return join(
        tag("h2", "Reproduce"),
        tag("dl", *settings, class_="facts small") if settings else None,
        *(_command(result, *told) for told in commands_of(result.config) if used),
        _components(used) if used else None,
    )


def _command(result: EvalResult, run_id: str, command: str | None) -> Markup:
    """How the run is made again; where there are several, with which of them it is."""
    whose = tag("p", "Run ", tag("bdi", run_id), class_="caption") if run_id else None
    if command is None:
        return join(whose, tag("p", _without_command(result), class_="caption"))
    label = f"Command of {run_id}" if run_id else "Command"
    return join(whose, tag("pre", tag("code", command), tabindex="0", aria_label=label))


def _without_command(result: EvalResult) -> str:
    whose = "systems" if len(result.systems) != 1 else "system"
    return (
        f"The {whose} or the data were objects of a program: run that program again for the same."
    )


def _components(used: list[Used]) -> Markup:
    columns = {
        "kind": [one.kind for one in used],
        "name": [one.name for one in used],
        "component": [one.spelt for one in used],
        "from": [one.source for one in used],
        "digest": [one.digest for one in used],
    }
    shown = [title for title, cells in columns.items() if any(cells)]
    body = [
        tag("tr", *(_cell(title, columns[title][i]) for title in shown)) for i in range(len(used))
    ]
    head = [header(title, number=False) for title in shown]
    return table("Components", head, body, kind="sortable components")


def _cell(title: str, text: str) -> Markup:
    if title == "name":
        return tag("th", tag("bdi", text), scope="row")
    if title in ("component", "digest"):
        kind = "text" if title == "component" else "digest"
        return tag("td", tag("code", text, dir="ltr"), class_=kind)
    return tag("td", tag("bdi", text))
