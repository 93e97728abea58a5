"""Inspect AI, in its own environment, with its mock model.

The mock is given its usage: without it Inspect counts tokens, for which it would download a
vocabulary.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import islice
from typing import Any

import workload
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import f1
from inspect_ai.solver import generate


def _outputs() -> Iterator[ModelOutput]:
    while True:
        output = ModelOutput.from_content("mockllm/model", workload.RESPONSE)
        output.usage = ModelUsage(input_tokens=20, output_tokens=5, total_tokens=25)
        yield output


def _evaluate(samples: list[Sample], folder: str) -> float:
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=f1())
    model = get_model("mockllm/model", custom_outputs=_outputs(), memoize=False)
    (log,) = inspect_eval(task, model=model, display="none", log_dir=folder)
    if log.status != "success":
        raise RuntimeError(f"Inspect ended with {log.status}: {log.error}")
    mean: float = log.results.scores[0].metrics["mean"].value
    return mean


def sequential(n: int) -> dict[str, Any]:
    samples = [
        Sample(input=example["context"], target=example["answer"], id=str(example["id"]))
        for example in workload.examples(n)
    ]
    with tempfile.TemporaryDirectory() as folder:
        _evaluate(list(islice(samples, workload.WARM_UP)), folder)
        mean, taken = workload.measured(lambda: _evaluate(samples, folder))
    return {**taken, "rows": n, "mean_f1": mean}


if __name__ == "__main__":
    workload.answer({"sequential": sequential})
