"""Change the core in small ways, and count the changes that its tests notice.

    python -m tools.mutation [MODULE ...]

For each module, 8 mutants are drawn with a fixed seed. A mutant that the module's own tests do not
notice is tried with the tests of the folder. Each mutant is run in a copy of the core and the tests.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import attrs

ROOT = Path(__file__).resolve().parents[1]
SEED = 1
N_MUTANTS = 8
N_PARALLEL = 2
TIME_LIMIT_S = 300

TESTS = {
    "binding": ("unit/test_binding.py", "unit/test_binding.py unit/assembly"),
    "contexts": ("unit/test_contexts.py", "unit/test_contexts.py unit/test_chains.py unit/run"),
    "plugins/catalog": ("unit/plugins/test_catalog.py", "unit/plugins"),
    "results/verdicts": (
        "unit/results/test_verdicts.py unit/results/test_claims.py",
        "unit/results",
    ),
    "run/budget": ("unit/run/test_budget.py", "unit/run integration/test_money.py"),
    "run/examples": ("unit/run/test_examples.py", "unit/run integration/test_evaluate.py"),
    "run/finish": ("unit/run/test_limits.py", "unit/run integration/test_evaluate.py"),
    "run/make_row": ("unit/run/test_rows.py", "unit/run integration/test_evaluate.py"),
    "specs": ("unit/test_specs.py", "unit/test_specs.py unit/assembly"),
    "stats/paired": ("unit/stats/test_paired.py unit/stats/test_references.py", "unit/stats"),
    "store/cache": ("unit/store/test_cache.py", "unit/store integration/test_continued_runs.py"),
    "store/identity": ("unit/store/test_identity.py", "unit/store integration/test_own_code.py"),
}
"""By module: its own tests, and those of its folder."""

EQUIVALENT: dict[str, str] = {}
"""Mutants that change no behavior, with the reason. They are replaced by the next ones drawn."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


@attrs.frozen
class Mutant:
    """One changed expression of a module."""

    module: str
    function: str
    before: str
    after: str
    source: str = attrs.field(repr=False)

    @property
    def name(self) -> str:
        return f"{self.module} {self.function}: {self.before} -> {self.after}"


def draw_mutants(module: str) -> list[Mutant]:
    """The mutants of a module that are tried: the same ones for the same source."""
    source = (ROOT / "cbcore" / f"{module}.py").read_text(encoding="utf-8")
    mutants = [m for m in list_mutants(module, source) if m.name not in EQUIVALENT]
    random.Random(f"{SEED} {module}").shuffle(mutants)  # noqa: S311 - a sample
    return mutants[:N_MUTANTS]


def list_mutants(module: str, source: str) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its source."""
    lines = source.encode().splitlines(keepends=True)
    for function, node in _list_expressions(ast.parse(source)):
        for changed in _change(node):
            start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
            end = sum(map(len, lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
            before = b"".join(lines)[start:end].decode()
            after = ast.unparse(changed)
            mutated = b"".join(lines)[:start] + f"({after})".encode() + b"".join(lines)[end:]
            short = " ".join(before.split())
            yield Mutant(module, function, short, after, mutated.decode())


def _list_expressions(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The expressions inside functions, with the function; no annotations, defaults, messages."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting: list[ast.AST] = list(function.body)
            while waiting:
                node = waiting.pop(0)
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.JoinedStr):
                    continue
                if isinstance(node, ast.AnnAssign):
                    waiting += [node.value] if node.value else []
                    continue
                if isinstance(node, ast.expr):
                    yield function.name, node
                waiting += ast.iter_child_nodes(node)


def _change(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        ops = [_COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
        yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)  # type: ignore[operator]


def run_tests(copy: Path, tests: str) -> bool:
    """Whether tests pass in a copy."""
    paths = [str(copy / "tests" / path) for path in tests.split()]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *paths]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def make_copy(folder: Path) -> Path:
    """A copy of the core and its tests; the rest of the repository is linked."""
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.name in ("cbcore", "tests", "tools", "pyproject.toml"):
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, folder / path.name)
        elif path.name != ".git":
            (folder / path.name).symlink_to(path)
    return folder


def try_mutant(copies: SimpleQueue[Path], mutant: Mutant) -> str | None:
    """The tests that notice a mutant: "own" or "folder"."""
    copy = copies.get()
    file = copy / "cbcore" / f"{mutant.module}.py"
    before = file.read_text(encoding="utf-8")
    try:
        file.write_text(mutant.source, encoding="utf-8")
        own, folder = TESTS[mutant.module]
        if not run_tests(copy, own):
            return "own"
        return None if run_tests(copy, folder) else "folder"
    finally:
        file.write_text(before, encoding="utf-8")
        copies.put(copy)


def main(modules: Sequence[str]) -> int:
    """Print each mutant and who noticed it; 1 if too few are noticed."""
    mutants = [mutant for module in modules or TESTS for mutant in draw_mutants(module)]
    with tempfile.TemporaryDirectory(prefix="cb-mutation-") as scratch:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(N_PARALLEL):
            copies.put(make_copy(Path(scratch, str(number))))
        with ThreadPoolExecutor(N_PARALLEL) as threads:
            noticed = list(threads.map(lambda mutant: try_mutant(copies, mutant), mutants))
    for mutant, by in zip(mutants, noticed, strict=True):
        print(f"{by or 'SURVIVES':8}  {mutant.name}")
    own, either = noticed.count("own"), len(noticed) - noticed.count(None)
    print(f"{len(mutants)} mutants: {own} noticed by own tests, {either} by those of the folder")
    return 0 if own >= 0.85 * len(mutants) and either >= 0.9 * len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
