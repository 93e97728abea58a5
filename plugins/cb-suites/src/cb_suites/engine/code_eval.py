"""`code_eval` for tasks that run generated code: the metric by that name, in our sandbox.

Tasks of code load it from the package `evaluate`, which would download it and run code with
nothing around it. While their modules are imported, that name gives this one.
"""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from cbcore.exceptions import MissingScoreError

NAME = "code_eval"


class CodeEval:
    """Runs programs with their tests: pass@k, by the evaluator `code_execution`."""

    def __init__(self) -> None:
        self._evaluator: Any = None

    def compute(
        self,
        references: Sequence[str],
        predictions: Sequence[Sequence[str]],
        k: Sequence[int] = (1, 10, 100),
        **_: Any,
    ) -> tuple[dict[str, float], dict[int, list[Any]]]:
        """The share of problems that one of `k` programs solves, and what became of each."""
        passed = [
            [self._passes(program, tests) for program in programs]
            for tests, programs in zip(references, predictions, strict=True)
        ]
        found = {
            f"pass@{n}": math.fsum(_pass_at(n, sum(one), len(one)) for one in passed) / len(passed)
            for n in k
            if all(len(one) >= n for one in passed)
        }
        details = {i: list(enumerate(one)) for i, one in enumerate(passed)}
        return found, details

    def _passes(self, program: str, tests: str) -> bool:
        if _THOUGHT.search(program):  # what the evaluator would take for no part of a program
            if not _is_python(program):
                return False
            raise MissingScoreError("the program holds the mark that ends what a model thought")
        if self._evaluator is None:
            from cbcore.registry import registry

            self._evaluator = registry.get("evaluator", "code_execution").load()()
        # Tests that are meant to be run after a program are part of the same file.
        scored = self._evaluator.score({"tests": tests}, {"response": _fenced(program)})
        if "pass_at_1" not in scored:
            reasons = getattr(scored, "missing", {})
            raise MissingScoreError(next(iter(reasons.values()), "it could not be run"))
        return bool(scored["pass_at_1"] == 1.0)


_THOUGHT = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)


def _is_python(program: str) -> bool:
    try:
        ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


_FENCES = [mark * n for n in range(9, 2, -1) for mark in "~`"]


def _fenced(program: str) -> str:
    """A program as a response that is nothing else, whatever fences stand in it."""
    fence = next((one for one in _FENCES if one not in program), None)
    if fence is None:
        raise MissingScoreError("the program holds every fence that code can be put in")
    return f"{fence}python\n{program}\n{fence}"


def _pass_at(k: int, n_right: int, n: int) -> float:
    """The chance that one of `k` of `n` programs is right."""
    if n - n_right < k:
        return 1.0
    return 1.0 - math.prod(1.0 - k / i for i in range(n - n_right + 1, n + 1))


@contextlib.contextmanager
def in_sandbox(source: str) -> Iterator[None]:
    """Give a module that asks for `code_eval` the one that runs in the sandbox."""
    if NAME not in source:
        yield
        return
    try:
        evaluate = import_module("evaluate")
    except ImportError:
        yield
        return
    load = evaluate.load

    def instead(path: str, *arguments: Any, **keywords: Any) -> Any:
        return CodeEval() if path == NAME else load(path, *arguments, **keywords)

    evaluate.load = instead  # type: ignore[attr-defined]
    try:
        yield
    finally:
        evaluate.load = load  # type: ignore[attr-defined]
