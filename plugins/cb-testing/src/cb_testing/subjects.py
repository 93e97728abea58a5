"""What is to be checked: an installed plugin, a project folder, a hook module, or components."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from cb_testing.catalogs import catalog_from
from cb_testing.projects import staged
from cbcore.components import Component
from cbcore.exceptions import UsageError
from cbcore.names import canonical, hint
from cbcore.plugins import Catalog, Distribution, Plugin, read_distributions


@attrs.define
class Subject:
    """A plugin in a catalog of its own, and the modules that its entry points name."""

    catalog: Catalog
    entries: tuple[Any, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def plugin(self) -> Plugin:
        return self.catalog.plugins[0]


@contextlib.contextmanager
def subject_of(plugin: Any) -> Iterator[Subject]:
    """Make sense of what `check_plugin` was given; a project folder is importable meanwhile."""
    if isinstance(plugin, os.PathLike) or (isinstance(plugin, str) and _means_a_folder(plugin)):
        with _project(Path(plugin)) as distribution:
            yield _of_distribution(distribution)
    elif isinstance(plugin, str):
        yield _of_distribution(_installed(plugin))
    else:
        components = [plugin] if isinstance(plugin, Component) else plugin
        catalog = catalog_from(components)
        targets = [c.target for c in catalog.plugins[0].components if isinstance(c.target, str)]
        targets += [plugin.__name__] if _can_be_imported(plugin) else []
        yield Subject(catalog, modules=_modules(targets))


def _can_be_imported(plugin: Any) -> bool:
    """Whether it is a module that another process finds by its name."""
    from importlib.util import find_spec

    try:
        return isinstance(plugin, ModuleType) and find_spec(plugin.__name__) is not None
    except (ImportError, ValueError):  # made by hand
        return False


def _means_a_folder(text: str) -> bool:
    """Names of plugins hold no separators; a bare word is a folder only if nothing has that name."""
    if "/" in text or os.sep in text or text in (".", ".."):
        return True
    return (Path(text) / "pyproject.toml").is_file() and not any(
        canonical(known.name) == canonical(text) for known in read_distributions()
    )


def _installed(name: str) -> Distribution:
    known = read_distributions()
    for distribution in known:  # the first is the one that Python imports
        if canonical(distribution.name) == canonical(name):
            return distribution
    otherwise = "give a name, or the path of a project folder"
    raise UsageError(
        f"no installed plugin is called {name!r}",
        hint=hint(name, [d.name for d in known], otherwise),
    )


def _of_distribution(distribution: Distribution) -> Subject:
    catalog = Catalog([distribution], kinds_from=read_distributions())
    targets = [entry.value for entry in distribution.entry_points]
    return Subject(catalog, distribution.entry_points, _modules(targets))


def _modules(targets: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(target.partition(":")[0].strip() for target in targets))


@contextlib.contextmanager
def _project(folder: Path) -> Iterator[Distribution]:
    """A project that need not be installed: its metadata as an installer would write it."""
    with staged(folder) as project:
        metadata, source = project.path
        found = read_distributions([metadata])
        if not found:
            raise UsageError(
                f"{folder / 'pyproject.toml'} describes no plugin: it has no entry points for cb",
                hint='add for example [project.entry-points."cb.evaluators"]',
            )
        with _importable(Path(source)):
            _check_unclaimed(found[0], Path(source))
            yield found[0]


def _check_unclaimed(distribution: Distribution, source: Path) -> None:
    """Refuse to check other code than the project's, when a module of that name is loaded."""
    for name in {
        entry.value.partition(":")[0].split(".")[0] for entry in distribution.entry_points
    }:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and not Path(file).resolve().is_relative_to(source):
            raise UsageError(
                f"{name} was imported from {file}, not from the project in {source}",
                hint="check the project in a process of its own",
            )


@contextlib.contextmanager
def _importable(source: Path) -> Iterator[None]:
    """Put a folder in front of the import path; what is imported from it is forgotten after."""
    before = set(sys.modules)
    sys.path.insert(0, str(source))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(source))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).is_relative_to(source):
                del sys.modules[name]
