"""The user's own code, imported by name or from a file, wherever a setting may name some."""

from __future__ import annotations

import contextlib
import importlib
import types
from pathlib import Path
from typing import Any

from cbcore.boundary import at_boundary
from cbcore.exceptions import CBError
from cbcore.names import hint

__all__ = ("import_attribute",)


def import_attribute(path: str) -> Any:
    """Import `module:Name` or `./file.py:Name`, the user's own code. Raises ValueError."""
    module_name, _, attribute = path.removeprefix("py:").rpartition(":")
    if not module_name or not attribute:
        raise ValueError(f"{path!r} is not module:Name or ./file.py:Name")
    module = import_module(module_name)
    found: Any = module
    with _of_the_user():
        for part in attribute.split("."):
            if not hasattr(found, part):
                known = [name for name in vars(module) if not name.startswith("_")]
                suggestion = hint(part, known, "", lead="; ")
                raise _NotFoundError(f"{module_name} has no {part!r}{suggestion}")
            found = getattr(found, part)
    return found


def import_module(name: str) -> types.ModuleType:
    """Import the user's module by name, from the working directory too, or from a file path.

    Modules beside it are found, behind all others: a file that happens to lie there takes the
    place of no module of Python or of an installed package. Where the name itself means both,
    it is refused.

    What the module itself raises, an exit included, becomes a ValueError that says so; errors
    of `cb`, such as a name registered twice, pass through.
    """
    with _of_the_user():
        return _import_file(name) if name.endswith(".py") else _import_by_name(name)


class _NotFoundError(ValueError):
    """There is nothing to import."""


def _of_the_user() -> contextlib.AbstractContextManager[None]:
    return at_boundary("importing it", ValueError, through=(CBError, _NotFoundError))


def _loaded_from(path: Path) -> types.ModuleType | None:
    """The module made from a file, under whatever name, so that no file runs twice."""
    import sys

    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path) and module.__name__ != "__main__":
            return module
    return None


def _import_by_name(name: str) -> types.ModuleType:
    import sys

    with contextlib.suppress(OSError):  # without a working folder, what is installed is left
        here = Path.cwd()
        beside = here.joinpath(*name.split(".")).with_suffix(".py")
        if name not in sys.modules and (known := _loaded_from(beside)):
            return known
        _check_meant(name.partition(".")[0], here)
        _search_last(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise _NotFoundError(f"there is no module {name!r} here or installed") from error
        raise


def _search_last(folder: Path) -> None:
    """Let modules in a folder be found where there are no others of their name."""
    import sys

    if str(folder) not in sys.path and not ("" in sys.path and folder == Path.cwd()):
        sys.path.append(str(folder))


def _check_meant(name: str, folder: Path) -> None:
    """Refuse a name that a file in the folder has, and a module that comes before it."""
    files = (folder / f"{name}.py", folder / name / "__init__.py")
    mine = next((file for file in files if file.is_file()), None)
    other = _origin_of(name) if mine is not None else None
    if mine is not None and other is not None and Path(other).resolve() != mine.resolve():
        given = f"./{mine.relative_to(folder)}"
        raise _NotFoundError(
            f"{name!r} is a module of Python or of an installed package ({other}), and a file "
            f"here: name the file, as in {given}, or give it another name"
        )


def _origin_of(name: str) -> str | None:
    """The file of a module that can be imported by now; None where there is none."""
    from importlib.util import find_spec

    try:
        spec = find_spec(name)
    except ValueError:  # it was made by hand
        return None
    return spec.origin if spec is not None else None


def _import_file(name: str) -> types.ModuleType:
    import sys

    path = Path(name).expanduser().resolve()
    if not path.is_file():
        raise _NotFoundError(f"there is no file {name!r}")
    from importlib.util import module_from_spec, spec_from_file_location

    if known := _loaded_from(path):
        return known
    module_name = f"cb_user_{path.stem}"
    spec = spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise _NotFoundError(f"{name!r} cannot be imported")
    module = module_from_spec(spec)
    _search_last(path.parent)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:  # whatever it is, no half-made module is left
        del sys.modules[module_name]
        raise
    return module
