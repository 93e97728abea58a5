"""A benchmark as a user of context-bench writes it: `peer_run.py SYSTEM DATA [CACHE [JSON]]`.

It prints the table of context-bench, and writes its JSON report where it is asked to. Release
0.1.0 has no cache: CACHE is a folder for rows as the cache of its later source keeps them, one
line of JSON for each, for which the file is opened and closed.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import peer_tokens

from context_bench import evaluate
from context_bench.datasets.local import load_jsonl
from context_bench.metrics import CompressionRatio, CostOfPass, MeanScore, PassRate
from context_bench.metrics.quality import exact_match, f1_score, recall_score
from context_bench.reporters import to_json, to_markdown
from context_bench.results import EvalResult, EvalRow


class AnswerQuality:
    """The scores of its functions; its release has no evaluator."""

    name = "answer_quality"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        response, answer = processed["response"], original["answer"]
        return {
            "f1": f1_score(response, answer),
            "exact_match": exact_match(response, answer),
            "recall": recall_score(response, answer),
            "contains": float(answer.lower() in response.lower()),
        }


METRICS = [
    MeanScore(score_field="f1"),
    PassRate(score_field="f1"),
    CompressionRatio(),
    CostOfPass(score_field="f1"),
]


def run(system: Any, examples: list[dict[str, Any]], metrics: list[Any]) -> EvalResult:
    return evaluate(
        systems=[system],
        dataset=examples,
        evaluators=[AnswerQuality()],
        metrics=metrics,
        text_fields=peer_tokens.TEXT_FIELDS,
        progress=False,
    )


def run_cached(system: Any, examples: list[dict[str, Any]], folder: Path) -> EvalResult:
    """Run what is not cached, add it to the cache, and sum up everything."""
    path = folder / "rows.jsonl"
    known: dict[tuple[str, Any], EvalRow] = {}
    if path.exists():
        with path.open() as file:
            for line in file:
                row = EvalRow(**json.loads(line))
                known[row.system, row.example_id] = row
    left = [example for example in examples if (system.name, example["id"]) not in known]
    result = run(system, left, [])
    for row in result.rows:
        known[row.system, row.example_id] = row
        with path.open("a") as file:
            file.write(json.dumps(vars(row)) + "\n")
    result.rows = [known[system.name, example["id"]] for example in examples]
    for metric in METRICS:
        result.summary[system.name].update(metric.compute(result.rows))
    return result


def main() -> None:
    peer_tokens.prepare()
    name, data, *more = sys.argv[1:]
    cache, report = [*more, "", ""][:2]
    sys.path.insert(0, "")
    system = getattr(import_module("user_system"), name)()
    examples = load_jsonl(data)
    result = run_cached(system, examples, Path(cache)) if cache else run(system, examples, METRICS)
    print(to_markdown(result))
    if report:
        Path(report).write_text(to_json(result), encoding="utf-8")


if __name__ == "__main__":
    main()
