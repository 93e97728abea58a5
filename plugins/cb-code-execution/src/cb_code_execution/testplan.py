"""What of an example's tests runs by itself, found out by reading them."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterable, Iterator, Mapping

import attrs

# What can get at a function without naming it.
_INDIRECT = frozenset({"__import__", "eval", "exec", "globals", "locals", "vars"})
_BUILTIN = frozenset(dir(builtins)) - _INDIRECT
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@attrs.frozen
class Plan:
    """What tests do when they are run as a script, and what is left to be called then.

    `acts`: by themselves they assert, raise, or use the solution or a definition of their own.
    `called`: the definitions that are reached without being run as a test. `entry_point` is
    what their `check` is called with. `uses_…`: they import it.
    """

    entry_point: str | None
    acts: bool
    called: tuple[str, ...]
    uses_pytest: bool
    uses_unittest: bool


def planned(tests: str, entry_point: str | None = None) -> Plan | None:
    """The plan of some tests; None when they do it all themselves, or cannot be read here."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(tests)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    defined = {n.name: n for n in _run_at_once(module) if isinstance(n, _Definition)}
    started = _names(_run_at_once(module))
    called = _reached(started, defined)
    acts = bool(called or started - _BUILTIN - _bound(module)) or any(
        isinstance(node, ast.Assert | ast.Raise) for node in _run_at_once(module)
    )
    if entry_point and "check" not in called:
        called |= _reached({"check"}, defined) - {"check"}
    imported = _imported(module)
    plan = Plan(
        entry_point, acts, tuple(sorted(called)), "pytest" in imported, "unittest" in imported
    )
    leaves = any(_may_be_test(node) for name, node in defined.items() if name not in called)
    runners = plan.uses_pytest or plan.uses_unittest
    return plan if leaves or runners or not acts else None


def _may_be_test(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test") or bool(node.bases)
    return isinstance(node, _Function) and node.name.startswith(("test", "check"))


def _run_at_once(module: ast.Module) -> Iterator[ast.AST]:
    """What a module runs when it is run, without what belongs to the head of a definition."""
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.ClassDef):
            waiting += node.body
        elif not isinstance(node, _Function):
            waiting += ast.iter_child_nodes(node)


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _reached(started: set[str], defined: Mapping[str, ast.AST]) -> set[str]:
    """The definitions among some names, and those that these name in turn."""
    reached: set[str] = set()
    new = started & defined.keys()
    while new:
        reached |= new
        named = {name for one in new for name in _names(ast.walk(defined[one]))}
        new = (named & defined.keys()) - reached
    return reached


def _bound(module: ast.Module) -> set[str]:
    """The names that tests give a meaning to, in whatever scope; those of the solution are not."""
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, _Definition):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.Import) or (
            isinstance(node, ast.ImportFrom) and node.module != "solution"
        ):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return found


def _imported(module: ast.Module) -> set[str]:
    """The packages that tests import, wherever."""
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found
