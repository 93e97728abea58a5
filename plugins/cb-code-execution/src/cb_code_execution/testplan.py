"""What of an example's tests runs by itself, found out by reading them."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterator, Mapping

import attrs

# What can get at a function without naming it.
_INDIRECT = frozenset({"__import__", "eval", "exec", "globals", "locals", "vars"})
_BUILTIN = frozenset(dir(builtins)) - _INDIRECT
_Function = ast.FunctionDef | ast.AsyncFunctionDef


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


@functools.lru_cache(maxsize=128)  # every system is asked for the same programs
def planned(tests: str, entry_point: str | None = None) -> Plan | None:
    """The plan of some tests; None when they do it all themselves, or cannot be read here."""
    try:
        module = ast.parse(tests)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    seen = _Seen()
    for node in _run_at_once(module):
        seen.add(node)
    called = _reached(seen.named, seen.defined)
    acts = seen.asserts or bool(called or seen.named - _BUILTIN - seen.bound - seen.defined.keys())
    if entry_point and "check" not in called:
        called |= _reached({"check"}, seen.defined) - {"check"}
    uses_pytest, uses_unittest = (
        name in tests and name in _imported(module) for name in ("pytest", "unittest")
    )
    leaves = any(_may_be_test(node) for name, node in seen.defined.items() if name not in called)
    if acts and not (leaves or uses_pytest or uses_unittest):
        return None
    return Plan(entry_point, acts, tuple(sorted(called)), uses_pytest, uses_unittest)


@functools.lru_cache(maxsize=128)
def imports_of(tests: str) -> tuple[tuple[str, str], ...]:
    """What tests import at their top level: each name, and the statement that gives it a meaning."""
    try:
        module = ast.parse(tests)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ()
    found: list[tuple[str, str]] = []
    for node in module.body:
        statements: list[tuple[ast.alias, ast.stmt]]
        if isinstance(node, ast.Import):
            statements = [(one, ast.Import([one])) for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module != "solution":
            statements = [
                (one, ast.ImportFrom(node.module, [one], node.level)) for one in node.names
            ]
        else:
            continue
        found += [
            ((one.asname or one.name).partition(".")[0], ast.unparse(statement))
            for one, statement in statements
        ]
    return tuple(found)


@attrs.define
class _Seen:
    """What tests name, give a meaning to and define when they are run, and whether they assert."""

    named: set[str] = attrs.Factory(set)
    bound: set[str] = attrs.Factory(set)
    defined: dict[str, ast.AST] = attrs.Factory(dict)
    asserts: bool = False

    def add(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            (self.named if isinstance(node.ctx, ast.Load) else self.bound).add(node.id)
        elif isinstance(node, ast.Assert | ast.Raise):
            self.asserts = True
        elif isinstance(node, _Function | ast.ClassDef):
            self.defined[node.name] = node
        elif isinstance(node, ast.arg):  # of a lambda
            self.bound.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self.bound.add(node.name)
        elif isinstance(node, ast.Import) or (
            # What comes from there is the solution's.
            isinstance(node, ast.ImportFrom) and node.module != "solution"
        ):
            self.bound |= {(name.asname or name.name).partition(".")[0] for name in node.names}


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


def _may_be_test(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test") or bool(node.bases)
    return isinstance(node, _Function) and node.name.startswith(("test", "check"))


def _reached(started: set[str], defined: Mapping[str, ast.AST]) -> set[str]:
    """The definitions among some names, and those that these name in turn."""
    reached: set[str] = set()
    new = started & defined.keys()
    while new:
        reached |= new
        inside = (node for name in new for node in ast.walk(defined[name]))
        named = {node.id for node in inside if isinstance(node, ast.Name)}
        new = (named & defined.keys()) - reached
    return reached


def _imported(module: ast.Module) -> set[str]:
    """The packages that tests import, wherever."""
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found
