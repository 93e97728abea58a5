"""A folder of suite files, and a manager that knows nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from cb_suites.engine import SuiteManager
from cbcore.plugins import Catalog
from cbcore.plugins.policy import PluginPolicy


class SuiteFolder:
    """Writes suite files and loads what they define."""

    def __init__(self, root: Path, catalog: Catalog) -> None:
        self.root = root
        self.catalog = catalog

    def write(self, name: str, text: str) -> Path:
        """Write a file, its text without the indentation."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def tasks(self, *names: str, more: str = "") -> None:
        """Write a small task for each name."""
        for name in names:
            self.write(f"{name}.yaml", f"task: {name}\ndataset: qa\n{more}")

    def manager(self, *include_paths: Path | str) -> SuiteManager:
        return SuiteManager(include_paths or [self.root], catalog=self.catalog, trust=[self.root])

    def load(self, *requests: Any, **keywords: Any) -> Any:
        return self.manager().load(list(requests), **keywords)

    def fewshot(self, *requests: Any) -> dict[str, int | None]:
        """Each leaf's path with its number of worked examples."""
        leaves = self.load(*requests).leaves()
        return {leaf.path: leaf.config.num_fewshot for leaf in leaves}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on this process's import path; what was imported from it is forgotten after."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(folder)
    yield folder
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.fixture
def suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SuiteFolder:
    """A folder of suite files, and no plugin."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "suites"
    root.mkdir()
    return SuiteFolder(root, Catalog([], PluginPolicy()))
