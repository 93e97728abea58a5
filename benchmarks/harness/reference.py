"""The numbers of lm-evaluation-harness, with what was said to each of its prompts.

Run in an environment that has it: `python -m benchmarks.harness.reference FOLDER NAME...`.
Writes the data that it used, and for each name its numbers and the answers.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.harness import answers, documents, programs

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)


def local_load(folder: Path) -> Any:
    """What stands in for `datasets.load_dataset`: our documents, also written to the folder."""
    import datasets

    def load(path: str | None = None, name: str | None = None, **arguments: Any) -> Any:
        files = arguments.get("data_files")
        if path in ("json", "csv", "parquet") and files:
            first = str(next(iter(files.values())) if isinstance(files, dict) else files)
            parts = first.removeprefix("hf://datasets/").split("/")
            path, name = "/".join(parts[:2]), None
            copy = folder.joinpath(parts[1], *parts[2:])
            copy.parent.mkdir(parents=True, exist_ok=True)
            split = next(iter(files))
            rows = documents.documents(path, None, split)
            copy.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        config = None if name is None else str(name)
        for file, lines in documents.files(str(path), config):
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(lines, encoding="utf-8")
        made = {}
        for split in documents.SPLITS:
            rows = documents.documents(str(path), config, split)
            made[split] = datasets.Dataset.from_list(rows)
        wanted = arguments.get("split")
        return datasets.DatasetDict(made) if wanted is None else made[str(wanted)]

    return load


def model(mode: str, said: dict[str, Any]) -> Any:
    """The system of a mode, which notes what it says."""
    from lm_eval.api.model import LM

    turns: Counter[str] = Counter()

    class Stub(LM):  # type: ignore[misc]
        def loglikelihood(self, requests: Any) -> list[tuple[float, bool]]:
            return [self._likelihood(request, *request.args) for request in requests]

        def _likelihood(self, request: Any, context: str, continuation: str) -> Any:
            is_gold = getattr(request, "is_gold", False)
            given = answers.likelihood(mode, context, continuation, is_gold=is_gold)
            return _noted(said, answers.key(context, continuation), given)

        def loglikelihood_rolling(self, requests: Any) -> list[float]:
            return [self._likelihood(request, "", request.args[0])[0] for request in requests]

        def generate_until(self, requests: Any) -> list[str]:
            return [self._text(request, *request.args) for request in requests]

        def _text(self, request: Any, prompt: str, options: Any) -> str:
            turn = turns[prompt] = turns[prompt] + 1
            given = answers.text(mode, prompt, _gold_of(request), turn - 1)
            given = _noted(said, answers.key(prompt, str(turn)), given)
            until = options.get("until") or []
            for stop in [until] if isinstance(until, str) else until:
                given = given.split(stop)[0] if stop else given
            return str(given)

    return Stub()


def _noted(said: dict[str, Any], key: str, given: Any) -> Any:
    """The first answer to a prompt is the answer to it."""
    return said.setdefault(key, given)


def _gold_of(request: Any) -> str:
    """What would be right: a program that passes, where the task is to write one."""
    program = programs.right_program(request.doc)
    of_class = request.doc.get("value", request.doc.get("target", "cat"))
    return program if program is not None else str(getattr(request, "gold", of_class))


def mark_golds() -> None:
    """Let every request say what would be right."""
    from lm_eval.api.task import ConfigurableTask

    construct = ConfigurableTask.construct_requests

    def marked(self: Any, doc: Any, ctx: Any, **keywords: Any) -> Any:
        made = construct(self, doc, ctx, **keywords)
        try:
            target = self.doc_to_target(doc)
            if isinstance(made, list):
                gold = self.doc_to_text(doc) if self.multiple_input else target
                if isinstance(gold, str):
                    gold = self.doc_to_choice(doc).index(gold)
                golds = gold if isinstance(gold, list) else [int(gold)]
                for request in made:
                    request.is_gold = request.idx in golds
            else:
                if self.config.doc_to_choice is not None:
                    target = self.doc_to_choice(doc)[target]
                target = target[0] if isinstance(target, list) and target else target
                made.gold, made.is_gold = str(target), True
        except Exception:
            traceback.print_exc(limit=1)
        return made

    ConfigurableTask.construct_requests = marked


def numbers(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Task or group → "metric,filter" → value."""
    return {
        task: {
            name: float(value)
            for name, value in of_task.items()
            if "," in name and "_stderr" not in name and isinstance(value, int | float)
        }
        for task, of_task in found["results"].items()
    }


def main(folder: Path, names: list[str]) -> None:
    import random

    import datasets
    import numpy as np
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    random.shuffle = answers.steady_shuffle  # else the harness itself gives other numbers each time
    datasets.load_dataset = local_load(folder / "data")
    datasets.disable_progress_bars()
    mark_golds()
    programs.instead_of_download()
    manager = TaskManager()
    for name in names:
        record: dict[str, Any] = {"results": {}, "said": {}, "error": None}
        for mode in answers.MODES:
            said: dict[str, Any] = {}
            random.seed(0)
            np.random.seed(1234)
            try:
                found = simple_evaluate(
                    model=model(mode, said),
                    tasks=[name],
                    task_manager=manager,
                    bootstrap_iters=0,
                    log_samples=False,
                    confirm_run_unsafe_code=True,
                )
                record["results"][mode] = numbers(found)
                record["said"][mode] = said
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                record["error"] = f"{type(error).__name__}: {error}"[:500]
                break
        target = folder / "reference" / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(record), encoding="utf-8")
        print(name, record["error"] or "ok", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
