"""Reading signatures and attributes, of every kind of class a plugin may bring."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal

import attrs
import pytest

from cbcore.introspection import (
    attributes_without,
    format_type,
    parameters_of,
    public_attributes,
    signature_of,
    type_path,
)


class Plain:
    shared = "class attribute"

    def __init__(self, a: int, b: str | None = None) -> None:
        self.a, self.b, self._private = a, b, 1

    @property
    def computed(self) -> int:
        raise AssertionError("a property is not data")


class Slotted:
    __slots__ = ("_private", "a", "unset")

    def __init__(self) -> None:
        self.a, self._private = 1, 2


class OneSlot(Slotted):
    __slots__ = "b"  # noqa: PLC0205 - legal, and met in the wild

    def __init__(self) -> None:
        super().__init__()
        self.b = 3


@attrs.frozen
class Attrs:
    a: int = 1
    _private: int = 2


def unresolvable(a: NotDefinedAnywhere, b: int = 1) -> None: ...  # noqa: F821


def nonsense(a: "text" | None, b: int = 1) -> None: ...  # noqa: F821, UP037


def every_kind(pos: int, /, both: str, *rest: int, only: bool = False, **options: Any) -> None: ...


def typed(
    a, b: list[int], c: int | None, d: Literal["x"], e: Callable[..., Any], f: Sequence[str]
) -> None: ...


def test_annotations_are_resolved():
    """Signatures show types, also where annotations are postponed."""
    assert [p.annotation for p in signature_of(Plain).parameters.values()] == [int, str | None]


@pytest.mark.parametrize("target", [unresolvable, nonsense])
def test_an_annotation_that_cannot_be_resolved_costs_nothing_else(target):
    """The names and defaults of the parameters are still known."""
    assert [p.name for p in parameters_of(target)] == ["a", "b"]
    assert parameters_of(target)[1].default == 1


@pytest.mark.parametrize("target", [min, str, 5])
def test_a_signature_that_cannot_be_read_takes_anything(target):
    """Some builtins have none."""
    assert str(signature_of(target)) == "(*config, **params)"
    assert parameters_of(target) == []


def test_a_class_without_a_constructor_has_the_signature_of_its_base():
    plain = type("Plain", (), {})
    assert signature_of(type("Inheriting", (plain,), {})) == signature_of(plain)


def test_a_class_may_say_its_signature_itself():
    """In an attribute, as the library has it."""
    said = inspect.signature(lambda a: a)
    assert signature_of(type("Saying", (), {"__signature__": said})) == said


def test_collecting_parameters_are_left_out():
    """`*rest` and `**options` cannot be given by name."""
    assert [p.name for p in parameters_of(every_kind)] == ["pos", "both", "only"]


def test_types_read_as_they_are_written():
    """Without the names of the modules they come from."""
    assert [format_type(p.annotation) for p in parameters_of(typed)] == [
        "any",
        "list[int]",
        "int | None",
        "Literal['x']",
        "Callable[..., Any]",
        "Sequence[str]",
    ]


def test_a_partial_shows_what_is_left_to_give():
    """Factories made with `functools.partial` are described like functions."""
    assert [p.name for p in parameters_of(functools.partial(Plain, 1))] == ["b"]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (Plain(1, "x"), {"a": 1, "b": "x"}),
        (Slotted(), {"a": 1}),
        (OneSlot(), {"a": 1, "b": 3}),
        (Attrs(), {"a": 1}),
        (object(), {}),
        (5, {}),
    ],
)
def test_public_attributes_are_the_data_an_instance_holds(obj, expected):
    """In `__dict__` or in slots; private ones, properties and unset slots are left out."""
    assert public_attributes(obj) == expected


def test_a_class_is_named_with_its_module():
    """Nested classes by their qualified name."""
    assert type_path(Plain(1)) == f"{__name__}.Plain"
    assert type_path(5) == "builtins.int"


class Labeled:
    identity = attributes_without("name")

    def __init__(self, size: int = 1, mode: str = "fast", *, name: str = "labeled") -> None:
        self._size, self.mode, self.name = size, mode, name
        self._mode = object()  # made of what is public
        self._calls: list[int] = []
        self.digest = "abc"


class Derived(Labeled):
    def __init__(self, mode: str) -> None:
        super().__init__(2)
        self._is_fast = mode == "fast"


def test_attributes_without_labels_have_every_parameter() -> None:
    """Those that are kept in private, too. A subclass may keep more, and says so itself."""
    assert Labeled(name="other").identity == {"_size": 1, "mode": "fast", "digest": "abc"}
    assert Derived("fast").identity is None
