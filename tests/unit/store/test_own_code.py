"""The code a class rests on: own modules, and the own modules that these import."""

from __future__ import annotations

import importlib
import sys

import pytest

import cbcore.store
from cbcore.store.identity import Identities
from cbcore.store.own_code import digest_sources, is_own

MAIN = """
import json
import pytest
import cbcore
{imports}


class System:
    name = "own"

    def process(self, example):
        return example
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder on the path in which files can be written; its modules are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        importlib.invalidate_caches()

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def digest(module="main"):
    """The digest of a module as a new process would find it."""
    for name in [n for n, m in sys.modules.items() if getattr(m, "__file__", None)]:
        if name.partition(".")[0] in ("main", "helper", "pkg", "deep", "other"):
            del sys.modules[name]
    importlib.invalidate_caches()
    return Identities().key_of(importlib.import_module(module).System())


@pytest.mark.parametrize(
    ("imports", "files", "changed"),
    [
        ("import helper", {"helper": "K = 1"}, "helper"),
        ("from helper import K", {"helper": "K = 1"}, "helper"),
        ("import helper as h", {"helper": "import deep", "deep": "K = 1"}, "deep"),
        ("def late():\n    import helper", {"helper": "import deep", "deep": "K = 1"}, "deep"),
        ("import pkg.sub", {"pkg/__init__": "", "pkg/sub": "K = 1"}, "pkg/sub"),
        ("import pkg.sub", {"pkg/__init__": "", "pkg/sub": "K = 1"}, "pkg/__init__"),
        ("from pkg import sub", {"pkg/__init__": "", "pkg/sub": "K = 1"}, "pkg/sub"),
        ("import pkg.sub", {"pkg/sub": "K = 1"}, "pkg/sub"),
        (
            "def late():\n    import pkg.sub",
            {"pkg/__init__": "", "pkg/sub": "from . import side", "pkg/side": ""},
            "pkg/side",
        ),
        (
            "from pkg.inner.sub import K",
            {
                "pkg/__init__": "",
                "pkg/inner/__init__": "",
                "pkg/inner/sub": "from ..side import K",
                "pkg/side": "K = 1",
            },
            "pkg/side",
        ),
        ("import importlib\nimportlib.import_module('helper')", {"helper": ""}, "helper"),
        (
            "import importlib\nfor n in ['helper']:\n    importlib.import_module(n)",
            {"helper": ""},
            "helper",
        ),
        ("def late():\n    import helper", {"helper": "this is no code"}, "helper"),
        ("from helper import (\n    K as k,  # (one)\n)", {"helper": "K = 1"}, "helper"),
        ("if True: import helper; K = 1", {"helper": "K = 1"}, "helper"),
    ],
)
def test_a_change_in_what_is_imported_is_another_system(project, imports, files, changed):
    """However it is imported, now or later, directly or not; and nothing else is."""
    project(main=MAIN.format(imports=imports), **files, other="K = 1")
    before = digest()
    assert digest() == before
    project(other="K = 2")
    assert digest() == before
    project(**{changed: "K = 2"})
    assert digest() != before


def test_what_only_looks_like_an_import_is_not_one(project, recwarn):
    """Nor does reading a source print warnings: Python does that when it compiles the module."""
    text = "TEXT = '''\nimport helper\n'''  # import helper\nPATTERN = '\\d'"
    project(main=MAIN.format(imports=text), helper="K = 1")
    before = digest()
    recwarn.clear()
    key = Identities().key_of(importlib.import_module("main").System())
    assert not recwarn.list
    project(helper="K = 2")
    assert key == before == digest()


def test_a_lazy_package_is_the_same_whatever_of_it_is_loaded(project):
    """Its imports are written for type checkers; others of its modules may be loaded or not."""
    lazy = """
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pkg.sub import K
def __getattr__(name):
    return getattr(importlib.import_module("pkg.sub"), name)
"""
    files = {"pkg/__init__": lazy, "pkg/sub": "K = 1", "pkg/side": "K = 1"}
    project(main=MAIN.format(imports="import pkg"), **files)
    before = digest()
    importlib.import_module("pkg.side")
    assert Identities().key_of(importlib.import_module("main").System()) == before
    project(**{"pkg/sub": "K = 2"})
    assert digest() != before


def test_modules_that_change_places_are_told_apart(project):
    """The names count beside the contents."""
    project(main=MAIN.format(imports="import helper, other"), helper="K = 1", other="K = 2")
    before = digest()
    project(helper="K = 2", other="K = 1")
    assert digest() != before


def test_a_base_class_of_own_code_counts(project):
    """Wherever it was taken from."""
    project(main="import other\nclass System(other.Base):\n    name = 'own'")
    project(other="class Base:\n    k = 1")
    before = digest()
    project(other="class Base:\n    k = 2")
    assert digest() != before


def test_the_digest_is_that_of_the_code_that_runs(project):
    """A file that was edited counts when its module is loaded anew, not before."""
    project(main=MAIN.format(imports="import helper"), helper="K = 1")
    before = digest()
    system = importlib.import_module("main").System()
    project(helper="K = 2")
    assert Identities().key_of(system) == before
    importlib.reload(sys.modules["helper"])
    assert Identities().key_of(system) != before


def test_functions_are_known_by_what_they_import(project):
    """A function that an object is given is own code like its class."""
    project(main="import helper\ndef read(row):\n    return helper.K", helper="K = 1")

    class Holds:
        name = "holds"

        def __init__(self):
            self.read = importlib.import_module("main").read

    before = Identities().key_of(Holds())
    for name in ("main", "helper"):
        del sys.modules[name]
    project(helper="K = 2")
    assert Identities().key_of(Holds()) != before


@pytest.mark.parametrize("module", [importlib, pytest, cbcore.store])
def test_what_was_installed_is_not_own(module):
    """Python, packages and `cb` itself have versions."""
    assert not is_own(module.__file__)
    assert is_own(__file__)


def test_a_file_that_cannot_be_read_leaves_no_identity(tmp_path):
    """Better no store than a wrong answer from it."""
    with pytest.raises(OSError, match=r"gone\.py"):
        digest_sources("gone", tmp_path / "gone.py")
