"""Components under test: made with what was given, varied by what can be guessed."""

from __future__ import annotations

import enum
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_testing.cases import Case, other_values
from cbcore.components import KINDS
from tests.components import component


class Mode(enum.Enum):
    FAST = 1
    GOOD = 2


@given(st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text())
def test_another_value_is_always_another(value):
    """Else a component would be blamed for treating equal values alike."""
    others = other_values(value, type(value))
    assert others
    assert all(other != value and type(other) is type(value) for other in others)


@pytest.mark.parametrize(
    ("value", "annotation", "others"),
    [
        ("head", Literal["head", "tail"], ["tail"]),
        (None, Literal["a"] | None, ["a"]),
        (Mode.FAST, Mode, [Mode.GOOD]),
        (None, int | None, [7]),
        (None, str | None, ["other"]),
        (None, "Unresolved", []),
        ([], list[str], []),
    ],
)
def test_other_values_come_from_the_annotation_where_the_value_tells_nothing(
    value, annotation, others
):
    """Choices that are listed are the only ones tried."""
    assert other_values(value, annotation) == others


class Picky:
    """Refuses most values."""

    def __init__(self, share: float = 1.0, api_key: str = "", *, name: str = "p") -> None:
        if not 0 <= share <= 1:
            raise ValueError("share lies between 0 and 1")
        self.share = share


def test_values_that_are_refused_are_passed_over():
    """The name and secrets change no result, and are not varied."""
    varied = dict(Case(component("system", Picky), {}, KINDS["system"]).variations())
    assert list(varied) == ["share"]
    assert varied["share"].share == 0.5


def test_a_parameter_whose_other_values_are_all_refused_is_told():
    """It is left to the author to give one."""
    case = Case(component("system", Picky), {"variants": {"share": 3.0}}, KINDS["system"])
    assert dict(case.variations()) == {"share": None}
