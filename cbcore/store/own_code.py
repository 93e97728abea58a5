"""The user's own code behind a component: its files, and the modules that they import.

Own is what was neither installed as a package nor comes with Python or `cb`. A loaded module counts
as it was when it was first looked at, since that is the code that runs.
"""

from __future__ import annotations

import ast
import functools
import sys
import sysconfig
import types
import warnings
from collections.abc import Iterator
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path
from typing import Any

import cbcore
from cbcore.boundary import contained
from cbcore.store.database import digest

__all__ = ()

_BY_NAME = {"__import__", "import_module", "run_module", "run_path", "spec_from_file_location"}
"""Functions that import what a text says."""


class UnidentifiedError(ValueError):
    """Nothing tells this component from another of its kind; the message says why."""


def digest_code(made: Any) -> str | None:
    """A digest of the source of an own class or function, and of every own module that it imports.

    None for what was installed, and for what was typed at a prompt. Raises `UnidentifiedError` for
    another class whose source cannot be read.
    """
    file = file_of(made)
    if is_own(file):
        return digest_sources(made.__module__, Path(file))
    is_known = isinstance(made, types.FunctionType) or made.__module__ in ("builtins", "__main__")
    if not is_known and not Path(file).is_file():
        raise UnidentifiedError(f"The source of {made.__qualname__} cannot be read.")
    return None


def file_of(made: Any) -> str:
    """The file that a class or function was written in; empty if there is none."""
    if isinstance(made, types.FunctionType):
        return made.__code__.co_filename
    module = sys.modules.get(getattr(made, "__module__", None) or "")
    return getattr(module, "__file__", None) or ""


@functools.lru_cache(maxsize=4096)
def is_own(file: str) -> bool:
    """Whether a file is the user's own: neither installed, nor a part of Python or of `cb`."""
    path = Path(file).absolute()
    standard = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    folders = [str(Path(cbcore.__file__).parent), *standard]
    is_installed = bool({"site-packages", "dist-packages"} & set(path.parts))
    is_standard = any(path.is_relative_to(folder) for folder in folders)
    return path.is_file() and not (is_installed or is_standard)


def is_in_source(function: types.FunctionType) -> bool:
    """Whether the source of an own function has its code: it may have been edited meanwhile."""
    file = file_of(function)
    if not is_own(file):
        return False
    return function.__code__ in _compile(_read_source(function.__module__, Path(file).resolve()))


@functools.lru_cache(maxsize=1024)
def _compile(source: bytes) -> list[types.CodeType]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*find_codes(compile(source, "source", "exec", dont_inherit=True))]


def find_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A piece of code, and the code of the functions and classes in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from find_codes(constant)


def digest_sources(module: str, file: Path) -> str:
    """A digest of a file and of every own module that it imports, directly or not."""
    digests: dict[Path, str] = {}
    waiting = [(module, file.resolve())]
    while waiting:
        name, path = waiting.pop()
        if path not in digests:
            source = _read_source(name, path)
            # The first has several names: as a script, by its path, as a part of a package.
            digests[path] = f"{name if digests else ''} {digest(source)}"
            waiting += find_imports(source, name, path)
    return digest(*map(str.encode, sorted(digests.values())))


_sources: dict[Path, tuple[Any, bytes]] = {}
"""By file: the loaded module and its source as it was when first looked at, which is what runs."""


def _read_source(module: str, path: Path) -> bytes:
    loaded: Any = sys.modules.get(module)
    loaded = getattr(loaded, "__spec__", None) or loaded
    known = _sources.get(path)
    if loaded is None or known is None or known[0] is not loaded:
        known = _sources[path] = loaded, path.read_bytes()
    return known[1]


@functools.lru_cache(maxsize=1024)
def find_imports(source: bytes, module: str, path: Path) -> list[tuple[str, Path]]:
    """The own modules that a source imports, wherever in it the statements stand.

    Where names are computed, all own modules count that are loaded from its folder. A name that is
    imported from a module may be a submodule or not, so both are looked for.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError):  # not Python
        return []
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            with contained():  # one that leads out of its package cannot run
                origin = resolve_name("." * node.level + (node.module or ""), package)
                names += [f"{origin}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0] if node.args else None
            if called in _BY_NAME and isinstance(first, ast.Constant):
                names.append(str(first.value))
            elif called in _BY_NAME:
                files = {n: getattr(m, "__file__", "") for n, m in sys.modules.copy().items()}
                names += [
                    n for n, f in files.items() if f and path.parent in Path(f).resolve().parents
                ]
    return [found for name in dict.fromkeys(names) for found in _find_files(name)]


def _find_files(name: str) -> Iterator[tuple[str, Path]]:
    """The own modules on the way to a module, with itself. Imports nothing."""
    folders: Any = None
    for dotted in accumulate(name.split("."), "{}.{}".format):
        spec = getattr(sys.modules.get(dotted), "__spec__", None)
        for finder in sys.meta_path if spec is None else ():
            with contained():  # the finder of somebody else may do anything
                spec = spec or finder.find_spec(dotted, folders)
        file = getattr(sys.modules.get(dotted), "__file__", None) or getattr(spec, "origin", None)
        if file and is_own(file):
            yield dotted, Path(file).resolve()
        folders = getattr(spec, "submodule_search_locations", None)
        if folders is None:
            return
