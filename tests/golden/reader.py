"""The one reader of results: what two versions of `cb` must agree on, as plain data.

It reads only what users can read: JSON reports and the JSON that commands print. Measured times,
ids of runs, versions, paths, digests and the wording of messages are left out.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LONGEST_TEXT = 60
VERDICT_FACTS = ("outcome", "n", "mean", "kept", "tokens", "difference", "p_value")
SPENT = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "scoring_usd")
COMPARISON_FACTS = ("verdict", "n", "difference", "p_value", "wins", "ties", "losses")
LABELS = ("name", "path", "metric", "filter", "state")


def read(path: Path) -> dict[str, Any]:
    """Read a JSON report, or the JSON of `cb compare`."""
    result = json.loads(path.read_text(encoding="utf-8"))
    if "comparisons" in result:
        return {
            "comparisons": {
                f"{one['system']} vs {one['baseline']}": {
                    name: one[name] for name in COMPARISON_FACTS
                }
                for one in result["comparisons"]
            }
        }
    return {
        "state": result["config"]["state"],
        "score": result["config"]["score_field"],
        "rows": _read_rows(result["rows"]),
        "summary": {system: _untimed(values) for system, values in result["summary"].items()},
        "intervals": {
            system: {name: [one["low"], one["high"]] for name, one in _untimed(values).items()}
            for system, values in result["estimates"].items()
        },
        "ties": _untimed(result["undecided"]),
        "verdicts": {
            one["system"]: {name: one[name] for name in VERDICT_FACTS} for one in result["verdicts"]
        },
        "sections": {
            name: [_numbers(line) for line in section["lines"]]
            for name, section in result["sections"].items()
        },
    }


def _read_rows(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One table per system and dataset: a column per fact, a place per row."""
    tables: dict[str, Any] = {}
    for row in rows:
        tables.setdefault(f"{row['system']} on {row['dataset']}", []).append(_read_row(row))
    for name, facts in tables.items():
        columns = dict.fromkeys(column for fact in facts for column in fact)
        tables[name] = {column: [fact.get(column) for fact in facts] for column in columns}
    return tables


def _read_row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": row["example_id"],
        "repeat": row["repeat"],
        "error": row["error"] and row["error"].partition(":")[0],
        "response": _digest_if_long(row["response"]),
        "tokens": [row["input_tokens"], row["output_tokens"], row["response_tokens"]],
        "missing": sorted(row["missing"]),
        **{name: row["metadata"][name] for name in SPENT if name in row["metadata"]},
        **row["scores"],
    }


def _digest_if_long(text: str | None) -> str | None:
    if text is None or len(text) <= LONGEST_TEXT:
        return text
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _untimed(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if not _is_time(name)}


def _is_time(name: str) -> bool:
    return "latency" in name or "seconds" in name or name.endswith("_s")


def _numbers(value: Any) -> Any:
    """The numbers of a section's line, with the names of what they belong to."""
    if isinstance(value, dict):
        if _is_time(str(value.get("metric"))):
            return None
        labels = {name: value[name] for name in LABELS if name in value}
        numbers = {name: _numbers(one) for name, one in _untimed(value).items()}
        return {
            **labels,
            **{name: one for name, one in numbers.items() if one not in (None, {}, [])},
        }
    if isinstance(value, list):
        return [one for one in map(_numbers, value) if one is not None]
    if isinstance(value, str):
        return float(value) if value.isdecimal() else None
    return value if type(value) in (int, float) else None


Difference = tuple[tuple[str, ...], Any, Any]
"""Where two results differ, the recorded value, and the present one."""


def differences(old: Any, new: Any, where: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Each place where two results differ; numbers may differ by 1e-9."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if key in old and key in new:
                yield from differences(old[key], new[key], (*where, key))
            else:
                yield (*where, key), old.get(key, "absent"), new.get(key, "absent")
        return
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, (*where, f"[{i}]"))
        return
    if not _equal(old, new):
        yield where, old, new


def _equal(old: Any, new: Any) -> bool:
    if {type(old), type(new)} <= {int, float}:
        return math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-9)
    return type(old) is type(new) and bool(old == new)
