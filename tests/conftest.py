"""Fixtures shared by all tests of the core."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cbcore.components import registered
from tests.fake_distributions import Workplace
from tests.isolation import no_secrets  # noqa: F401


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    """A place to run `cb` in, with plugins made for the test and nothing of the machine."""
    return Workplace(tmp_path)


@pytest.fixture
def cold_workplace(tmp_path: Path) -> Workplace:
    """The same with an empty plugin cache, as in the first command after an installation."""
    return Workplace(tmp_path, cold=True)


@pytest.fixture
def clean_registry() -> Iterator[None]:
    """Nothing is registered in this process; what was is registered again after."""
    before = dict(registered)
    registered.clear()
    yield
    registered.clear()
    registered.update(before)


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
