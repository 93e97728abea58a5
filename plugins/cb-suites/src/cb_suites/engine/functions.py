"""`!function module.attribute`: code that lies next to the suite file that names it.

`module` is the file `module.py` in the same folder, or a module of an installed package by its
full name. It is run only for suite files in a trusted folder, and only if it really lies in that
folder.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import sys
import types
from collections.abc import Iterable
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cb_suites.bounded.yaml import NotReadableError, read_bytes
from cb_suites.engine.code_eval import in_sandbox
from cb_suites.engine.documents import FunctionReference, problem
from cb_suites.engine.settings import stamp_of
from cb_suites.engine.trust import Trust, real, vouching
from cbcore.boundary import describe_exception
from cbcore.exceptions import ConfigError
from cbcore.names import hint

OF_SUITES = "cb_suite_"
"""How modules that lie beside suite files are called where they are loaded."""

_REFERENCE = re.compile(
    r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\.(?P<attribute>[A-Za-z_]\w*)\Z", re.ASCII
)


class UnloadableError(ConfigError):
    """Code that is allowed to run and does not load: a package is missing, or a name is."""


class Functions:
    """Looks functions up, and runs those of suite files that lie in one of the trusted folders.

    References that can be judged only by running their module are put into `unchecked`.
    """

    def __init__(self, trusted: Iterable[Path] = ()) -> None:
        self.trust = Trust(trusted)
        self.unchecked: list[FunctionReference] = []

    def check(self, reference: FunctionReference) -> FunctionReference:
        """Refuse a reference that cannot be right, without running anything."""
        if _absent_package(reference) is not None:
            self.unchecked.append(reference)
            return reference
        file, attribute = self._located(reference)
        try:
            names, may_have_more = _names_of(file, stamp_of(file.stat()))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise problem(
                reference.origin, f"{reference}: {file} cannot be read: {describe_exception(error)}"
            ) from error
        if attribute not in names and may_have_more:
            self.unchecked.append(reference)
        elif attribute not in names:
            raise _lacking(reference, file, attribute, names)
        return reference

    def resolve(self, reference: FunctionReference) -> Any:
        """The function or class itself; its module is run, once for each version of the file."""
        if package := _absent_package(reference):
            raise UnloadableError(
                str(reference.origin),
                f"{reference}: the package {package} is not installed",
                hint=f"install the package that has {package}",
            )
        file, attribute = self._located(reference)
        self._check_trusted(reference, file)
        module = module_of(file, reference, str(reference.origin))
        if not hasattr(module, attribute):
            lacking = _lacking(reference, file, attribute, vars(module))
            raise UnloadableError(lacking.source, lacking.reason, hint=lacking.hint)
        found = getattr(module, attribute)
        if not callable(found):
            kind = type(found).__name__
            raise problem(reference.origin, f"{reference} is a {kind} and cannot be called")
        return found

    def _located(self, reference: FunctionReference) -> tuple[Path, str]:
        match = _REFERENCE.match(reference.text)
        if match is None:
            raise problem(
                reference.origin,
                f"{reference} is not module.attribute",
                "write the name of a Python file next to this one, a dot, and a name in it",
            )
        file = module_file(reference)
        if not file.is_file():
            modules = [p.stem for p in file.parent.glob("*.py")]
            raise problem(
                reference.origin,
                f"{reference}: there is no file {file}",
                hint(match["module"], modules, shown=lambda name: f"{name}.{match['attribute']}"),
            )
        return file, match["attribute"]

    def _check_trusted(self, reference: FunctionReference, module: Path) -> None:
        said_in = reference.origin.file or ""
        folder = self.trust.folder_of(said_in)
        if folder is None:
            raise problem(
                reference.origin,
                f"{reference} is not run: it is code, and nobody vouched for {said_in}",
                vouching(said_in),
            )
        if not real(module).is_relative_to(folder):
            raise problem(
                reference.origin,
                f"{reference} is not run: {module} is a link that leads out of {folder}",
                vouching(module),
            )


def module_file(reference: FunctionReference) -> Path:
    """The file of the module that a reference names: beside the suite file, or in a package.

    A package is found without running it; whether its file may be run is another question.
    """
    module = reference.text.rpartition(".")[0]
    package, *below = module.split(".")
    beside = Path(reference.origin.file or "").with_name(f"{package}.py")
    if not below:
        return beside
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        spec = None
    places = (spec.submodule_search_locations if spec else None) or [str(beside.with_suffix(""))]
    return Path(places[0]).joinpath(*below).with_suffix(".py")


def _absent_package(reference: FunctionReference) -> str | None:
    """The package that a reference names by its full path and that is not installed."""
    if _REFERENCE.match(reference.text) is None:
        return None
    package, *below = reference.text.rpartition(".")[0].split(".")
    if not below or Path(reference.origin.file or "").with_name(package).is_dir():
        return None
    return None if is_installed(package) else package


@functools.lru_cache(maxsize=256)
def is_installed(package: str) -> bool:
    """Whether a package can be imported. Nothing of it is run."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def module_of(file: Path, asked: object, source: str = "") -> types.ModuleType:
    """The module of a file, run once for each version of it; `asked` is who wants it."""
    from importlib.util import module_from_spec, spec_from_file_location

    try:
        stamp = stamp_of(file.stat())
    except OSError as error:
        told = f"{asked}: {file} cannot be read: {error.strerror}"
        raise UnloadableError(source or str(file), told) from error
    version = repr((str(file), stamp)).encode()
    name = f"{OF_SUITES}{file.stem}_{blake2b(version, digest_size=6).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, file)
    assert spec is not None  # noqa: S101 - a .py file always has one
    assert spec.loader is not None  # noqa: S101
    module = sys.modules[name] = module_from_spec(spec)
    try:
        with contextlib.redirect_stdout(sys.stderr), in_sandbox(_text_of(file)):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the suite's own code
        del sys.modules[name]
        missing = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        raise UnloadableError(
            source or str(file),
            f"{asked}: importing {file} failed: {describe_exception(error)}",
            hint=f"install the package that has {missing}" if missing else None,
        ) from error
    return module


def _text_of(file: Path) -> str:
    try:
        return read_bytes(file).decode("utf-8", "replace")
    except NotReadableError:
        return ""


_MAKES_NAMES = frozenset({"globals", "vars", "locals", "exec", "setattr", "__getattr__", "*"})


@functools.lru_cache(maxsize=1024)
def _names_of(file: Path, _: tuple[int, int, int]) -> tuple[frozenset[str], bool]:
    """The names a module's statements bind, and whether running it may make more of them."""
    tree = ast.parse(read_bytes(file))
    names = _names_defined(tree)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(names), bool(_MAKES_NAMES & (names | used))


def _names_defined(tree: ast.Module) -> set[str]:
    """The names a module's own statements bind, at any depth outside functions and classes."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        else:
            waiting += ast.iter_child_nodes(node)
    return names


def _lacking(
    reference: FunctionReference, file: Path, attribute: str, names: Iterable[str]
) -> ConfigError:
    return problem(
        reference.origin,
        f"{reference}: {file} has no {attribute!r}",
        hint(attribute, [n for n in names if not n.startswith("_")]),
    )
