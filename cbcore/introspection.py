"""Reading what an object is made of: constructor parameters and the values they hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from cbcore import records
from cbcore.boundary import contained

__all__ = ("attributes_without", "signature_of")


class Parameter(NamedTuple):
    """One parameter of a component's factory."""

    name: str
    type: str
    required: bool
    default: Any = None


def signature_of(target: Callable[..., Any]) -> inspect.Signature | None:
    """The call signature with annotations resolved where possible; None for some builtins."""
    with contained():  # an annotation that cannot be evaluated is the plugin's own business
        return inspect.signature(target, eval_str=True)
    try:
        return inspect.signature(target)
    except (ValueError, TypeError):
        return None


def parameters_of(target: Callable[..., Any]) -> list[Parameter]:
    """The keyword parameters of a factory, in order."""
    signature = signature_of(target)
    parameters = signature.parameters.values() if signature is not None else ()
    return [
        Parameter(
            name=p.name,
            type=_format_type(p.annotation),
            required=p.default is p.empty,
            default=None if p.default is p.empty else p.default,
        )
        for p in parameters
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]


def _format_type(annotation: Any) -> str:
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
    return records.flatten_records(obj, shown)


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
        flat = records.flatten_records(obj, shown)
        return {name: value for name, value in flat.items() if name not in self._labels}


def type_path(obj: object) -> str:
    """`module.QualifiedName` of an object's class."""
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


def function_name(function: Callable[..., Any]) -> str:
    """`module:name` of a function, as results record it."""
    module = getattr(function, "__module__", None) or type(function).__module__
    return f"{module}:{getattr(function, '__qualname__', type(function).__qualname__)}"
