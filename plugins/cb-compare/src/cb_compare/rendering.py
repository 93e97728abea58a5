"""A comparison for the terminal, for a pull request, and for other programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from cb_compare.records import Comparison, CostInterval, Report
from cbcore.cli.kit import clean
from cbcore.json_data import to_json_safe
from cbcore.results.verdicts import (
    format_needed,
    format_p_value,
    format_too_few,
    format_unseen_loss,
)

FEW_CLUSTERS = 30
"""With fewer, intervals are rough: see docs/explanation/statistics.md."""

_VERDICTS = {"better": "better", "worse": "worse", "undecided": "no significant difference"}


def verdict(one: Comparison) -> str:
    """The verdict of a comparison in words."""
    if one.statement:
        return one.verdict
    if not one.n:
        return "not compared"
    return "not tested" if one.p_adjusted is None else _VERDICTS[one.verdict]


def subject(one: Comparison) -> str:
    """Who is compared with whom, and on what."""
    against = "the first run" if one.system == one.baseline else one.baseline
    where = "" if one.dataset is None else f" on {one.dataset}"
    return f"{one.system} against {against}{where}"


def numbers(one: Comparison) -> str:
    """The difference with its interval, the p-value and who won how often; or a statement."""
    if one.statement:
        return one.statement
    if one.difference is None:
        return "no example has a score in both"
    interval = ""
    if one.low is not None and one.high is not None:
        interval = f" [{one.low:+.3f}, {one.high:+.3f}]"
    told = f"{one.metric} {one.difference:+.3f}{interval}"
    if one.p_adjusted is not None:
        told += f", {format_p_value(one.p_adjusted, one.n_tests)}"
    counted = f"won {one.wins:,}, tied {one.ties:,}, lost {one.losses:,}"
    return f"{told}; {counted} of {examples(one.n)}"


def examples(n: int) -> str:
    """How many."""
    return f"{n:,} example{'' if n == 1 else 's'}"


def remarks(one: Comparison) -> Iterator[str]:
    """Remarks on a comparison, a sentence each."""
    if one.n and one.p_adjusted is None and not one.statement:
        yield format_too_few(one.n, one.clusters)
    if one.verdict == "undecided" and one.detectable is not None:
        told = (
            f"with {examples(one.n)}, differences below {one.detectable:.3f} usually go unnoticed"
        )
        if one.needed is not None and one.difference:
            told += f"; {format_needed(one.needed)} examples are needed to show this difference"
        yield told
    if one.verdict == "better" and one.unseen is not None:
        yield format_unseen_loss(one.unseen)
    if one.needed_to_detect is not None:
        needed = format_needed(one.needed_to_detect)
        yield f"{needed} examples are needed to show the requested difference"
    if one.non_inferiority is not None:
        yield claim(one)
    if one.verdict == "worse" or (one.regressed and one.verdict == "undecided"):
        yield f"lost most: {lost(one)}"
    if one.clusters is not None:
        told = f"examples are in {one.clusters:,} cluster{'' if one.clusters == 1 else 's'}"
        rough = f"; with fewer than {FEW_CLUSTERS}, intervals are rough"
        yield told + (rough if one.clusters < FEW_CLUSTERS else "")
    if one.within_variance is not None:
        yield f"attempts at one example vary with a deviation of {one.within_variance**0.5:.3f}"
    if one.unpaired:
        counted = ", ".join(f"{count:,} {reason}" for reason, count in one.unpaired.items())
        yield f"not compared: {counted}"


def claim(one: Comparison) -> str:
    """No worse than the baseline by more than the margin, at what cost: yes, no or unsettled."""
    found = one.non_inferiority
    if found is None:
        return ""
    told = f"no worse by more than {found.margin:g}{cost(one)}: {found.verdict}"
    if found.needed is not None:
        told += f" ({format_needed(found.needed)} examples are needed to settle it)"
    if found.verdict == "yes" and one.unseen is not None:
        told += f", but {format_unseen_loss(one.unseen)}"
    return told


def cost(one: Comparison) -> str:
    """The tokens and dollars of the system as shares of those of the baseline."""
    shares = [
        f"{100 * share:.0f}%{_sure(one.cost_intervals.get(name))} of its {name}"
        for name, share in (("tokens", one.tokens), ("dollars", one.dollars))
        if share is not None
    ]
    return f" at {' and '.join(shares)}" if shares else ""


def _sure(found: CostInterval | None) -> str:
    """The interval of a share in percent, with as many digits as tell its ends apart."""
    if found is None:
        return ""
    if found.low is None or found.high is None:
        return " [unbounded]"
    for digits in range(3):
        low, high = (f"{100 * bound:.{digits}f}" for bound in (found.low, found.high))
        if low != high:
            return f" [{low}, {high}]"
    return ""  # the same share of every example


def lost(one: Comparison) -> str:
    """The examples that lost most, with what they had and have."""
    return ", ".join(map(_example, one.regressed)) or "none"


def _example(found: Mapping[str, Any]) -> str:
    return f"{found['example_id']} ({found['baseline_score']:.3g} → {found['score']:.3g})"


# -- reports -------------------------------------------------------------------------------------


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
