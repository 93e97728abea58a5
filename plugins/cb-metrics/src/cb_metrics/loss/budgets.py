"""Requested and achieved budgets, by the length of the input."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from cbcore.results import EvalRow, Section

_AMOUNTS = ("max_tokens", "target_tokens", "target_token", "budget", "n_tokens")
_RATES = ("rate", "ratio", "target_ratio", "compression_rate")
_N_BINS = 4


@attrs.frozen
class AchievedBudget:
    """Requested against achieved budget, for inputs of different lengths.

    Emits no number; its section, in runs that sweep a budget, has a line for each system with a parameter that asks for an
    amount or a share of tokens, and a column for each quarter of the inputs, by length: the mean
    of what was passed on, question included, and its share of the input.
    """

    name = "achieved_budget"
    automatic = "several-systems"

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Nothing: amounts are told by other metrics."""
        return {}

    def section(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]], config: Mapping[str, Any]
    ) -> Section | None:
        """The table; None where no budget was swept, and the summary says enough."""
        if not any("sweep" in record for record in config.get("systems") or ()):
            return None
        asked = {
            str(record.get("name")): requested
            for record in config.get("systems") or ()
            if (requested := _requested(record)) is not None
        }
        sizes = {
            system: [
                (r.input_tokens, r.output_tokens) for r in rows_by_system[system] if not r.error
            ]
            for system in asked
            if system in rows_by_system
        }
        edges = _edges([size for own in sizes.values() for size, _ in own])
        if not edges:
            return None
        names = [f"bin{i}" for i in range(len(edges))]
        return Section(
            title="Requested and achieved: mean tokens passed on, by length of the input",
            lines=[_line(system, asked[system], own, edges) for system, own in sizes.items()],
            header="system",
            columns={"requested": "requested", **dict(zip(names, _headers(edges), strict=True))},
        )


def _requested(record: Mapping[str, Any]) -> tuple[str, float] | None:
    for stage in record.get("stages") or (record,):
        params = stage.get("params") or {}
        for name in (*_AMOUNTS, *_RATES):
            value = params.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return name, float(value)
    return None


def _edges(lengths: Sequence[int]) -> list[int]:
    """The upper ends of up to four ranges that hold about as many inputs each."""
    ordered = sorted(lengths)
    ends = (
        [ordered[math.ceil(len(ordered) * i / _N_BINS) - 1] for i in range(1, _N_BINS + 1)]
        if (ordered)
        else []
    )
    return list(dict.fromkeys(ends))


def _headers(edges: Sequence[int]) -> list[str]:
    return [f"≤ {edge:,}" for edge in edges]


def _line(
    system: str,
    requested: tuple[str, float],
    sizes: Sequence[tuple[int, int]],
    edges: Sequence[int],
) -> dict[str, Any]:
    line: dict[str, Any] = {"name": system, "requested": f"{requested[0]}={requested[1]:g}"}
    below = -1
    for number, edge in enumerate(edges):
        own = [(before, after) for before, after in sizes if below < before <= edge]
        if own:
            before, after = (math.fsum(pair[i] for pair in own) for i in (0, 1))
            share = after / before if before else 1.0
            line[f"bin{number}"] = f"{after / len(own):,.0f} ({100 * share:.0f}%)"
        below = edge
    return line
