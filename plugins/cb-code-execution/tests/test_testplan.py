"""What tests do by themselves, seen without running them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_code_execution.testplan import planned

CHECK = "def check(candidate):\n    assert candidate(1) == 1\n"


@pytest.mark.parametrize(
    "tests",
    [
        "assert f() == 1",
        "import math\n\nassert f() == math.inf",
        f"METADATA = {{}}\n{CHECK}check(f)",
        "for x in range(3):\n    f(x)",
        "def test_one():\n    assert f() == 1\n\ntest_one()",
        "def test_one():\n    assert f() == 1\ndef main():\n    test_one()\nif __name__ == '__main__':\n    main()",
        "from solution import f\nf()",
        "globals()['f']()",
        "def other(f):\n    pass\n\nf()",
        "raise AssertionError",
        "class Node:\n    def __init__(self):\n        self.next = None\n\nassert f(Node())",
        "assert (" + "+".join(["1"] * 5000) + ") == f()",
        "this is no Python",
        "\0",
    ],
)
def test_tests_that_do_it_all_themselves_need_no_plan(tests):
    """Nothing is left to be called; so it is with what cannot be read here."""
    assert planned(tests, "f") is None


@pytest.mark.parametrize(
    ("tests", "acts", "called"),
    [
        ("# nothing", False, ()),
        ("import random\nrandom.seed(0)\nprint('x')\nLIMIT = 3", False, ()),
        ("def helper():\n    assert False", False, ()),
        (CHECK, False, ()),
        ("def test_one():\n    assert f() == 1", False, ()),
        ("def test_one():\n    assert f() == 1\ndef main():\n    test_one()", False, ()),
        ("def test_one():\n    pass\ndef test_two():\n    pass\ntest_two()", True, ("test_two",)),
        (
            "def test_one(g):\n    assert g\n" + CHECK.replace("== 1", "is test_one(1)"),
            False,
            ("test_one",),
        ),
        ("class Base: pass\nclass TestIt(Base):\n    def test_one(self): pass", False, ()),
        ("import unittest\nunittest.main()", False, ()),
    ],
)
def test_what_is_left_to_be_called_is_told(tests, acts, called):
    """Definitions that nothing reaches, and whether anything else is asserted or used."""
    plan = planned(tests, "f")
    assert plan is not None
    assert (plan.acts, plan.called) == (acts, called)


@given(st.text(max_size=200))
def test_any_text_has_a_plan_or_none(tests):
    """Odd tests are found out when they are run, never by an exception here."""
    plan = planned(tests)
    assert plan is None or plan.entry_point is None
