"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import sys

import pytest

INIT = """
from cbcore.lazy import lazy_names

_HOMES = {"Client": "client", "Missing": "client"}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "lazily"
    folder.mkdir()
    (folder / "__init__.py").write_text(INIT)
    (folder / "client.py").write_text("class Client: pass")
    monkeypatch.syspath_prepend(tmp_path)
    import lazily

    yield lazily
    for name in ("lazily", "lazily.client"):
        sys.modules.pop(name, None)


def test_a_name_is_imported_when_it_is_asked_for(package):
    """Not before, and not a second time."""
    assert "lazily.client" not in sys.modules
    client = package.Client
    assert client is sys.modules["lazily.client"].Client
    assert vars(package)["Client"] is client


def test_all_names_are_listed(package):
    """Imported or not."""
    assert {"Client", "Missing", "_HOMES"} <= set(dir(package))


@pytest.mark.parametrize("name", ["Other", "Missing"])
def test_what_is_not_there_is_an_attribute_error(package, name):
    """Whether the package knows nothing of it, or its module does."""
    with pytest.raises(AttributeError, match=name):
        getattr(package, name)
