"""The modules that a source imports, as its import statements name them."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

_COMPUTED_IMPORTS = {
    "__import__",
    "exec_module",
    "import_module",
    "load_module",
    "run_module",
    "run_path",
    "spec_from_file_location",
}
"""Functions that import what a string says; where that is computed, nobody can read it off."""


def written_imports(source: bytes, package: str) -> tuple[tuple[str, ...], bool]:
    """The full names of all that a module of that package imports, each once.

    A name imported from a module may be a submodule or not, so both are named. The second value
    is whether there are further imports with computed names. A source that is not Python has none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return (), False
    names: list[str] = []
    computes = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported = [alias.name for alias in node.names]
            names += _from(node.module or "", node.level, imported, package)
        elif isinstance(node, ast.Call) and _called(node) in _COMPUTED_IMPORTS:
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                names.append(first.value)
            else:
                computes = True
    return tuple(dict.fromkeys(names)), computes


def _from(module: str, level: int, imported: list[str], package: str) -> Iterator[str]:
    """The full names of what a module of that package imports from another, `level` dots up."""
    if level:
        packages = package.split(".")
        parts = packages[: len(packages) - level + 1]
        if module:
            parts.append(module)
        module = ".".join(parts)
    yield module
    for name in imported:
        yield f"{module}.{name}"


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return getattr(function, "id", "")
