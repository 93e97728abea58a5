"""Plain data: anything becomes it, whatever it does; it becomes bytes and is read back equal."""

from __future__ import annotations

import collections
import contextlib
import enum
import json
import math
import os
import sys
import types
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.json_data import CUT, MAX_DEPTH, from_json, to_json, to_json_safe

WHOLE = (dict, list, str, int, float, bool, type(None))

finite = st.floats(allow_nan=False, allow_infinity=False)
leaves = st.none() | st.booleans() | st.integers() | finite | st.text(max_size=8)
ordinary = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


def depth(value):
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)


def is_plain(value):
    """Whether a value is of JSON's types and none of their subclasses, all the way down."""
    if type(value) is dict:
        return all(type(key) is str for key in value) and all(map(is_plain, value.values()))
    return all(map(is_plain, value)) if type(value) is list else type(value) in WHOLE


def nested(levels, inside=1, wrap=lambda value: [value]):
    for _ in range(levels):
        inside = wrap(inside)
    return inside


# -- ordinary values ---------------------------------------------------------------------------


@given(ordinary)
def test_json_data_stays_as_it_is(value):
    """Equal, of the same types, in the same order."""
    assert repr(to_json_safe(value)) == repr(value)


@given(ordinary)
def test_json_data_survives_the_way_through_bytes(value):
    """Large integers too, which are not read as floats."""
    assert repr(from_json(to_json(value))) == repr(value)
    assert from_json(to_json(value, sort_keys=True)) == value
    assert json.loads(to_json(value)) == value


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Pair(NamedTuple):
    a: int
    b: int


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, True),
        (10**30, 10**30),
        (-(10**639), -(10**639)),
        (10**5000, hex(10**5000)),
        ({10**5000: 1}, {hex(10**5000): 1}),
        (-0.0, -0.0),
        (math.nan, None),
        (-math.inf, None),
        ("\ud800", "\ud800"),
        (numpy.float32(0.5), 0.5),
        (numpy.float64("nan"), None),
        (numpy.int64(5), 5),
        (numpy.bool_(True), True),
        (numpy.str_("x"), "x"),
        (numpy.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (numpy.array([math.inf]), [None]),
        ((1, (2,)), [1, [2]]),
        (Pair(1, 2), [1, 2]),
        ({"b", "a"}, ["a", "b"]),
        ({1: {None: 2}}, {"1": {"None": 2}}),
        ({(1, 2): 3}, {"(1, 2)": 3}),
        (Path("x"), "x"),
        (Colour.RED, "Colour.RED"),
        (Level.HIGH, 3),
        (b"x", "b'x'"),
        (collections.OrderedDict(a=1), {"a": 1}),
        (types.MappingProxyType({"a": (1,)}), {"a": [1]}),
        ("x" * 10**7, "x" * 10**7),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_become_plain_data(value, expected):
    """The table of conversions."""
    plain = to_json_safe(value)
    assert plain == expected
    assert is_plain(plain)
    assert json.dumps(plain, allow_nan=False) == json.dumps(expected)


def test_the_text_of_an_object_is_the_same_in_every_run():
    """It has no address in it."""
    assert "0x" not in to_json_safe(object())
    assert to_json_safe(lambda: None) == to_json_safe(lambda: None)


# -- values without end ------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [MAX_DEPTH, MAX_DEPTH + 1, 1_000, 100_000])
@pytest.mark.parametrize(
    "wrap", [lambda v: [v], lambda v: (v,), lambda v: {"k": v}, lambda v: collections.UserDict(k=v)]
)
def test_what_is_nested_deeply_is_cut_off(levels, wrap):
    """However it is nested."""
    plain = to_json_safe(nested(levels, wrap=wrap))
    assert depth(plain) == min(levels, MAX_DEPTH)
    assert (CUT in json.dumps(plain, ensure_ascii=False)) == (levels > MAX_DEPTH)


def test_what_contains_itself_is_cut_off_where_it_begins_again():
    """Once, and not once for each of its ways into itself, which would never end."""
    loop = {"name": "loop"}
    loop["self"] = [loop, loop, {"deeper": loop}]
    assert to_json_safe(loop) == {"name": "loop", "self": [CUT, CUT, {"deeper": CUT}]}


def test_what_stands_at_two_places_stands_at_both():
    """Only what is inside itself is cut off."""
    shared = [1]
    assert to_json_safe([shared, {"again": shared}]) == [[1], {"again": [1]}]


def on_an_exhausted_stack(function):
    """What a function gives where it is called at each of the last levels of the stack."""
    try:
        found = on_an_exhausted_stack(function)
    except RecursionError:
        found = []
    if len(found) < 150:
        found.append(function())
    return found


def test_an_exhausted_stack_is_no_error():
    """A value that cannot be looked into any more is named by its class."""
    value = nested(5, wrap=lambda v: [Pair(v, v)])
    found = on_an_exhausted_stack(lambda: json.dumps(to_json_safe(value)))
    assert any("<list>" in text for text in found)
    assert found[-1] == json.dumps(to_json_safe(value))


# -- hostile values ----------------------------------------------------------------------------


def raising(error):
    def method(*_args):
        raise error

    return method


def giving(value):
    return lambda *_args: value


METHODS = ("__str__", "__repr__", "__iter__", "__len__", "__hash__", "__getattr__", "items", "keys")
METHODS += ("tolist", "__fspath__", "__float__", "__int__", "__index__", "__bool__", "__getitem__")
METHODS += ("__eq__", "__format__", "__getattribute__", "values", "__contains__", "__reduce__")
OUTCOMES = {
    **{f"raises {error!r}": raising(error) for error in (ValueError(), RecursionError("no"))},
    **{f"raises {error!r}": raising(error) for error in (StopIteration(), AttributeError())},
    **{f"gives {value!r}": giving(value) for value in (None, 1, "x", b"x", [1], [(1, 2, 3)])},
    **{f"gives {value!r}": giving(value) for value in (math.nan, {1: 2}, [("k", 1)])},
    "gives a huge number": giving(10**5000),
    "gives itself": lambda self, *_: self,
}


class SomeMapping(Mapping):
    def __getitem__(self, key):
        return 1

    def __iter__(self):
        return iter("ab")

    def __len__(self):
        return 2


class SomePath(os.PathLike):
    def __fspath__(self):
        return "x"


CONTENT = {dict: {"k": 1}, list: [1], tuple: [1], str: "text", int: 7, float: 0.5}
BASES = (object, *CONTENT, set, bytes, SomeMapping, SomePath)


def hostile(base, methods, *, lies=False):
    """An object of a class whose methods do not do what they should."""
    body = {name: OUTCOMES[outcome] for name, outcome in methods.items()}
    if lies:
        body["__class__"] = property(raising(ValueError()))
    value = base.__new__(type("Hostile", (base,), body), *filter(None, [CONTENT.get(base)]))
    if base is list:
        list.append(value, 1)
    if base is dict:
        dict.__setitem__(value, "k", 1)
    return value


# What hypothesis draws are descriptions: it asks values for their text and their class.
described = st.tuples(
    st.sampled_from(BASES),
    st.dictionaries(st.sampled_from(METHODS), st.sampled_from(sorted(OUTCOMES)), max_size=6),
)


@given(described, described, st.booleans())
def test_no_object_can_make_it_fail(one, other, lies):
    """Whatever its methods raise or return; alone, in containers, and as a key."""
    holder = {"one": hostile(*one, lies=lies), "list": [(hostile(*other),)], "loop": []}
    holder["loop"].append(holder)
    with contextlib.suppress(Exception):  # not all can be keys
        holder[hostile(*other, lies=lies)] = 1
    plain = to_json_safe(holder)
    assert is_plain(plain)
    assert depth(plain) <= MAX_DEPTH
    json.dumps(plain, allow_nan=False)
    assert from_json(to_json(plain)) == plain


def test_a_value_that_changes_meanwhile_is_no_error():
    """As one that another thread is still filling."""
    growing = {}

    class Grows:
        def __str__(self):
            growing[len(growing)] = 1
            return "grows"

    growing["first"] = Grows()
    assert to_json_safe(growing) == "<dict>"


# -- bytes -------------------------------------------------------------------------------------

SELF = []
SELF.extend([SELF, SELF])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (nested(255), "nested more than 254 deep"),
        (nested(1_000), "nested more than 254 deep"),
        (nested(100_000, wrap=lambda v: {"k": v}), "nested more than 254 deep"),
        (SELF, "or in itself"),
        ([10**640], "an integer has more than 640 digits"),
        ({"a": -(10**5000)}, "an integer has more than 640 digits"),
        ({1: 2}, "a key is 1, not text"),
        ({10**5000: 2}, "a key is '0x"),
        ([object()], "a value is of type object"),
        ([b"x"], "a value is of type bytes"),
        ([{1, 2}], "a value is of type set"),
        ([numpy.int64(1)], "a value is of type int64"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.parametrize("write", [to_json, partial(to_json, sort_keys=True)])
def test_what_json_cannot_hold_is_a_type_error(write, value, reason):
    """And never another, whatever makes it impossible."""
    with pytest.raises(TypeError, match=reason):
        write(value)


@pytest.mark.parametrize("odd", [1, "\ud800", 2**70])
@pytest.mark.parametrize("write", [to_json, partial(to_json, sort_keys=True)])
def test_an_odd_value_makes_no_difference_to_what_is_around_it(write, odd):
    """NaN is null, and 254 levels are written, beside a lone surrogate as beside anything."""
    value = nested(252, inside=[math.nan, odd, "é"])
    assert from_json(write(value)) == nested(252, inside=[None, odd, "é"])
    with pytest.raises(TypeError):
        write([[value]])


def test_equal_content_has_equal_bytes_whatever_holds_it():
    """Subclasses are what they hold."""
    plain, odd = {"é": [1]}, collections.OrderedDict({"é": (1,)})
    assert to_json(plain, sort_keys=True) == to_json(odd, sort_keys=True) == '{"é":[1]}'.encode()


def test_an_exhausted_stack_is_a_type_error():
    """The one error that callers have to expect."""

    value = nested(30, inside="\ud800")

    def attempt():
        try:
            return to_json(value)
        except TypeError as error:
            return str(error)

    found = on_an_exhausted_stack(attempt)
    assert [text for text in found if "it cannot be read" in str(text)]
    assert found[-1] == to_json(value)


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000, b"", b"{", b"\xff", b" "])
def test_bytes_that_are_no_json_are_a_value_error(data):
    """Also those that are nested without end, which an endpoint may send."""
    with pytest.raises(ValueError, match=r".+"):
        from_json(data)


def test_integers_are_read_whatever_python_is_set_to_read():
    """640 digits are the fewest a limit can be."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        value = [10**640 - 1, to_json_safe(10**640)]
        assert from_json(to_json(value)) == value
    finally:
        sys.set_int_max_str_digits(before)
