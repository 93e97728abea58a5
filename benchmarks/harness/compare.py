"""What is equal, what is refused with a reason, and what is silently another number."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import attrs

CLOSE = 1e-9


@attrs.frozen
class Verdict:
    """What came of one name: `equal`, `refused`, `different`, or `neither` could run it."""

    name: str
    kind: str
    n_numbers: int = 0
    detail: str = ""


def compared(folder: Path, name: str) -> Verdict:
    """The verdict on one task or group."""
    theirs = json.loads((folder / "reference" / f"{name}.json").read_text("utf-8"))
    ours = json.loads((folder / "ours" / f"{name}.json").read_text("utf-8"))
    if theirs["error"]:
        return Verdict(name, "neither", detail=f"the harness: {theirs['error']}")
    if ours["error"]:
        kind = "different" if ours["error"].startswith("DEFECT") else "refused"
        return Verdict(name, kind, detail=ours["error"])
    n_numbers, wrong, lacking = 0, [], []
    for mode, of_mode in theirs["results"].items():
        for task, scores in of_mode.items():
            for metric, value in scores.items():
                found = ours["results"].get(mode, {}).get(task, {}).get(metric)
                n_numbers += 1
                if found is None:
                    lacking.append(f"{mode} {task} {metric}")
                elif not equal(value, found):
                    wrong.append(f"{mode} {task} {metric}: {value} there, {found} here")
    if wrong:
        return Verdict(name, "different", n_numbers, "; ".join(wrong[:3]))
    if lacking:
        reason = _reason(ours)
        kind = "refused" if reason else "different"
        return Verdict(name, kind, n_numbers, f"{lacking[0]} (+{len(lacking) - 1}): {reason}")
    return Verdict(name, "equal" if n_numbers else "neither", n_numbers)


def equal(one: float, other: float) -> bool:
    """Whether two numbers are the same, as far as arithmetic in another order can be."""
    return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE) or (
        math.isnan(one) and math.isnan(other)
    )


def _reason(ours: dict[str, Any]) -> str:
    said = [reason for reason in ours.get("reasons", {}).values() if reason]
    return "; ".join([*said, *ours.get("told", [])][:2])[:400]
