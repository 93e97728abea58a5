"""Reading what an object is made of: constructor parameters and the values they hold."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from cbcore.boundary import contained

__all__ = ("attributes_without", "signature_of")

_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_ANYTHING = inspect.Signature(
    [
        inspect.Parameter(name, kind)
        for name, kind in zip(("config", "params"), _VARIABLE, strict=True)
    ]
)


def signature_of(target: Callable[..., Any]) -> inspect.Signature:
    """The call signature with annotations resolved where possible.

    If there is none, as for some builtins, it is `(*config, **params)`.
    """
    for resolve in (True, False):  # an annotation that cannot be evaluated stays a text
        with contained():
            return inspect.signature(target, eval_str=resolve)
    return _ANYTHING


def parameters_of(target: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a factory, in order, without `*args` and `**kwargs`."""
    return [p for p in signature_of(target).parameters.values() if p.kind not in _VARIABLE]


def format_type(annotation: Any) -> str:
    """A type as `cb info` shows it, without marks and modules."""
    if hasattr(annotation, "__metadata__"):  # `Annotated`: the notes are not for readers
        annotation = annotation.__origin__
    if annotation is inspect.Parameter.empty:
        return "any"
    if isinstance(annotation, type) and not getattr(annotation, "__args__", None):
        return annotation.__name__
    return str(annotation).replace("typing.", "").replace("collections.abc.", "")


def public_attributes(obj: object) -> dict[str, Any]:
    """The public data attributes of an instance, whether kept in `__dict__` or in slots.

    In the place of a record that the constructor takes by field stand its fields.
    """
    shown = {k: v for k, v in instance_attributes(obj).items() if not k.startswith("_")}
    return flatten_records(obj, shown)


def instance_attributes(obj: object) -> dict[str, Any]:
    """All data attributes of an instance, private ones too, kept in `__dict__` or in slots."""
    found: dict[str, Any] = {}
    for cls in reversed(type(obj).__mro__):
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot in ("__dict__", "__weakref__"):
                continue
            if slot.startswith("__") and not slot.endswith("__"):
                slot = f"_{cls.__name__.lstrip('_')}{slot}"  # noqa: PLW2901 - as Python has it
            if hasattr(obj, slot):
                found[slot] = getattr(obj, slot)
    found.update(getattr(obj, "__dict__", {}))
    return found


def flatten_records(obj: object, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """An object's attributes with the fields of its records in the place of the records."""
    names = {
        name
        for cls in type(obj).__mro__
        for name in getattr(vars(cls).get("__init__"), "__records__", ())
    }
    flat: dict[str, Any] = {}
    for name, value in attributes.items():
        if name in names and is_record(value):
            flat.update((f.alias, leaf) for f, leaf in walk_record(value) if not is_record(leaf))
        else:
            flat[name] = value
    return flat


def is_record(value: Any) -> bool:
    """Whether a value is an instance of an attrs class."""
    return not isinstance(value, type) and attrs.has(type(value))


def walk_record(record: Any) -> Iterator[tuple[Any, Any]]:
    """The fields of a record and of the records in it, with their values."""
    for field in record_fields(type(record)):
        value = getattr(record, field.name)
        yield field, value
        if is_record(value):
            yield from walk_record(value)


def record_fields(record_type: type) -> list[Any]:
    """The fields of an attrs class that its constructor takes, with their types resolved."""
    with contextlib.suppress(NameError):  # a name that only type checkers see
        attrs.resolve_types(record_type, include_extras=True)
    return [field for field in attrs.fields(record_type) if field.init]


class attributes_without:  # noqa: N801 - it is used as a decorator would be
    """An `identity` for a class: its parameters and public attributes without these labels.

    Labels change nothing of what an object returns, such as its name. A subclass may have
    parameters of its own, so it does not inherit the identity.
    """

    def __init__(self, *labels: str) -> None:
        self._labels = labels
        self._owner: type | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner

    def __get__(self, obj: object, owner: type) -> Any:
        if obj is None or type(obj) is not self._owner:
            return None
        attributes = instance_attributes(obj)
        parameters = {parameter.name for parameter in parameters_of(owner)} - set(attributes)
        shown = {
            name: value
            for name, value in attributes.items()
            if not name.startswith("_") or name[1:] in parameters
        }
        flat = flatten_records(obj, shown)
        return {name: value for name, value in flat.items() if name not in self._labels}


def type_path(obj: object) -> str:
    """`module.QualifiedName` of an object's class."""
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


def function_name(function: Callable[..., Any]) -> str:
    """`module:name` of a function, as results record it."""
    module = getattr(function, "__module__", None) or type(function).__module__
    return f"{module}:{getattr(function, '__qualname__', type(function).__qualname__)}"
