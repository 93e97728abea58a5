"""The layers of the design: lower modules never import higher ones, and imports stay light."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import cbcore

ROOT = Path(cbcore.__file__).parent

# What each layer is: facts; roles; looking things up and reading them; the run; composition;
# the command line. A module may import its own layer and those below.
LAYERS = (
    {
        "",
        "_children",
        "_ids",
        "_tables",
        "_metadata",
        "_versions",
        "components",
        "deprecations",
        "exceptions",
        "introspection",
        "names",
    }
    | {"results", "secrets", "summary"},
    {"_logging", "_waits", "events", "hookspecs", "protocols", "texts", "timing", "tokens"},
    {
        "_column_paths",
        "_column_reading",
        "_discovery",
        "_inspection",
        "_manager",
        "_plugins",
        "_policy",
        "_prediction_columns",
        "_watched",
        "binding",
        "chains",
        "columns",
        "files",
        "hf",
    }
    | {"identity", "provenance", "registry", "runfile", "specs", "_examples", "_runs", "_store"}
    | {"_descriptions", "_sources"}
    | {"_explaining", "_health", "_installing", "_known", "_lockfile", "_manifests", "_origins"}
    | {"_projects", "_rules", "_tracing", "_tracking", "suites"},
    {
        "_announcing",
        "_calls",
        "_lanes",
        "_limits",
        "_memo",
        "_plan",
        "_progress",
        "_rows",
        "_runner",
    }
    | {"_reasons", "_scoring", "executors"},
    {"_building", "_checking", "_probing", "_scaffold", "_suite_runs", "_wiring", "compose"}
    | {"_main_score", "testing"},
    {"cli", "__main__"},
)
LAYER_OF = {module: number for number, modules in enumerate(LAYERS) for module in modules}
LOOKING_UP = {"_discovery", "_manager", "_inspection", "_policy", "registry", "binding", "specs"}
HEAVY = {"datasets", "pandas", "numpy", "pyarrow", "structlog", "rich", "yaml"}
FILES = sorted(ROOT.rglob("*.py"))


def module_of(path):
    """`cli.run` for `cbcore/cli/run.py`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(module):
    return LAYER_OF[module.partition(".")[0]]


def is_for_type_checkers(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports(path, *, inside_functions):
    """The dotted names a module imports when it runs; those for type checkers do not count."""
    waiting = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while waiting:
        node = waiting.pop()
        if is_for_type_checkers(node):
            waiting += node.orelse
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif inside_functions or not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        ):
            waiting += ast.iter_child_nodes(node)


def own_imports(path, *, inside_functions=True):
    """The modules of `cbcore` that a module imports."""
    known = {module_of(file) for file in FILES}
    for name in imports(path, inside_functions=inside_functions):
        package, _, module = name.partition(".")
        if package == "cbcore" and module in known:
            yield module


@pytest.fixture(params=FILES, ids=lambda path: module_of(path) or "cbcore")
def path(request):
    return request.param


def test_every_module_has_its_layer(path):
    """A new module is placed before it is used."""
    assert module_of(path).partition(".")[0] in LAYER_OF


def test_every_layer_is_of_modules_that_exist():
    """The table above says nothing of modules that are gone."""
    assert set(LAYER_OF) == {module_of(file).partition(".")[0] for file in FILES}


def test_no_module_imports_a_higher_layer(path):
    """Not even inside a function, where it would be a cycle in waiting."""
    mine = layer(module_of(path))
    higher = {name for name in own_imports(path) if layer(name) > mine}
    assert not higher


def test_only_the_command_line_knows_click(path):
    """The core can be used without it."""
    if module_of(path).partition(".")[0] != "cli":
        names = {name.partition(".")[0] for name in imports(path, inside_functions=True)}
        assert "click" not in names


def test_nothing_heavy_is_imported_at_module_scope(path):
    """Light commands pass through every module; heavy ones import inside functions."""
    names = {name.partition(".")[0] for name in imports(path, inside_functions=False)}
    assert not names & HEAVY


def test_no_module_imports_a_plugin(path):
    """First-party plugins get no shortcut."""
    names = {name.partition(".")[0] for name in imports(path, inside_functions=True)}
    assert not {name for name in names if name.startswith("cb_")}


def test_the_runner_never_looks_a_name_up():
    """Components are handed to it: nothing it imports, however far away, finds or makes them."""
    files = {module_of(file): file for file in FILES}
    reached, waiting = set(), ["_runner", "executors", "_scoring"]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += own_imports(files[module])
    assert not reached & (LOOKING_UP | {"_building", "_wiring", "compose", "cli"})


def test_the_modules_import_each_other_without_a_cycle():
    """At module scope the imports form a tree that can be read from the bottom up."""
    files = {module_of(file): file for file in FILES}
    waiting = {
        module: {name for name in own_imports(file, inside_functions=False) if name != module}
        for module, file in files.items()
    }
    while ready := {module for module, needs in waiting.items() if not needs & set(waiting)}:
        for module in ready:
            del waiting[module]
    assert not waiting


def test_the_reader_of_imports_sees_what_it_should(tmp_path):
    """Guards, branches, classes and functions: what runs at import is told from what does not."""
    source = tmp_path / "module.py"
    source.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import pandas\nelse:\n    import one\n"
        "try:\n    import two.sub\nexcept ImportError:\n    from three import name\n"
        "class A:\n    import four\n    def f(self):\n        import five\n"
    )
    outside = set(imports(source, inside_functions=False)) - {"typing", "typing.TYPE_CHECKING"}
    assert outside == {"one", "two.sub", "three", "three.name", "four"}
    assert "five" in set(imports(source, inside_functions=True))
