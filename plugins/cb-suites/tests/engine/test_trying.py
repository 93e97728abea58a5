"""Functions that exist only once their module has run: not checked, or tried in a child process."""

from __future__ import annotations

import pytest

from cb_suites.engine.trying import load_failures
from cb_suites.engine.validation import validate

MADE = "globals().update({f'make_{x}': print for x in ('a', 'b')})\n"


@pytest.fixture
def report(suites):
    """What validating a task finds that names a function of this module."""

    def check(code, name="utils.make_a"):
        suites.write("utils.py", code)
        suites.write("t.yaml", f"task: t\ndataset: qa\nprocess_docs: !function {name}\n")
        return validate([suites.root], suites.manager())

    return check


def errors(found):
    return [f.message for f in found.findings if f.level == "error" and "utils" in f.message]


def test_names_that_a_module_makes_are_not_checked(report):
    """They are counted as such, and are no error."""
    found = report(MADE)
    assert (errors(found), found.n_unchecked) == ([], 1)


def test_names_that_a_plain_module_lacks_are_errors(report):
    """Nothing in it could make them."""
    found = report("def other(docs): ...\n")
    assert "has no 'make_a'" in errors(found)[0]
    assert found.n_unchecked == 0


def test_trying_tells_what_really_is_there(report):
    """The one name is made, the other is not."""
    assert load_failures(report(MADE).unchecked()) == {}
    (reason,) = load_failures(report(MADE, "utils.make_c").unchecked()).values()
    assert "has no 'make_c'" in reason


def test_a_module_that_ends_its_process_ends_nothing_else(report):
    """What was not reached is told."""
    found = report(MADE + "import os\nos._exit(3)\n")
    (reason,) = load_failures(found.unchecked()).values()
    assert "ended with 3" in reason


def test_validating_the_same_files_again_finds_the_same(report, suites):
    """From memory; and a changed file anew."""
    first, second = report(MADE), validate([suites.root], suites.manager())
    assert (first.findings, first.n_unchecked) == (second.findings, second.n_unchecked)
    assert "has no" in errors(report("x = 1\n"))[0]
