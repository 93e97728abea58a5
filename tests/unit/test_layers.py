"""The layers of the core: what each may import, and that imports stay light."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import cbcore

ROOT = Path(cbcore.__file__).parent
ARCHITECTURE = ROOT.parent / "docs" / "explanation" / "architecture.md"


def read_layers():
    """The layer of every module and package, and the layers from the lowest to the highest."""
    layer_of = {}
    layers = []
    for line in ARCHITECTURE.read_text(encoding="utf-8").split("```")[1].splitlines()[1:]:
        if not line.startswith(" "):
            layers.append(line.partition(" ")[0])
        for module in line[len(layers[-1]) :].split():
            assert module not in layer_of, f"{module} is in two layers"
            layer_of[module] = layers[-1]
    return layer_of, layers[::-1]


LAYER_OF, LAYERS = read_layers()

TYPES_FROM_ABOVE = {"protocols", "hookspecs", "store.cache"}
"""Modules that name classes of higher layers in annotations. They import them for types only."""

FACE = ("", "__main__")
"""The package itself, which shows names of every layer."""

BROAD = {"Exception", "BaseException"}
HEAVY = {"datasets", "pandas", "numpy", "pyarrow", "structlog", "rich", "yaml"}
FILES = sorted(ROOT.rglob("*.py"))


def module_of(path):
    """`cli.run` for `cbcore/cli/run.py`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(module):
    """The layer of a module: its own, or that of its package."""
    return LAYER_OF.get(module) or LAYER_OF.get(module.partition(".")[0])


def is_for_type_checkers(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports(path, *, inside_functions, types_too=False):
    """The dotted names a module imports when it runs, or `types_too` those for type checkers."""
    waiting = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while waiting:
        node = waiting.pop()
        if is_for_type_checkers(node):
            waiting += node.orelse + (node.body if types_too else [])
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from names
            if not all(name.removeprefix("cbcore.") in KNOWN for name in names):
                yield node.module
        elif inside_functions or not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        ):
            waiting += ast.iter_child_nodes(node)


KNOWN = {module_of(file) for file in FILES}


def own_imports(path, *, inside_functions=True, types_too=False):
    """The modules of `cbcore` that a module imports."""
    for name in imports(path, inside_functions=inside_functions, types_too=types_too):
        package, _, module = name.partition(".")
        if package == "cbcore" and module in KNOWN:
            yield module


def offenders(rule):
    """What a rule finds wrong with each module, for those where it finds something."""
    found = {module_of(path) or "cbcore": rule(path) for path in FILES}
    return {module: wrong for module, wrong in found.items() if wrong}


def top_names(path, *, inside_functions):
    return {name.partition(".")[0] for name in imports(path, inside_functions=inside_functions)}


def test_every_module_is_in_a_layer():
    """A new module is placed before it is used, and no layer names one that is gone."""
    assert {module for module in KNOWN - set(FACE) if layer(module) is None} == set()
    assert set(LAYER_OF) <= KNOWN


def test_one_private_module_stands_at_the_top():
    """The folder shows what is public, and packages."""
    private = {file.name for file in ROOT.glob("_*.py")} - {"__init__.py", "__main__.py"}
    assert private == {"_logging.py"}


def test_a_module_imports_only_its_own_and_lower_layers():
    """Not even inside a function, where it would be a hidden cycle."""

    def forbidden(path):
        module = module_of(path)
        if module in FACE:
            return set()
        allowed = LAYERS[: LAYERS.index(layer(module)) + 1]
        imported = own_imports(path, types_too=module not in TYPES_FROM_ABOVE)
        return {name for name in imported if name not in FACE and layer(name) not in allowed}

    assert offenders(forbidden) == {}


def test_only_the_command_line_knows_click():
    """The core can be used without it."""

    def click(path):
        is_cli = module_of(path).partition(".")[0] == "cli"
        return not is_cli and "click" in top_names(path, inside_functions=True)

    assert offenders(click) == {}


def test_nothing_heavy_is_imported_at_module_scope():
    """Light commands pass through every module; heavy ones import inside functions."""
    assert offenders(lambda path: top_names(path, inside_functions=False) & HEAVY) == {}


def test_no_module_imports_a_plugin():
    """First-party plugins get no shortcut."""

    def plugins(path):
        names = top_names(path, inside_functions=True)
        return {name for name in names if name.startswith("cb_")}

    assert offenders(plugins) == {}


def test_who_catches_everything_says_why():
    """`cbcore.boundary` is where errors of others end; any other such place tells its reason."""

    def silent(path):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        handlers = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ExceptHandler)]
        caught = {n: ast.unparse(n.type) if n.type else "BaseException" for n in handlers}
        broad = [node for node, kinds in caught.items() if BROAD & set(re.findall(r"\w+", kinds))]
        return [node.lineno for node in broad if "#" not in lines[node.lineno - 1]]

    assert offenders(silent) == {}


def test_the_runner_looks_up_no_name():
    """Components are handed to it: nothing it imports, directly or not, finds or builds them."""
    files = {module_of(file): file for file in FILES}
    reached, waiting = set(), [module for module in files if layer(module) == "run"]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += own_imports(files[module])
    assert {module for module in reached if layer(module) == "plugins"} <= {"plugins.manager"}
    assert not {"binding", "specs", "assembly.builder"} & reached


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
