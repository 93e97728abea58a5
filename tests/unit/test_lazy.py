"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import re
import sys

import pytest

from cbcore.lazy import lazy_pattern

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


def test_an_expression_is_compiled_when_it_is_first_used(monkeypatch):
    """And then behaves as any other: flags, groups and attributes included."""
    compiled = []
    compile_now = re.compile
    monkeypatch.setattr(re, "compile", lambda *asked: compiled.append(asked) or compile_now(*asked))

    pattern = lazy_pattern(r"(?P<year>\d{4})-x", re.IGNORECASE)

    assert compiled == []
    assert pattern.search("on 2024-X")["year"] == "2024"
    assert [found["year"] for found in pattern.finditer("1999-x 2000-x")] == ["1999", "2000"]
    assert (pattern.pattern, pattern.groups) == (r"(?P<year>\d{4})-x", 1)
    assert set(compiled) == {(r"(?P<year>\d{4})-x", re.IGNORECASE)}


def test_a_method_is_looked_up_once():
    """A pattern that is used for every row costs no more than one that was compiled at once."""
    pattern = lazy_pattern("a+")
    assert pattern.match("aa")
    assert vars(pattern)["match"] == pattern.match


def test_what_an_expression_has_not_is_an_error():
    """As on a compiled one."""
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        lazy_pattern("a").missing  # noqa: B018
