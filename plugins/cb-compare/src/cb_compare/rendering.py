"""A comparison for the terminal, for a pull request, and for other programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from cb_compare.records import Comparison, Report
from cb_compare.wording import cost, lost, numbers, remarks, subject, verdict
from cbcore.cli.kit import clean
from cbcore.json_data import to_json_safe

# An underscore inside a word is no markup, and most names have one.
_MARKUP = re.compile(r"[\\`*\[\]<>|&~@#$!{}^]|(?<!\w)_|_(?!\w)|:(?=//)")


def as_text(report: Report) -> str:
    """Plain text: the verdict, the numbers behind it, and what to know of them."""
    lines = [report.title]
    level: str | None = "nothing yet"
    for one in report.comparisons:
        if (one.dataset is None) != (level is None) or level == "nothing yet":
            lines += ["", "Overall" if one.dataset is None else "By dataset and group"]
        level = one.dataset
        lines.append(f"{verdict(one).upper()}: {subject(one)}{cost(one)}")
        lines += [f"    {told}" for told in (numbers(one), *remarks(one))]
    if report.pareto:
        lines += ["", "On the Pareto front of score and tokens, when examples are resampled"]
        width = max(map(len, report.pareto))
        lines += [f"    {name:<{width}}  {share:7.1%}" for name, share in report.pareto.items()]
    if report.remarks:
        lines += ["", *(f"- {told}" for told in report.remarks)]
    return "\n".join(map(clean, lines)) + "\n"


def as_json(report: Report) -> str:
    """The whole of it, for machines."""
    return json.dumps(to_json_safe(report.to_dict()), indent=2, ensure_ascii=False) + "\n"


def as_markdown(report: Report) -> str:
    """A comment for a pull request: a line for each comparison, the details folded."""
    worse = sum(one.verdict == "worse" for one in report.overall)
    head = f"{worse} got worse" if worse else "nothing is shown to be worse"
    blocks = [f"### {escape(report.title)}: {head}", "\n".join(_table(report.overall))]
    if rest := [one for one in report.comparisons if one.dataset is not None]:
        table = "\n".join(_table(rest))
        blocks.append(_folded("By dataset and group", table))
    details = [
        f"- {escape(subject(one))}: {escape(told)}"
        for one in report.comparisons
        for told in remarks(one)
    ]
    if details:
        blocks.append(_folded("Details", "\n".join(details)))
    if report.pareto:
        lines = [f"| {escape(s)} | {share:.1%} |" for s, share in report.pareto.items()]
        table = "\n".join(["| system | on the Pareto front |", "| :-- | --: |", *lines])
        blocks.append(_folded("Pareto front of score and tokens", table))
    blocks += ["\n".join(f"- {escape(told)}" for told in report.remarks)] if report.remarks else []
    return "\n\n".join(blocks) + "\n"


def _table(comparisons: list[Comparison]) -> Iterator[str]:
    yield "| verdict | comparison | numbers | lost most |"
    yield "| :-- | :-- | :-- | :-- |"
    for one in comparisons:
        told = f"**{verdict(one)}**" if one.verdict == "worse" else verdict(one)
        cells = (subject(one) + cost(one), numbers(one), lost(one))
        yield f"| {told} | {' | '.join(map(escape, cells))} |"


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def escape(text: str) -> str:
    """The text on one line, meaning nothing to Markdown."""
    whole = text.encode("utf-8", "replace").decode()
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", clean(whole))


FORMATS = {"text": as_text, "markdown": as_markdown, "json": as_json}
