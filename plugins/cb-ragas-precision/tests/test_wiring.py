"""The evaluators in runs: wired by themselves, asked for by name, and what a user sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import cb_ragas_precision
from cb_hotpotqa import hotpotqa
from cbcore import evaluate
from tests.forkserver import copy_plugin_cache, run_cb

MINE = '''
class Retriever:
    """The documents that share most words with the question, as `contexts`."""

    name = "retriever"

    def process(self, example):
        asked = set(example["question"].lower().split())
        texts = [f"{d['title']}: {' '.join(d['sentences'])}" for d in example["documents"]]
        ranked = sorted(texts, key=lambda text: -len(asked & set(text.lower().split())))
        return {"contexts": ranked[:4], "response": ranked[0]}


def judge(prompt):
    return {"verdict": 1, "reason": "always"}
'''


class Retriever:
    """All documents, the relevant ones last."""

    name = "retriever"

    def process(self, example: Any) -> Any:
        texts = [" ".join(d["sentences"]) for d in example["documents"]]
        needed = {title for title, _ in example["supporting_facts"]}
        titles = [d["title"] for d in example["documents"]]
        order = sorted(range(len(texts)), key=lambda n: titles[n] in needed)
        return {"contexts": [texts[n] for n in order]}


class Reader:
    """Returns no contexts."""

    name = "reader"

    def process(self, example: Any) -> Any:
        return {"response": "x"}


def test_systems_that_retrieve_are_scored_without_being_asked() -> None:
    """HotpotQA has supporting facts; two relevant of eight, both last: (1/7 + 2/8) / 2."""
    result = evaluate([Retriever(), Reader()], hotpotqa("sample"), max_examples=5, progress=False)
    retrieved = [row for row in result.rows if row.system == "retriever"]
    for row in retrieved:
        assert row.scores["context_precision"] == pytest.approx((1 / 7 + 2 / 8) / 2)
        assert row.scores["context_set_precision"] == 0.25
        assert row.scores["context_recall"] == 1.0
    for row in (row for row in result.rows if row.system == "reader"):
        assert not {name for name in {**row.scores, **row.missing} if name.startswith("context_")}


def cb(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
    return run_cb(*arguments, cwd=folder, env={**environ, "COLUMNS": "150"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy_plugin_cache(tmp_path / "cache")
    (tmp_path / "mine.py").write_text(textwrap.dedent(MINE))
    return tmp_path


def test_a_run_with_a_judge_on_the_command_line(folder: Path) -> None:
    """Verdicts and reasons are in the rows, the figures in the report, and nothing is asked twice."""
    done = cb(
        folder,
        *("run", "-s", "py:./mine.py:Retriever", "-d", "hotpotqa:sample", "-n", "3"),
        *("-e", "context_precision:judge=py:./mine.py:judge,k=[1,3]"),
        *("-m", "score_statistics", "-o", "json=r.json", "-o", "html=r.html", "-o", "table"),
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((folder / "r.json").read_text())
    row = result["rows"][0]
    assert row["scores"]["context_precision_at_3"] == 1.0
    assert row["metadata"]["context_precision"]["reasons"] == ["always"] * 4
    summary = result["summary"]["retriever"]
    assert (summary["score_mean"], summary["score_missing"]) == (1.0, 0.0)
    assert summary["score_coverage"] == 1.0
    page = (folder / "r.html").read_text()
    assert "Distribution of <bdi>context_precision</bdi>" in page
    assert 'data-chart="distribution-0"' in page


def test_a_missing_model_is_told_before_anything_runs(folder: Path) -> None:
    """With the usage exit code."""
    done = cb(
        folder,
        *("run", "-s", "py:./mine.py:Retriever", "-d", "hotpotqa:sample"),
        *("-e", "context_precision:http://localhost:9"),
    )
    assert done.returncode == 2
    assert "model is not given: name the model that judges at http://localhost:9" in done.stderr


def test_importing_is_light() -> None:
    """Neither the package nor making an evaluator loads anything heavy."""
    heavy = "{'datasets','pandas','numpy','rich','pyarrow','aiohttp','cb_llm_judge','rapidfuzz'}"
    code = (
        "import sys, cb_ragas_precision as p; p.ContextPrecision(); p.ContextPrecisionNonLLM();"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_pinned() -> None:
    """What the package root offers."""
    assert cb_ragas_precision.__all__ == [
        "MEASURES",
        "ContextPrecision",
        "ContextPrecisionIds",
        "ContextPrecisionNonLLM",
        "ContextRecall",
        "ContextUtilization",
        "RecordedPredictions",
        "SemanticSimilarity",
        "average_precision",
        "ndcg",
        "reciprocal_rank",
        "similarity",
    ]
