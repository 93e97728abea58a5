"""Record what the golden commands give now: `python -m tests.golden.record [NAME …]`.

It prints each field that changed as a line for intended_changes.md, where the reason is added.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.golden.commands import GOLDEN, Golden, play
from tests.golden.reader import Difference, differences

RECORDED = Path(__file__).parent / "recorded"
LINE_LENGTH = 100


def load(golden: Golden) -> Any:
    """What was recorded."""
    return json.loads((RECORDED / f"{golden.name}.json").read_text(encoding="utf-8"))


def plain(data: Any) -> Any:
    """The data as it is read from a file."""
    return json.loads(json.dumps(data))


def format_json(data: Any, indent: str = "") -> str:
    """JSON with one line for what is short or a list of values."""
    line = json.dumps(data, ensure_ascii=False)
    is_flat = isinstance(data, list) and not any(isinstance(one, dict) for one in data)
    if is_flat or not isinstance(data, dict | list) or len(line) <= LINE_LENGTH:
        return line
    deeper = indent + " "
    if isinstance(data, list):
        parts = [format_json(one, deeper) for one in data]
        start, end = "[]"
    else:
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {format_json(one, deeper)}"
            for key, one in data.items()
        ]
        start, end = "{}"
    inner = ",\n".join(deeper + part for part in parts)
    return f"{start}\n{inner}\n{indent}{end}"


def field(difference: Difference) -> str:
    """The field of a result that differs: what is the same for all its systems and rows."""
    path, _, _ = difference
    names = [name for name in path if not name.startswith("[")]
    part = names[2] if names[0] == "results" and len(names) > 2 else names[0]
    return part if part == names[-1] else f"{part}: {names[-1]}"


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        for golden in GOLDEN:
            if names and golden.name not in names:
                continue
            folder, cache = Path(place) / golden.name, Path(place) / "cache"
            new = plain(play(golden, folder, cache))
            path = RECORDED / f"{golden.name}.json"
            if path.exists():
                for name in dict.fromkeys(map(field, differences(load(golden), new))):
                    print(f"| {golden.name} | {name} | |")
            path.write_text(format_json(new) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
