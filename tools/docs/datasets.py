"""The reference page, made from the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from cb_datasets.catalog import BENCHMARKS
from cb_datasets.table import PARQUET_EXPORT, Benchmark

_INTRODUCTION = """\
# Datasets

The benchmarks of `cb-datasets`, made from its table by `python -m tools.docs.datasets PAGE`.
How to use them: [load benchmark datasets](../how-to/load-benchmark-datasets.md).
`hotpotqa` is a plugin of its own with the same fields.

Every benchmark has a config `sample`, which comes with the package and needs no network. The
licences are those the publishers name; the data itself is not part of the package. *Context* says
which examples have a text of their own to work on; in the others `context` is the question. The
*main score* is what quality means for a benchmark; how its publishers score it stands below.
"""


def page(readme: str) -> str:
    """The page. The contract of fields is that of the package's README."""
    fields = re.search(
        r"^## Fields of an example\n.*?(?=^## |\Z)", readme, re.MULTILINE | re.DOTALL
    )
    if fields is None:
        raise ValueError("the README has no section 'Fields of an example'")
    parts = [_INTRODUCTION, fields[0].strip() + "\n", _overview(), "## Sources\n"]
    parts += ["\n".join(_details(entry)) for entry in BENCHMARKS.values()]
    return "\n".join(parts)


def _overview() -> str:
    header = ("name", "tasks", "split", "context", "main score")
    lines = ["## All benchmarks", "", f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for entry in BENCHMARKS.values():
        tasks = sorted({*entry.tasks, *(t for ts in entry.tasks_by_config.values() for t in ts)})
        link = f"[`{entry.name}`](#{entry.name})"
        score = f"`{entry.main_score_of(entry.config)}`"
        cells = (link, ", ".join(tasks), entry.split, entry.context, score)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _details(entry: Benchmark) -> Iterator[str]:
    yield f"### {entry.name}\n"
    yield f"{entry.summary}\n"
    yield f"- published: {entry.published}"
    yield f"- main score: {_main_scores(entry)}"
    yield f"- source: `{entry.path}`{_place(entry)}"
    if entry.configs:
        configs = ", ".join(
            f"`{c}`" + (" (default)" if c == entry.config else "") for c in entry.configs
        )
        yield f"- configs: {configs}"
    yield f"- splits: {', '.join(_split(entry, split) for split in entry.splits)}"
    if entry.unlabelled:
        yield f"- without gold: {', '.join(f'`{s}`' for s in entry.unlabelled)}"
    yield f"- fields of the source: {', '.join(f'`{f}`' for f in entry.source_fields())}"
    if entry.cluster is not None:
        end = f" up to its last `{entry.cluster_end}`" if entry.cluster_end else ""
        yield f"- clusters: examples with the same `{entry.cluster}`{end}"
    yield f"- licence: {entry.licence}"
    yield f"- homepage: <{entry.homepage}>"
    if entry.gated:
        yield "- asks for consent: accept its terms on the hub and log in before loading it"
    yield ""


def _main_scores(entry: Benchmark) -> str:
    """The main score of the default part, and of each part that has another."""
    usual = entry.main_score_of(entry.config)
    others: dict[str, list[str]] = {}
    for config in entry.configs:
        if (score := entry.main_score_of(config)) != usual:
            others.setdefault(score, []).append(f"`{config}`")
    more = (f"`{score}` of {', '.join(configs)}" for score, configs in others.items())
    return "; ".join([f"`{usual}`", *more])


def _split(entry: Benchmark, split: str) -> str:
    remarks = ["default"] if split == entry.split else []
    if split in entry.only_in:
        remarks.append(f"only of {', '.join(entry.only_in[split])}")
    return f"`{split}`" + (f" ({', '.join(remarks)})" if remarks else "")


def _place(entry: Benchmark) -> str:
    place = f", `{entry.files}`" if entry.files else ""
    if entry.revision == PARQUET_EXPORT:
        return f"{place} on the branch `{PARQUET_EXPORT}`"
    return place + (f" at `{entry.revision}`" if entry.revision else "")


def main(arguments: list[str]) -> None:
    """Write the page to the path given, from the README of the plugin."""
    readme = Path(__file__).parents[2] / "plugins" / "cb-datasets" / "README.md"
    text = page(readme.read_text(encoding="utf-8"))
    Path(arguments[0]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
