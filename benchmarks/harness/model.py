"""One small real model asked by both programs, compared document by document.

`python -m benchmarks.harness.model FOLDER TREE` in the environment of the harness. Both ask the
same llama.cpp in this process; what is compared is what they ask, and what they make of it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from benchmarks.harness import compare, reference
from benchmarks.harness.names import WITH_A_MODEL

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)


class Asked:
    """A model that goes on with texts: likelihoods, and what it says next."""

    name = "model"

    def __init__(self) -> None:
        from cb_local import Local

        self.local = Local(n_ctx=2048, max_tokens=24)

    def loglikelihood(self, requests: list[tuple[str, str]]) -> list[tuple[float, bool]]:
        asked = {"loglikelihood_requests": requests}
        found: list[tuple[float, bool]] = self.local.process(asked)["loglikelihoods"]
        return found

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if requests := example.get("loglikelihood_requests"):
            return {"loglikelihoods": self.loglikelihood(requests)}
        return self.local.process({"question": example["question"]})


def theirs(model: Asked, name: str, manager: Any) -> dict[str, list[float]]:
    """What the harness measures of each document, by metric."""
    from lm_eval.api.model import LM

    class Wrapped(LM):  # type: ignore[misc]
        def loglikelihood(self, requests: Any) -> Any:
            return [model.loglikelihood([request.args])[0] for request in requests]

        def loglikelihood_rolling(self, requests: Any) -> Any:
            return [model.loglikelihood([("", request.args[0])])[0][0] for request in requests]

        def generate_until(self, requests: Any) -> Any:
            return [self._text(*request.args) for request in requests]

        def _text(self, prompt: str, options: Any) -> str:
            said = str(model.process({"question": prompt})["response"])
            for stop in options.get("until") or []:
                said = said.split(stop, maxsplit=1)[0]
            return said

    return theirs_of_each_document(Wrapped(), name, manager)


def theirs_of_each_document(model: Any, name: str, manager: Any) -> dict[str, list[float]]:
    """What a model of the harness's own gets, by metric."""
    from lm_eval import simple_evaluate

    found = simple_evaluate(
        model=model,
        tasks=[name],
        task_manager=manager,
        bootstrap_iters=0,
        log_samples=True,
    )
    measured: dict[str, list[float]] = {}
    for sample in found["samples"][name]:
        for metric in sample["metrics"]:
            values = numbers_in(sample[metric])
            measured.setdefault(f"{metric},{sample['filter']}", []).extend(values)
    return measured


def numbers_in(value: Any) -> list[float]:
    """The numbers of a result, which may be some of some."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [number for item in value for number in numbers_in(item)]
    return [float(value)]


def of_each_document(model: Any, name: str, tree: Path) -> dict[str, list[float]]:
    """What `cb` measures of each document, by metric."""
    from cb_suites.engine.metric_scoring import MetricScorer, kept_results
    from cbcore import evaluate

    suites = {"suites": [name], "include_path": tree, "trust": tree}
    result = evaluate([model], metrics=[], progress=False, **suites)
    line = result.sections["suites"].lines[0]
    names = list(dict.fromkeys(score["filter"] for score in line["scores"]))
    measured: dict[str, list[float]] = {}
    for row in result.rows:
        for position, used in enumerate(names):
            ending = "" if position == 0 else f",{used}"
            kept = kept_results(row.metadata.get(f"{MetricScorer.base_name}{ending}") or {})
            for metric, value in kept.items():
                measured.setdefault(f"{metric},{used}", []).extend(numbers_in(value))
            for metric, score in row.scores.items():
                plain, _, of_filter = metric.partition(",")
                if (of_filter or names[0]) == used:
                    measured.setdefault(f"{plain},{used}", []).append(score)
    return measured


def main(folder: Path, tree: Path) -> None:
    import datasets
    from lm_eval.tasks import TaskManager

    datasets.load_dataset = reference.local_load(folder / "data")
    datasets.disable_progress_bars()
    os.environ["CB_DATA_DIR"] = str(folder / "data")
    manager, model = TaskManager(), Asked()
    record = {}
    for name in WITH_A_MODEL:
        there, here = theirs(model, name, manager), of_each_document(model, name, tree)
        equal = there.keys() <= here.keys() and all(
            len(values) == len(here[metric]) and all(map(compare.equal, values, here[metric]))
            for metric, values in there.items()
        )
        n_values = sum(map(len, there.values()))
        record[name] = {"equal": equal, "n_values": n_values, "theirs": there, "ours": here}
        print(name, "equal" if equal else "DIFFERENT", n_values, flush=True)
    (folder / "model.json").write_text(json.dumps(record, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
