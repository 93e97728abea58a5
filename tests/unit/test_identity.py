"""Content addressing: what changes a result changes the key, and nothing else does."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.chains import Renamed, chain
from cbcore.identity import UnidentifiableError, canonical_bytes, content_key, identity_of
from cbcore.secrets import Secret

values = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
data = st.recursive(
    values,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


class Thing:
    def __init__(self, **attributes):
        self.name = "thing"
        self.__dict__.update(attributes)

    def process(self, example):
        return example


@given(st.dictionaries(st.text(max_size=4), data, max_size=5))
def test_the_order_of_keys_does_not_matter(example):
    """The same content has the same address."""
    backwards = dict(reversed(list(example.items())))
    assert canonical_bytes(example) == canonical_bytes(backwards)


@given(data, data)
def test_different_content_has_a_different_address(one, other):
    """Types count: 1, 1.0, True and "1" are four different things."""
    same = repr(one) == repr(other) or (one == other and type(one) is type(other) is dict)
    if not same and one != other:
        assert content_key(canonical_bytes(one)) != content_key(canonical_bytes(other))


@pytest.mark.parametrize(
    ("one", "other"), [(1, "1"), (1, 1.0), (True, 1), (None, "null"), ([], {})]
)
def test_types_are_told_apart(one, other):
    """Ids 1 and "1" are different examples."""
    assert canonical_bytes({"id": one}) != canonical_bytes({"id": other})


@given(st.text(min_size=1, max_size=5).filter(str.isidentifier), data, data)
def test_any_parameter_change_changes_the_identity(name, one, other):
    """Public attributes are part of what an object is."""
    if name.startswith("_") or name in ("name", "identity", "process"):
        return
    same = canonical_bytes([one]) == canonical_bytes([other])
    assert (identity_of(Thing(**{name: one})) == identity_of(Thing(**{name: other}))) is same


def test_the_display_name_is_not_part_of_the_identity():
    """Renaming a system does not call it again."""
    thing = Thing(model="a")
    renamed = Thing(model="a")
    renamed.name = "other"
    assert identity_of(thing) == identity_of(renamed) == identity_of(Renamed(thing, "third"))


def test_version_and_parameters_of_the_record_count():
    """A new plugin version is called again."""
    record = {"component": "thing", "plugin": "cb-thing", "version": "1", "params": {}}
    newer = {**record, "version": "2"}
    tuned = {**record, "params": {"k": 1}}
    keys = {identity_of(Thing(), record=r) for r in (record, newer, tuned)}
    assert len(keys) == 3


def test_a_chain_is_its_stages_in_order():
    """Swapping stages, or changing one, is another system."""
    a, b, c = Thing(k="a"), Thing(k="b"), Thing(k="c")
    keys = {identity_of(chain(stages)) for stages in ([a, b], [b, a], [a, c], [a])}
    assert len(keys) == 4


def test_a_secret_is_identified_by_where_it_came_from():
    """Changing the key's value changes nothing; the value is nowhere in the identity."""
    one = Thing(api_key=Secret("sk-one-000000000000", "${KEY}"))
    other = Thing(api_key=Secret("sk-two-000000000000", "${KEY}"))
    assert identity_of(one) == identity_of(other)
    assert identity_of(Thing(api_key="a" * 20)) == identity_of(Thing(api_key="b" * 20))


def test_functions_are_identified_by_their_code():
    """Two lambdas that differ only in a constant, a default or a captured value differ."""

    def captured(n):
        return lambda x: x + n

    functions = [
        lambda x: x + 1,
        lambda x: x + 2,
        captured(1),
        captured(2),
        functools.partial(max, 1),
        functools.partial(max, 2),
    ]
    assert len({identity_of(Thing(f=f)) for f in functions}) == len(functions)
    assert identity_of(Thing(f=captured(1))) == identity_of(Thing(f=captured(1)))


SETTING = "contexts"


def test_a_function_is_known_by_the_module_settings_it_uses(monkeypatch):
    """A name or number set at module level, as in notebooks, can change what it returns."""
    thing = Thing(f=lambda row: row[SETTING])
    before = identity_of(thing)
    assert identity_of(thing) == before
    monkeypatch.setitem(globals(), "SETTING", "docs")
    assert identity_of(thing) != before


def test_an_object_may_declare_its_identity():
    """What it declares replaces looking into it."""
    assert identity_of(Thing(identity="v1", noise=1)) == identity_of(Thing(identity="v1", noise=2))
    assert identity_of(Thing(identity="v1")) != identity_of(Thing(identity="v2"))
    assert identity_of(Thing(identity=lambda: "v1")) == identity_of(Thing(identity="v1"))


def test_an_object_without_readable_source_has_no_identity():
    """Better no store than a wrong answer from it."""
    namespace = {"__name__": "typed_at_a_prompt"}
    exec("class Typed:\n    name = 'typed'", namespace)
    with pytest.raises(UnidentifiableError, match="source of Typed"):
        identity_of(namespace["Typed"]())
