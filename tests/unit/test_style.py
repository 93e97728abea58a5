"""How the core names its functions and modules, and how its docstrings begin."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

CORE = Path(__file__).resolve().parents[2] / "cbcore"
PARTICIPLE = re.compile(r"\w+(?:ed|en|ing)")
IRREGULAR = {
    *("begun", "bound", "brought", "built", "caught", "done", "drawn", "found", "gone", "held"),
    *("kept", "known", "left", "lost", "made", "met", "said", "sent", "shown", "spent", "thought"),
    *("told", "understood", "won"),
}
ALLOWED = {"flatten", "shorten", "open", "setting_flags", "shared_options"}
"""Verbs, a noun, and a decorator that is named after what it adds."""
OPENING = re.compile(r"What\b|Whose\b|As `")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def list_nodes() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(CORE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            yield path, node


def is_property(function: Function) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def test_functions_are_named_by_verbs():
    """Properties are values, and named by nouns."""
    wrong = []
    for path, node in list_nodes():
        if not isinstance(node, Function) or is_property(node) or node.name.startswith("__"):
            continue
        name = node.name.strip("_")
        word = name.partition("_")[0]
        is_participle = PARTICIPLE.fullmatch(word) or word in IRREGULAR
        if is_participle and not {name, word} & ALLOWED:
            wrong.append(f"{path.relative_to(CORE)}:{node.lineno} {node.name}")
    assert wrong == []


def test_docstrings_begin_with_the_thing_itself():
    wrong = []
    for path, node in list_nodes():
        if isinstance(node, Function | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node) or ""
            if OPENING.match(text):
                wrong.append(f"{path.relative_to(CORE)}: {text[:60]}")
    assert wrong == []


def test_no_two_modules_share_a_name():
    """Equal names would be two ideas with one word."""
    names = Counter(path.stem for path in CORE.rglob("*.py") if path.stem[:2] != "__")
    assert [name for name, count in names.items() if count > 1] == []
