"""Reading what an object is made of: constructor parameters and the values they hold."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from cbcore import records
from cbcore.boundary import contained

__all__ = ("parameters_of", "public_attributes", "signature_of")


class Parameter(NamedTuple):
    """One parameter of a component's factory."""

    name: str
    type: str
    required: bool
    default: Any = None


def signature_of(target: Callable[..., Any]) -> inspect.Signature | None:
    """The call signature with annotations resolved where possible; None for some builtins."""
    try:
        hash(target)
    except TypeError:
        return _read_signature.__wrapped__(target)
    return _read_signature(target)


# Bounded, so that classes that somebody makes by the thousand can go.
@functools.lru_cache(maxsize=256)
def _read_signature(target: Callable[..., Any]) -> inspect.Signature | None:
    with contained():  # an annotation that cannot be evaluated is the plugin's own business
        return inspect.signature(target, eval_str=True)
    try:
        return inspect.signature(target)
    except (ValueError, TypeError):
        return None


def parameters_of(target: Callable[..., Any]) -> list[Parameter]:
    """What a factory can be given by keyword, in order."""
    signature = signature_of(target)
    if signature is None:
        return []
    found = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        required = parameter.default is parameter.empty
        found.append(
            Parameter(
                name=parameter.name,
                type=_type_text(parameter.annotation),
                required=required,
                default=None if required else parameter.default,
            )
        )
    return found


def _type_text(annotation: Any) -> str:
    annotation = _unmarked(annotation)
    if annotation is inspect.Parameter.empty:
        return "any"
    if isinstance(annotation, type) and not getattr(annotation, "__args__", None):
        return annotation.__name__
    return str(annotation).replace("typing.", "").replace("collections.abc.", "")


def _unmarked(annotation: Any) -> Any:
    """The type itself, where an annotation says more: what is said is not for readers."""
    return annotation.__origin__ if hasattr(annotation, "__metadata__") else annotation


def public_attributes(obj: object) -> dict[str, Any]:
    """The public data attributes of an instance, whether kept in `__dict__` or in slots.

    In the place of a record that the constructor takes by field stand its fields.
    """
    shown = {k: v for k, v in instance_attributes(obj).items() if not k.startswith("_")}
    return records.flattened(obj, shown)


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


def type_path(obj: object) -> str:
    """`module.QualifiedName` of an object's class."""
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


def function_name(function: Callable[..., Any]) -> str:
    """`module:name` of a function, as results record it."""
    module = getattr(function, "__module__", None) or type(function).__module__
    return f"{module}:{getattr(function, '__qualname__', type(function).__qualname__)}"
