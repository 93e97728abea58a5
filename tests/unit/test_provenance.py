"""What a result records of its components: complete, stable, and without secrets."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cbcore.chains import Chain, Renamed
from cbcore.components import Component, Owner
from cbcore.provenance import describe, describe_chain, digest, parameters
from cbcore.secrets import Secret

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


class Keeping:
    """Keeps its parameters publicly, and something else beside them."""

    def __init__(self, max_tokens=5, api_key=None, name="keeping"):
        self.max_tokens, self.api_key, self.name = max_tokens, api_key, name
        self.calls = 0


class Private:
    def __init__(self, max_tokens=5, api_key=None):
        self._max_tokens, self._api_key, self._cache = max_tokens, api_key, {}


class Silent:
    def __init__(self, *args, **options):
        self.public = "x"
        self._hidden = "y"


class Url:
    def __str__(self):
        return "https://me:hunter2@host"


def test_a_users_own_object_is_described_by_its_class():
    """Nothing installed made it, so there is no version to tell."""
    described = describe(Keeping(7), name="mine")
    assert described.pop("digest")
    assert described == {
        "name": "mine",
        "component": f"{__name__}.Keeping",
        "plugin": "python",
        "version": None,
        "params": {"api_key": None, "max_tokens": 7},
    }


def test_a_plugins_component_is_described_by_its_owner():
    """A number can be traced to the distribution and version that made it."""
    component = Component(
        kind="system", name="keeping", target=Keeping, owner=Owner("cb-x", "1.2.3")
    )
    described = describe(Keeping(), name="k", component=component)
    assert (described["component"], described["plugin"], described["version"]) == (
        "keeping",
        "cb-x",
        "1.2.3",
    )


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (Keeping(7), {"api_key": None, "max_tokens": 7}),
        (Private(7), {"api_key": None, "max_tokens": 7}),
        (Silent(), {"public": "x"}),
        (5, {}),
    ],
)
def test_parameters_are_the_values_an_object_keeps_of_them(obj, expected):
    """Publicly or with an underscore; where it keeps none, what it shows."""
    assert parameters(obj, {}) == expected


def test_given_arguments_are_recorded_although_the_object_does_not_show_them():
    """What the object shows of them wins, as it may have corrected them."""
    assert parameters(Silent(), {"k": 5})["k"] == 5
    assert parameters(Keeping(7), {"max_tokens": "7"})["max_tokens"] == 7


def test_a_name_is_no_parameter():
    """Two names for one thing are one thing."""
    assert "name" not in parameters(Keeping(name="x"), {"name": "y"})
    assert describe(Keeping(), name="a")["digest"] == describe(Keeping(), name="b")["digest"]


@pytest.mark.parametrize("kind", [Keeping, Private])
@pytest.mark.parametrize(
    "secret", ["hunter2", Secret("hunter2", "${KEY}"), ["hunter2"], {"pin": "hunter2"}, b"hunter2"]
)
def test_no_secret_is_recorded(kind, secret):
    """However the object keeps it."""
    assert "hunter2" not in json.dumps(describe(kind(api_key=secret), name="x"))


def test_the_source_of_a_secret_is_recorded():
    """Where it came from explains the run; its value does not."""
    described = describe(Keeping(api_key=Secret("hunter2", "${KEY}")), name="x")
    assert described["params"]["api_key"] == "${KEY}"


def test_a_login_inside_an_object_is_redacted():
    """Objects are recorded as text, and that text is searched like any other."""
    assert parameters(Keeping(Url()), {})["max_tokens"] == "https://me:***@host"


def test_a_renamed_system_is_described_as_itself():
    """With its new name."""
    renamed = describe(Renamed(Keeping(7), "other"), name="other")
    assert renamed == {**describe(Keeping(7), name="x"), "name": "other"}


def test_the_digest_changes_with_any_parameter():
    """Different parameters are different components."""
    digests = {describe(Keeping(n), name="x")["digest"] for n in range(5)}
    digests |= {describe(Private(n), name="x")["digest"] for n in range(5)}
    assert len(digests) == 10


def test_a_chain_is_described_by_its_stages():
    """And its digest depends on them and their order."""
    one, two = describe(Keeping(1), name="a"), describe(Keeping(2), name="b")
    described = describe_chain(Chain([Keeping(1), Keeping(2)], "c"), [one, two])
    assert (described["name"], described["stages"]) == ("c", [one, two])
    backwards = describe_chain(Chain([Keeping(2), Keeping(1)], "c"), [two, one])
    assert described["digest"] != backwards["digest"]


@settings(suppress_health_check=[HealthCheck.too_slow])  # a busy machine is not a defect
@given(st.dictionaries(st.text(max_size=4), plain, max_size=3))
def test_the_digest_does_not_depend_on_the_order_of_keys(data):
    """The same parameters, written in another order, are the same."""
    assert digest(data) == digest(dict(reversed(list(data.items()))))


@given(plain)
def test_what_is_recorded_is_plain_json(value):
    """Whatever a parameter holds."""
    json.dumps(describe(Keeping(value), name="x"), allow_nan=False)


def test_the_digest_of_an_object_is_the_same_in_another_process():
    """A parameter that is an object or a function is not recorded with its address in memory."""
    code = (
        "from cbcore.provenance import digest\n"
        "class Client: pass\n"
        "def function(): pass\n"
        "kept = [object() for _ in range({n})]\n"
        "print(digest([Client(), function, frozenset('abc')]))\n"
    )
    run = functools.partial(subprocess.run, capture_output=True, text=True, check=True)
    printed = {run([sys.executable, "-c", code.format(n=n)]).stdout for n in (0, 5000)}
    assert len(printed) == 1
