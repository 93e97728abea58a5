"""The rooms of the house: what each may import, and that imports stay light."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import cbcore

ROOT = Path(cbcore.__file__).parent

FLAT = {
    "contract": "exceptions names kinds components protocols hookspecs results "
    "boundary contexts introspection records json_data secrets settings texts stats "
    "workers",
    "toolbox": "columns requests identity tokens timing chains usercode files hf scoring _logging",
    "asking": "specs binding registry provenance",
    "root": "settings.compose settings.run_file settings.stored_data assembly api kept merging settings.plugin_options",
}
"""The rooms that are no package: what a plugin is written against, what its author has at hand,
how things are asked for, and where all of it comes together. Any other room is a package. A module
that is named itself does not stand in the room of its package."""

MAY_IMPORT = {
    "contract": "",
    "toolbox": "contract",
    "plugins": "contract toolbox",
    "asking": "contract toolbox plugins",
    "_store": "contract toolbox",
    "_run": "contract toolbox plugins _store",
    "builtin": "contract toolbox plugins _store",
    "_build": "contract toolbox plugins asking _run",
    "root": "contract toolbox plugins asking _store _run _build",
    "cli": "contract toolbox plugins asking _store _run _build root",
}
"""What each room may import besides itself. `docs/explanation/architecture.md` says why."""

ROOM_OF = {module: room for room, modules in FLAT.items() for module in modules.split()}
FACE = ("", "__main__")
"""The package itself, which shows names of every room."""

BROAD = {"Exception", "BaseException"}
HEAVY = {"datasets", "pandas", "numpy", "pyarrow", "structlog", "rich", "yaml"}
FILES = sorted(ROOT.rglob("*.py"))


def module_of(path):
    """`cli.run` for `cbcore/cli/run.py`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module):
    """The room a module stands in."""
    top = module.partition(".")[0]
    return ROOM_OF.get(module, ROOM_OF.get(top, top))


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
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
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


def test_every_room_is_known_and_there():
    """A new module at the top is placed before it is used, and none is left that is gone."""
    tops = {module_of(file).partition(".")[0] for file in FILES} - set(FACE)
    assert {top for top in tops if room(top) not in MAY_IMPORT} == set()
    named = {name for name in (*ROOM_OF, *MAY_IMPORT) if name not in FLAT}
    assert {name for name in named if "." not in name} == tops
    assert {name for name in named if "." in name} <= KNOWN


ARCHITECTURE = ROOT.parent / "docs" / "explanation" / "architecture.md"


def test_the_picture_of_the_house_shows_what_is_there():
    """Every module and room at the top, each in the room it is in."""
    picture = ARCHITECTURE.read_text(encoding="utf-8").split("```")[1]
    shown: dict[str, set[str]] = {}
    name = ""
    for line in picture.strip().splitlines():
        first, *names = re.split(r"  +", line.rstrip())
        if first:
            name = first.rstrip("/")
        elif line.startswith(" " * 20):
            continue  # what the room is for
        shown.setdefault(name, set()).update(*(part.split() for part in names[:1]))
    assert set(shown) == set(MAY_IMPORT)
    flat = {room: {part.rstrip("/").replace("/", ".") for part in shown[room]} for room in FLAT}
    assert flat == {room: set(names.split()) for room, names in FLAT.items()}


def test_what_architecture_names_is_there():
    """Paths within the core, and files of the clone."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    named = {path.rstrip("/") for path in re.findall(r"`([\w.-]+/[\w./-]*)`", text)}
    assert len(named) > 30
    places = (ROOT, ROOT.parent)
    missing = {
        path
        for path in named
        if not any((place / path).exists() or (place / f"{path}.py").exists() for place in places)
    }
    assert missing == set()


def test_one_private_module_stands_at_the_top():
    """Who opens the folder sees what is public, and rooms."""
    private = {file.name for file in ROOT.glob("_*.py")} - {"__init__.py", "__main__.py"}
    assert private == {"_logging.py"}


def test_a_module_imports_only_what_its_room_may():
    """Not even inside a function, where it would be a cycle in waiting, nor for types only."""

    def forbidden(path):
        if module_of(path) in FACE:
            return set()
        mine = room(module_of(path))
        allowed = {mine, *MAY_IMPORT[mine].split()}
        outside = {name for name in own_imports(path, types_too=True) if name not in FACE}
        if mine == "contract":  # `cb_configure` gets a builder: its type, and nothing at run time
            outside -= {"assembly"} - set(own_imports(path))
        return {name for name in outside if room(name) not in allowed}

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


def test_the_runner_never_looks_a_name_up():
    """Components are handed to it: nothing it imports, however far away, finds or makes them."""
    files = {module_of(file): file for file in FILES}
    reached, waiting = set(), [module for module in files if room(module) == "_run"]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += own_imports(files[module])
    assert {module for module in reached if room(module) == "plugins"} == {"plugins.manager"}
    assert not {room(module) for module in reached - set(FACE)} & {"asking", "_build"}


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
