"""Keys of components: equal for what returns the same, and different after every change."""

from __future__ import annotations

import importlib
import sys
import threading
import types

import pytest

from cbcore.chains import Chain, Renamed
from cbcore.secrets import Secret
from cbcore.store.identity import Identities, find_facts
from cbcore.store.own_code import UnidentifiedError


def key_of(value, record=None):
    return Identities().key_of(value, record)


class Model:
    def __init__(self, model="a", name="model", client=None):
        self.model, self.name = model, name
        self._client, self._lock = client, threading.Lock()
        self.n_calls = 0

    def process(self, example):
        self.n_calls += 1
        return {"response": self.model}


class Declared:
    identity = "fixed"

    def __init__(self, model="a"):
        self.model = model


class Warmer(Declared):
    """Knows a parameter that the identity of its base does not."""

    def __init__(self, model="a", temperature=0.0):
        super().__init__(model)
        self.temperature = temperature


class Hotter(Warmer):
    identity = ("hotter",)


class Same(Declared):
    pass


class Opaque(Declared):
    def __init__(self, model="a", client=None):
        super().__init__(model)
        self._held = client


def test_parameters_decide_and_an_identity_takes_their_place():
    assert key_of(Model("a")) == key_of(Model("a")) != key_of(Model("b"))
    assert key_of(Model(name="x")) != key_of(Model(name="y"))
    assert key_of(Declared("a")) == key_of(Declared("b"))


def test_an_inherited_identity_does_not_hide_new_parameters():
    """Its base could not know of them."""
    assert key_of(Declared()) != key_of(Warmer()) != key_of(Warmer(temperature=0.5))
    assert "attributes" in find_facts(Warmer(), {})
    assert key_of(Hotter()) == key_of(Hotter(temperature=0.5))
    assert key_of(Same("a")) == key_of(Same("b")) != key_of(Declared())


def test_a_new_parameter_that_is_not_known_cannot_be_told_apart():
    with pytest.raises(UnidentifiedError, match="Declare `identity` in Opaque"):
        key_of(Opaque(client=threading.Lock()))


def test_a_chain_is_its_stages_and_a_new_name_is_none():
    one, other = Model("a"), Model("b")
    assert key_of(Chain([one, other])) == key_of(Chain([Model("a"), Model("b")]))
    assert key_of(Chain([one, other])) != key_of(Chain([other, one]))
    assert key_of(Renamed(one, "another")) == key_of(one)


def test_a_secret_counts_by_where_it_comes_from():
    one, other = Secret("k1", source="${KEY}"), Secret("k2", source="${KEY}")
    assert key_of(Model(one)) == key_of(Model(other)) != key_of(Model(Secret("k1", source="${A}")))


def test_use_changes_no_key_and_an_edit_does():
    model, identities = Model(), Identities()
    key = identities.key_of(model)
    model.process({})
    identities.note_state()
    assert key_of(model) == key
    model.model = "b"
    assert key_of(model) != key


# -- code ----------------------------------------------------------------------------------------

MAIN = """
import json
from pack import near

def late():
    from pack.lazy import WORD
    return WORD

def by_name():
    import importlib
    return importlib.import_module("named").WORD

class Own:
    name = "own"
    identity_files = ("prompts/*.txt",)
    def process(self, example):
        return {"response": late() + by_name()}
"""
FILES = {
    "main_code.py": MAIN,
    "pack/__init__.py": "",
    "pack/near.py": "from . import deep",
    "pack/deep.py": "",
    "pack/lazy.py": "WORD = 'a'",
    "named.py": "WORD = 'b'",
    "prompts/one.txt": "Say",
    "unrelated.py": "",
}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A fresh import of the user's code, after some of its files were changed."""
    monkeypatch.syspath_prepend(tmp_path)

    def load(**changed):
        for name, text in {**FILES, **changed}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        for name in ("main_code", "pack", "pack.near", "pack.deep", "pack.lazy", "named"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("main_code").Own()

    return load


@pytest.mark.parametrize("name", [name for name in FILES if name != "unrelated.py"])
def test_every_own_file_behind_a_component_counts(own, name):
    """Also a module that is imported late or by its name, and has not been loaded yet."""
    key = key_of(own())
    assert key_of(own()) == key
    assert key_of(own(**{name: FILES[name] + "\n# changed"})) != key


def test_a_file_that_nothing_imports_does_not_count(own):
    assert key_of(own()) == key_of(own(**{"unrelated.py": "CHANGED = 1"}))


def test_loaded_code_counts_as_it_was_loaded(own, tmp_path):
    """A file that is edited during a run is not what runs."""
    system = own()
    key = key_of(system)
    (tmp_path / "pack" / "near.py").write_text("CHANGED = 1")
    assert key_of(system) == key


def test_code_without_a_file_counts_by_what_it_is_compiled_to(monkeypatch):
    """As in a notebook."""
    notebook = types.ModuleType("notebook_cells")
    monkeypatch.setitem(sys.modules, "notebook_cells", notebook)

    def make(word):
        source = f"class Typed:\n    def process(self, example):\n        return {word!r}\n"
        exec(source, vars(notebook))
        return notebook.Typed()

    assert key_of(make("a")) == key_of(make("a")) != key_of(make("b"))


def test_functions_count_with_what_they_have_captured():
    def make(word):
        return Model(lambda example: {"response": word})

    assert key_of(make("a")) == key_of(make("a")) != key_of(make("b"))


def test_a_file_that_is_not_there_is_named(own):
    system = own()
    system.identity_files = "absent.txt"
    with pytest.raises(UnidentifiedError, match=r"no file 'absent.txt'"):
        key_of(system)
