"""Likelihoods of one real model, computed by the harness with PyTorch and by `cb` with llama.cpp.

`python -m benchmarks.harness.oracle FOLDER` in the environment of the harness. Nothing is shared
but the weights: tokens, beginnings of texts, what does not fit, sums and scores are each
program's own. An endpoint that tells likelihoods is asked as well.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from benchmarks.harness import endpoint, weights
from benchmarks.harness.model import of_each_document, theirs_of_each_document

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

N_CTX = 128
"""Tokens that the local model looks at: some contexts and texts below are longer."""

CLOSE_LOCAL = 2e-3
"""llama.cpp keeps what it has read in half precision: so much of a likelihood may differ."""
CLOSE_ENDPOINT = 1e-5

DECISIONS = ("acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match")
"""Scores that are right or wrong: these are equal, or something is wrong."""

BEGINNING = "<|im_start|>"
_LONG = "The barn of the farm has a door, and behind the door a cat waits for the dog. " * 9
TEXTS = (
    *(
        "The capital of France is Paris.",
        "Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich.",
    ),
    *(
        "東京は日本の首都です。",
        "naïve café 🐈 — déjà vu",
        _LONG,
        "def f(x):\n    return x  # twice\n\n",
    ),
)
CHOICES = (
    ("The capital of France is", ["London", "Paris", "Rome", "Madrid"], 1),
    ("Two plus two is", ["four", "five", "a very large number", "fünf"], 0),
    ("日本の首都は", ["東京", "京都府", "Osaka", "パリ"], 0),
    (f"{_LONG}The animal that waits is a", ["dog", "cat", "horse and cart", "Kätzchen"], 1),
    ("Water freezes at", ["0 °C", "100 °C", "zero degrees Celsius", "night "], 0),
    ("The opposite of hot is ", ["cold", "warm", "a stove", "ice-cold weather"], 0),
)
_HEAD = "dataset_path: json\ntest_split: test\nnum_fewshot: 0\n"
_METRICS = "metric_list:\n" + "".join(f"  - metric: {m}\n" for m in (*DECISIONS, "brier_score"))
TASKS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "oracle_choices": (
        (
            "output_type: multiple_choice\ndoc_to_text: q\ndoc_to_choice: '{{c}}'\n"
            f"doc_to_target: a\n{_METRICS}"
        ),
        [{"q": q, "c": c, "a": a} for q, c, a in CHOICES],
    ),
    "oracle_continuation": (
        (
            "output_type: loglikelihood\ndoc_to_text: '{{q}}'\ndoc_to_target: '{{a}}'\n"
            "metric_list:\n  - metric: perplexity\n  - metric: acc\n"
        ),
        [{"q": q, "a": f" {c[a]}"} for q, c, a in CHOICES],
    ),
    "oracle_text": (
        (
            "output_type: loglikelihood_rolling\ndoc_to_text: ''\ndoc_to_target: '{{t}}'\n"
            "metric_list:\n  - metric: word_perplexity\n  - metric: byte_perplexity\n"
            "  - metric: bits_per_byte\n"
        ),
        [{"t": text} for text in TEXTS],
    ),
}


def write_tasks(folder: Path) -> Path:
    """The tasks and their documents as files, which both programs read."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (said, rows) in TASKS.items():
        data = folder / f"{name}.jsonl"
        data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        files = f"dataset_kwargs: {{data_files: {{test: {data}}}}}\n"
        text = f"task: {name}\n{_HEAD}{files}{said}"
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


@attrs.frozen
class Agreement:
    """How near the numbers of one task are, for one way to ask: decisions, and likelihoods."""

    way: str
    task: str
    n_values: int
    n_decisions_unlike: int
    furthest: float
    close: float

    @property
    def is_equal(self) -> bool:
        return not self.n_decisions_unlike and self.furthest <= self.close


def agreement(way: str, task: str, close: float, there: Any, here: Any) -> Agreement:
    """Compare what each document gave, metric by metric."""
    unlike, furthest, n = 0, 0.0, 0
    for metric, values in there.items():
        found = here.get(metric, [])
        if len(found) != len(values):
            return Agreement(way, task, len(values), len(values), math.inf, close)
        for one, other in zip(values, found, strict=True):
            n += 1
            if metric.partition(",")[0] in DECISIONS:
                unlike += one != other
            else:
                furthest = max(furthest, abs(one - other) / max(1.0, abs(one)))
    return Agreement(way, task, n, unlike, furthest, close)


def agreements(folder: Path) -> Iterator[Agreement]:
    """Both programs on all tasks: with a window of few tokens, and by an endpoint."""
    import torch
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    from cb_local import Local
    from cb_openai import OpenAI

    torch.set_num_threads(1)
    file = weights.floating(folder)
    tasks = write_tasks(folder / "oracle-tasks")
    manager = TaskManager(include_path=str(tasks), include_defaults=False)
    harness = HFLM(
        pretrained=str(folder),
        gguf_file=weights.NAME,
        dtype="float32",
        device="cpu",
        batch_size=1,
        add_bos_token=False,  # as the file of weights says, and its own tokenizer
        max_length=N_CTX - 1,
    )
    local = Local(model=str(file), n_ctx=N_CTX)
    for task in TASKS:
        there = theirs_of_each_document(harness, task, manager)
        here = of_each_document(local, task, tasks)
        yield agreement("llama.cpp", task, CLOSE_LOCAL, there, here)
    harness._max_length = 2048  # an endpoint refuses what does not fit; here everything does
    with endpoint.serving(harness.model, harness.tokenizer) as address:
        asked = OpenAI(address, "m", likelihood="echo", likelihood_begin=BEGINNING)
        for task in TASKS:
            there = theirs_of_each_document(harness, task, manager)
            here = of_each_document(asked, task, tasks)
            yield agreement("endpoint", task, CLOSE_ENDPOINT, there, here)


def main(folder: Path) -> None:
    found = []
    for one in agreements(folder):
        found.append({**attrs.asdict(one), "equal": one.is_equal})
        print(found[-1], flush=True)
    (folder / "oracle.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
