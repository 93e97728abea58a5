"""Which modules a source imports, as it is written.

Nearly every file says it in plain lines, which are found without parsing it. Where a file holds
the word anywhere else, or imports what a string says, it is parsed.
"""

from __future__ import annotations

import ast
import re
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

_WORD = re.compile(rb"import\b")
_PLAIN = re.compile(
    rb"[ \t]*(?:import[ \t]+(?![\w., \t]*(?:[ \t]\.|\.[ \t]))(?P<modules>[\w., \t]+)"
    rb"|from[ \t]+(?P<base>[.\w]+)[ \t]+import[ \t]+"
    rb"(?:\((?P<listed>[\w, \t\r\n]+)\)|(?P<names>[\w, \t]+)))"
    rb"(?:#[^\r\n]*)?\r?$",
    re.MULTILINE,
)


def written_imports(source: bytes, package: str) -> tuple[tuple[str, ...], bool]:
    """The full names of all that a module of that package imports, each once.

    What is imported from a module may be a module of it or not, so both are named. With it comes
    whether there are further imports, of what is computed. A source that is no Python has none.
    """
    names = _read_off(source, package)
    if names is None:
        return _parsed(source, package)
    return tuple(dict.fromkeys(names)), False


def _read_off(source: bytes, package: str) -> list[str] | None:
    """What the plain lines say; None where they do not say everything."""
    for function in _COMPUTED_IMPORTS:
        if function.encode() in source:
            return None
    names: list[str] = []
    read = 0
    while word := _WORD.search(source, read):
        start = source.rfind(b"\n", 0, word.start()) + 1
        line = _PLAIN.match(source, start)
        if line is None or not _begins_a_statement(source, start):
            return None
        read = line.end()
        if line["modules"] is not None:
            names += _before_as(line["modules"])
        else:
            module = line["base"].decode()
            name = module.lstrip(".")
            imported = _before_as(line["listed"] or line["names"])
            names += _from(name, len(module) - len(name), imported, package)
    return names


def _begins_a_statement(source: bytes, start: int) -> bool:
    """Whether a line that looks like one neither goes on from the last nor is in a text."""
    last_line_end = source[max(0, start - 3) : start]
    if last_line_end.rstrip(b"\r\n").endswith(b"\\"):
        return False
    for quotes in (b'"""', b"'''"):
        is_open = source.count(quotes, 0, start) % 2 == 1
        if is_open:
            return False
    return True


def _before_as(listed: bytes) -> list[str]:
    """`a, b as c` without the names that they are given."""
    return [one.split()[0] for one in listed.decode().split(",") if one.strip()]


def _parsed(source: bytes, package: str) -> tuple[tuple[str, ...], bool]:
    try:
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
