"""The user's own code behind a component: its files, and the modules that they import.

Own is what was neither installed as a package nor comes with Python or `cb`. A loaded module counts
as it was when it was first looked at, since that is the code that runs.
"""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import sys
import sysconfig
import types
import warnings
from pathlib import Path
from typing import Any

import cbcore
from cbcore.boundary import contained
from cbcore.store.database import digest

__all__ = ("UnidentifiedError",)

_BY_NAME = {"__import__", "import_module", "run_module", "run_path", "spec_from_file_location"}
"""Functions that import what a text says."""


class UnidentifiedError(ValueError):
    """Nothing tells this component from another of its kind; the message says why."""


def describe_code(made: Any) -> Any:
    """A digest of the own code behind a class or function; None for what was installed.

    Raises `UnidentifiedError` if the code cannot be read.
    """
    file = file_of(made)
    if is_own(file):
        return digest_sources(made.__module__, Path(file))
    if made.__module__ == "builtins" or isinstance(made, types.FunctionType) or is_file(file):
        return None
    functions = [f for f in vars(made).values() if isinstance(f, types.FunctionType)]
    if not functions and made.__module__ != "__main__":
        raise UnidentifiedError(f"The source of {made.__qualname__} cannot be read.")
    return [compile_facts(function.__code__) for function in functions]


def compile_facts(code: types.CodeType) -> list[Any]:
    """What code is compiled to, the same in every process."""
    constants = [
        compile_facts(c)
        if isinstance(c, types.CodeType)
        else sorted(map(repr, c))
        if isinstance(c, frozenset)
        else repr(c)
        for c in code.co_consts
    ]
    return [code.co_code.hex(), list(code.co_names), constants]


def file_of(made: Any) -> str:
    """The file that a class or function was written in; empty if there is none."""
    if isinstance(made, types.FunctionType):
        return made.__code__.co_filename
    module = sys.modules.get(getattr(made, "__module__", None) or "")
    return getattr(module, "__file__", None) or ""


@functools.lru_cache(maxsize=4096)
def is_file(file: str) -> bool:
    return bool(file) and Path(file).is_file()


@functools.lru_cache(maxsize=4096)
def is_own(file: str) -> bool:
    """Whether a file is the user's own: neither installed, nor a part of Python or of `cb`."""
    path = Path(file).absolute()
    if not is_file(file) or {"site-packages", "dist-packages"} & set(path.parts):
        return False
    core = str(Path(cbcore.__file__).parent)
    folders = [core, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    return not any(path.is_relative_to(folder) for folder in folders)


def digest_sources(module: str, file: Path) -> str:
    """A digest of a file and of every own module that it imports, directly or not."""
    digests: dict[Path, str] = {}
    waiting = [(module, file.resolve())]
    while waiting:
        name, path = waiting.pop()
        if path in digests:
            continue
        try:
            source = _read_source(name, path)
        except OSError as error:
            raise UnidentifiedError(f"{path} cannot be read.") from error
        # The first has several names: as a script, by its path, as a part of a package.
        digests[path] = f"{name if digests else ''} {digest(source)}"
        if path.suffix == ".py":
            waiting += find_imports(source, name, path)
    return digest(*(text.encode() for text in sorted(digests.values())))


_sources: dict[Path, tuple[Any, bytes]] = {}
"""By file: the loaded module and its source as it was when first looked at, which is what runs."""


def _read_source(module: str, path: Path) -> bytes:
    loaded = getattr(sys.modules.get(module), "__spec__", None)
    known = _sources.get(path)
    if loaded is None or known is None or known[0] is not loaded:
        known = _sources[path] = loaded, path.read_bytes()
    return known[1]


@functools.lru_cache(maxsize=1024)
def find_imports(source: bytes, module: str, path: Path) -> tuple[tuple[str, Path], ...]:
    """The own modules that a source imports, wherever in it the statements stand.

    Where names are computed, all own modules count that are loaded from its folder.
    """
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    names, computes = parse_imports(source, package)
    found: dict[str, Path] = {}
    for name in names:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            dotted = ".".join(parts[:end])
            if file := _find_module(dotted):
                found[dotted] = Path(file).resolve()
    for name, other in list(sys.modules.items()) if computes else ():
        file = getattr(other, "__file__", None) or ""
        if is_own(file) and Path(file).resolve().is_relative_to(path.parent):
            found[name] = Path(file).resolve()
    return tuple(found.items())


def parse_imports(source: bytes, package: str) -> tuple[list[str], bool]:
    """The full names that a module of the package imports, and whether others are computed.

    A name imported from a module may be a submodule or not, so both are named.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return [], False
    names: list[str] = []
    computes = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            outer = ".".join([*above, *([node.module] if node.module else [])])
            names += [outer, *(f"{outer}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0] if node.args else None
            if called in _BY_NAME and isinstance(first, ast.Constant):
                names.append(str(first.value))
            elif called in _BY_NAME:
                computes = True
    return list(dict.fromkeys(names)), computes


def _find_module(name: str) -> str:
    """The file of an own module; empty for any other. Imports nothing but its packages."""
    if name in sys.modules:
        file = getattr(sys.modules[name], "__file__", None) or ""
    elif name.partition(".")[0] in sys.stdlib_module_names:
        return ""
    else:
        parent, _, last = name.rpartition(".")
        folders = getattr(sys.modules.get(parent), "__path__", None) if parent else None
        if parent and folders is None:
            outer = _find_module(parent)
            folders = [str(Path(outer).parent)] if outer.endswith("__init__.py") else []
        file = ""
        with contained():  # the finder of somebody else may do anything
            spec = importlib.machinery.PathFinder.find_spec(name if not parent else last, folders)
            file = (spec.origin or "") if spec is not None and spec.has_location else ""
    return file if is_own(file) else ""
