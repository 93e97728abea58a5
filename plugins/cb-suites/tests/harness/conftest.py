"""Tasks in the words of the harness on small data of our own, run by `evaluate`."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from cbcore import evaluate


class Says:
    """Answers by a function of the example; with `likely`, gives likelihoods too."""

    def __init__(self, answer=lambda example: "", likely=None, name="says"):
        self.name = name
        self.answer = answer
        self.likely = likely
        self.seen = []

    def process(self, example):
        self.seen.append(example)
        if self.likely is not None and "loglikelihood_requests" in example:
            requests = example["loglikelihood_requests"]
            return {"loglikelihoods": [list(self.likely(*request)) for request in requests]}
        return {"response": self.answer(example)}


@pytest.fixture
def says():
    return Says


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a task, given as YAML, on documents; gives the line of its table and the problems."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "tasks"
    folder.mkdir()

    def start(yaml, documents, system, code="", shots=(), name="t", **options):
        for split, rows in (("test", documents), ("train", shots)):
            lines = "\n".join(map(json.dumps, rows))
            (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
        (folder / "utils.py").write_text(dedent(code), encoding="utf-8")
        data = "dataset_kwargs: {data_files: {test: test.jsonl, train: train.jsonl}}"
        head = f"task: t\ndataset_path: json\n{data}\ntest_split: test\n"
        (folder / "t.yaml").write_text(head + dedent(yaml), encoding="utf-8")
        suites = {"suites": [name], "include_path": folder, "trust": folder}
        result = evaluate([system], metrics=[], progress=False, **suites, **options)
        start.result, start.folder = result, folder
        line = result.sections["suites"].lines[0]
        scores = {
            f"{s['metric']},{s['filter']}": s["values"][system.name]["value"]
            for s in line["scores"]
            if system.name in s["values"]
        }
        return line, scores, result.problems

    start.folder = folder
    return start
