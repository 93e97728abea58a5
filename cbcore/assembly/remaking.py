"""Metrics built again from the record in a result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cbcore import binding
from cbcore.assembly.builder import Builder
from cbcore.components import Component
from cbcore.exceptions import CBError, ParameterError, ResultError
from cbcore.specs import Spec

__all__ = ()

_HINT = "set them by hand: result.metrics = […]"
_CODE_OR_PLACE = re.compile(
    r"^py:|(^|:)[/\\]|(^|[:/\\])(~|\.\.)|[^:]:[^\W\d][\w.]*\Z", re.IGNORECASE
)
"""Own code, an address, a path that is not relative, or a function in a module."""


def check_untrusted(component: str, name: str, value: Any, annotation: Any) -> None:
    """Refuse a value in an untrusted result that names a program, an address, a key or a file.

    A `Check` of `cbcore.binding`.
    """
    parts = binding.parts_of(annotation)
    is_guarded = binding.is_for_the_user(name, annotation) or Path in parts
    is_guarded |= binding.NAMES_A_FILE in parts or (Callable in parts and str not in parts)
    if value is not None and (is_guarded or any(map(_CODE_OR_PLACE.search, _texts(value)))):
        reason = f"only the user may set {name!r} to {value!r:.80}"
        raise ParameterError(component, reason, hint="--trust allows it")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)
    else:
        yield str(value)


def remake_metric(builder: Builder, record: Mapping[str, Any]) -> Any:
    """A metric as it is recorded, made by the plugin that is installed, or a `ResultError`."""
    name = record.get("name")
    plugin = record.get("plugin")
    if plugin == "python":
        raise ResultError(
            f"the metric {name!r} of this result is code of whoever ran it", hint=_HINT
        )
    try:
        component = _component(builder, record)
        if component is None:
            raise ResultError(
                f"the metric {name!r} of this result comes from {plugin}, which does not offer "
                "it here",
                hint=f"install {plugin}, or {_HINT}",
            )
        spec = Spec(component.qualified_name, params=dict(record.get("params") or {}))
        return builder.build("metric", spec).value
    except ResultError:
        raise
    except CBError as error:
        raise ResultError(
            f"the metric {name!r} of this result cannot be made again: {error.message}", hint=_HINT
        ) from error


def _component(builder: Builder, record: Mapping[str, Any]) -> Component | None:
    """The component that a record is of: by its name, or by its class where it was an object."""
    offered = [c for c in builder.catalog.components("metric") if c.plugin == record.get("plugin")]
    wanted = record.get("component")
    for component in offered:
        if component.name == wanted:
            return component
    for component in offered:
        target = component.load()
        if f"{target.__module__}.{getattr(target, '__qualname__', '')}" == wanted:
            return component
    return None
