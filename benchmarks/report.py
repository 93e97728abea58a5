"""What a benchmark hands back: tables, and targets with what was measured."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Table:
    """Rows of text under a title."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def markdown(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        lines = [self.columns, ["-" * width for width in widths], *self.rows]
        text = [
            "| "
            + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            + " |"
            for line in lines
        ]
        return f"### {self.title}\n\n" + "\n".join(text)


@dataclass
class Target:
    """What must be reached, and whether it was; `met` is None where it could not be told."""

    work: str
    wanted: str
    measured: str
    met: bool | None

    @property
    def verdict(self) -> str:
        return {True: "met", False: "NOT MET", None: "skipped"}[self.met]


@dataclass
class Report:
    """The outcome of one benchmark."""

    name: str
    tables: list[Table] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def aim(self, work: str, wanted: str, measured: str, met: bool | None) -> None:
        self.targets.append(Target(work, wanted, measured, met))

    def limit(
        self,
        work: str,
        what: str,
        value: float | None,
        at_most: float,
        unit: str,
        *,
        median: float | None = None,
    ) -> None:
        """A target of the form: this number, taken from minima, is at most that one."""
        wanted = f"{what} ≤ {at_most:g}{unit}"
        if value is None:
            self.aim(work, wanted, "–", None)
            return
        beside = "" if median is None else f" (median {median:.4g}{unit})"
        self.aim(work, wanted, f"{value:.4g}{unit}{beside}", value <= at_most)

    def markdown(self) -> str:
        parts = [f"## {self.name}"]
        parts += [table.markdown() for table in self.tables]
        if self.targets:
            rows = [[t.work, t.wanted, t.measured, t.verdict] for t in self.targets]
            columns = ["work", "target", "measured", "verdict"]
            parts.append(Table(f"Targets of {self.name}", columns, rows).markdown())
        if self.notes:
            parts.append("\n".join(f"- {note}" for note in self.notes))
        return "\n\n".join(parts) + "\n"

    def write(self, folder: Path, machine: dict[str, str], versions: dict[str, str]) -> None:
        """Write the result for machines and for people."""
        record = {"machine": machine, "versions": versions, **asdict(self)}
        path = folder / f"{self.name}.json"
        path.write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")
        path.with_suffix(".md").write_text(self.markdown(), encoding="utf-8")
