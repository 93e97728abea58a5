"""The numbers of `cb` for the same names, systems and data.

`python -m benchmarks.harness.ours FOLDER TREE NAME...`, after `reference`.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.harness import answers, documents, reference


class Told:
    """Says what the system of the same mode said there; knows no other prompt."""

    def __init__(self, mode: str, said: dict[str, Any]) -> None:
        self.name = mode
        self.said = said
        self.turns: Counter[str] = Counter()

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if requests := example.get("loglikelihood_requests"):
            return {"loglikelihoods": [self._answer(*request) for request in requests]}
        prompt = example["question"]
        self.turns[prompt] += 1
        return {"response": self._answer(prompt, str(self.turns[prompt]))}

    def _answer(self, *prompt: str) -> Any:
        found = self.said.get(answers.key(*prompt))
        if found is None:
            raise KeyError(f"no such prompt: {prompt!r}"[:600])
        return found


def run(name: str, tree: Path, said: dict[str, Any]) -> dict[str, Any]:
    """What `cb` makes of one task or group: numbers, or reasons."""
    import random

    from cbcore import evaluate
    from cbcore.exceptions import CBError

    random.shuffle = answers.steady_shuffle  # as in the reference
    systems = [Told(mode, said.get(mode, {})) for mode in answers.MODES]
    suites = {"suites": [name], "include_path": tree, "trust": tree}
    try:
        # One after another, so that what is said the second time is said to the second repeat.
        result = evaluate(systems, metrics=[], max_workers=1, **suites)
    except CBError as error:
        return {"error": f"{error}"[:500], "results": {}, "reasons": {}}
    lines = result.sections["suites"].lines
    numbers: dict[str, Any] = {mode: {} for mode in answers.MODES}
    reasons = {}
    for line in lines:
        reasons[line["name"]] = line.get("reason")
        # A group written in place is called by its path there.
        for called in {line["name"], line["path"]}:
            for score in line["scores"]:
                for mode, value in score["values"].items():
                    of_task = numbers[mode].setdefault(called, {})
                    of_task[f"{score['metric']},{score['filter']}"] = value["value"]
    errors = [row.error for row in result.rows if row.error][:1]
    said_so = [problem[:400] for problem in result.problems[:8]]
    return {"error": None, "results": numbers, "reasons": reasons, "told": [*said_so, *errors]}


def classes_load_from(folder: Path) -> None:
    """Let tasks that are classes, which load their data themselves, find ours."""
    import datasets

    load, ours = datasets.load_dataset, reference.local_load(folder)

    def instead(path: str, name: str | None = None, **arguments: Any) -> Any:
        found = ours if path in documents.DATASETS else load
        return found(path, name, **arguments)

    datasets.load_dataset = instead


def main(folder: Path, tree: Path, names: list[str]) -> None:
    os.environ["CB_DATA_DIR"] = str(folder / "data")
    classes_load_from(folder / "data")
    for name in names:
        known = json.loads((folder / "reference" / f"{name}.json").read_text("utf-8"))
        try:
            record = run(name, tree, known["said"])
        except Exception as error:
            record = {"error": f"DEFECT {type(error).__name__}: {error}", "results": {}}
        target = folder / "ours" / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(record), encoding="utf-8")
        print(name, record["error"] or "ok", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
