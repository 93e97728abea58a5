"""The user's own code, imported by name or from a file, wherever a setting may name some."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

from cbcore.boundary import at_boundary
from cbcore.exceptions import CBError
from cbcore.names import hint

__all__ = ()


class _UserCodeError(ValueError):
    """The user's code is not there, or its import failed."""


@at_boundary("importing it", _UserCodeError, through=(CBError, _UserCodeError))
def import_attribute(path: str) -> Any:
    """Import `module:Name` or `./file.py:Name`, the user's own code. Raises ValueError."""
    module_name, _, attribute = path.removeprefix("py:").rpartition(":")
    if not module_name or not attribute:
        raise _UserCodeError(f"{path!r} is not module:Name or ./file.py:Name")
    found: Any = import_module(module_name)
    known = [name for name in vars(found) if not name.startswith("_")]
    for part in attribute.split("."):
        if not hasattr(found, part):
            suggestion = hint(part, known, "", lead="; ")
            raise _UserCodeError(f"{module_name} has no {part!r}{suggestion}")
        found = getattr(found, part)
    return found


@at_boundary("importing it", _UserCodeError, through=(CBError, _UserCodeError))
def import_module(name: str) -> types.ModuleType:
    """Import the user's module by name, from the working directory too, or from a file path.

    Modules next to it are found after all others: a file that happens to be there does not
    replace a module of Python or of an installed package. A name that means both is refused.

    An exception or exit of the module becomes a ValueError. Errors of `cb`, such as a name
    registered twice, pass through.
    """
    return _import_file(name) if name.endswith(".py") else _import_by_name(name)


def _find_loaded(path: Path) -> types.ModuleType | None:
    """The module made from a file, under any name, so that no file runs twice."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path) and module.__name__ != "__main__":
            return module
    return None


def _import_by_name(name: str) -> types.ModuleType:
    with contextlib.suppress(OSError):  # without a working folder, only what is installed is left
        here = Path.cwd()
        known = _find_loaded(here.joinpath(*name.split(".")).with_suffix(".py"))
        if name not in sys.modules and known:
            return known
        _refuse_ambiguous(name.partition(".")[0], here)
        _search_last(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise _UserCodeError(f"there is no module {name!r} here or installed") from error
        raise


def _search_last(folder: Path) -> None:
    """Let modules in a folder be found if there are no others of their name."""
    if str(folder) not in sys.path and not ("" in sys.path and folder == Path.cwd()):
        sys.path.append(str(folder))


def _refuse_ambiguous(name: str, folder: Path) -> None:
    """Refuse a name that a file in the folder has, and a module that comes before it."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # a module without a spec
        return
    for file in (folder / f"{name}.py", folder / name / "__init__.py"):
        is_other = spec and spec.origin and Path(spec.origin).resolve() != file.resolve()
        if file.is_file() and spec and is_other:
            raise _UserCodeError(
                f"{name!r} is a module of Python or of an installed package ({spec.origin}), "
                f"and a file here: name the file, as in ./{file.relative_to(folder)}, "
                "or give it another name"
            )


def _import_file(name: str) -> types.ModuleType:
    path = Path(name).expanduser().resolve()
    if not path.is_file():
        raise _UserCodeError(f"there is no file {name!r}")
    if known := _find_loaded(path):
        return known
    module_name = f"cb_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise _UserCodeError(f"{name!r} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    _search_last(path.parent)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:  # whatever it is, no half-made module is left
        del sys.modules[module_name]
        raise
    return module
