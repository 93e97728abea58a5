"""Version specifiers, held against the packaging library."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from cbcore.plugins.installed import satisfies

small = st.integers(0, 2)
releases = st.lists(small, min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
pre = st.sampled_from(["", "", "", "a1", "a2", "b1", "rc1", ".dev1"])
versions = st.builds(str.__add__, releases, pre)
clauses = st.one_of(
    st.builds("{}{}{}".format, st.sampled_from(["==", "!=", ">=", "<=", ">", "<"]), releases, pre),
    st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), releases),
    st.builds("~={}.{}{}".format, small, releases, pre),
)


@pytest.mark.parametrize(
    ("version", "specifier", "expected"),
    [
        ("0.1.0", "", True),
        ("0.1.0", ">=0.1,<0.2", True),
        ("0.2.0", ">=0.1,<0.2", False),
        ("0.1", "==0.1.0", True),
        ("0.10", ">0.9", True),
        ("0.1.5", "~=0.1.0", True),
        ("0.2.0", "~=0.1.0", False),
        ("0.9", "~=0.1", True),
        ("1.0", "~=0.1", False),
        ("1.0.7", "==1.0.*", True),
        ("1.5", "==1.0.*", False),
        ("1.5", "!=1.0.*", True),
        ("0.2.0a1", "<0.2", False),
        ("0.2.0a1", "<0.2.0b1", True),
        ("0.2.0a1", ">=0.2", False),
        ("0.2.0.dev3", "<0.2", False),
        ("0.1.0", "===0.1.0", True),
        ("0.1.0", "===0.1", False),
        ("0.1.0", " >= 0.1 , < 0.2 ", True),
        ("v1.0", ">=1.0", True),
    ],
)
def test_a_version_meets_every_clause_or_does_not(version, specifier, expected):
    """The table of operators."""
    assert satisfies(version, specifier) is expected


@settings(max_examples=300)
@given(versions, st.lists(clauses, max_size=3).map(",".join))
def test_the_answer_is_that_of_the_packaging_library(version, specifier):
    """For every operator, release and kind of pre-release."""
    assert satisfies(version, specifier) is SpecifierSet(specifier).contains(
        version, prereleases=True
    )


@pytest.mark.parametrize(
    "specifier",
    [
        ">=banana",
        ">=0.1,<banana",
        "==0.1.banana",
        ">=0.1,banana",
        ">=0.1 <0.2",
        "==x.*",
        "<",
        "0.1",
    ],
)
def test_a_clause_that_cannot_be_read_is_met_by_no_version(specifier):
    """What the packaging library refuses to read is no permission."""
    with pytest.raises(InvalidSpecifier):
        SpecifierSet(specifier)
    assert satisfies("0.1.0", specifier) is False


@pytest.mark.parametrize("specifier", ["==0.1+local.1", ">=0.1,", "===0.1.0"])
def test_rarer_forms_can_be_read(specifier):
    """A local version, a comma at the end, and any text behind three equal signs."""
    version = specifier.strip("=>,")
    assert SpecifierSet(specifier).contains(version)
    assert satisfies(version, specifier)


@given(st.text(max_size=10), st.text(max_size=10))
def test_no_text_makes_the_check_fail(version, specifier):
    """What cannot be read is compared as best it can; a plugin's metadata never stops `cb`."""
    assert satisfies(version, f">={specifier}") in (True, False)
