"""The core names no plugin, no component of a plugin and no score, but for one default score."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cbcore import hookspecs
from cbcore.plugins import Catalog, read_distributions

ROOT = Path(__file__).parents[2]

WORDS = {
    *(
        "answered",
        "compare",
        "csv",
        "datasets",
        "format",
        "full",
        "html",
        "identity",
        "init",
        "install",
    ),
    *("jsonl", "latency", "locked", "math", "memory", "merge", "name", "new", "parquet", "prices"),
    *("proxy", "quality", "random", "show", "summary", "trust", "uninstall"),
}
"""Names of plugins' components that are also words of the core's own messages and keys."""


ALLOWED = {
    "cbcore/assembly/wiring.py": {"f1"},  # the default score
}
"""Names by file, each with its reason."""


def names_of_plugins() -> set[str]:
    """Distributions, packages, components and scores of this repository's plugins."""
    installed = read_distributions()
    ours = [d for d in installed if (ROOT / "plugins" / d.name).is_dir()]
    core = [d for d in installed if d.name == "cbcore"]
    catalog = Catalog(ours, kinds_from=core)
    catalog.load_all(describe=True)
    names = set()
    for plugin in catalog.plugins:
        names |= {plugin.name, plugin.name.replace("-", "_")}
        for component in plugin.components:
            names |= {component.name, *component.emits}
    own = {c.name for plugin in Catalog(core).plugins for c in plugin.components}
    return names - own - WORDS - vars(hookspecs).keys()


def strings_in(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that are not docstrings: line and text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr):
                docs.add(id(statement.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def find_names(text: str, names: set[str]) -> list[str]:
    """The names that a text contains as words of their own."""
    return [name for name in re.findall(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", text) if name in names]


def test_the_core_names_no_plugin_component_or_score() -> None:
    """What a plugin offers, the core learns from the plugin."""
    names = names_of_plugins()
    assert len(names) > 150
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "cbcore").rglob("*.py")):
        for _, text in strings_in(path):
            if hits := find_names(text, names):
                found.setdefault(str(path.relative_to(ROOT)), set()).update(hits)
    assert found == ALLOWED


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("install cb-sweeps for ranges", ["cb-sweeps"]),
        ("identity | bm25:k=3", ["bm25"]),
        ("mean_scores and bm251", []),
    ],
)
def test_a_name_is_found_as_a_word(text: str, hits: list[str]) -> None:
    """So that the test above can fail."""
    assert find_names(text, {"cb-sweeps", "bm25", "mean_score"}) == hits
