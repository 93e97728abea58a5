"""Components by name: the registry of `cb`, called as in context-bench.

What is registered here can be named in `cb` too, and what plugins offer can be loaded here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from cbcore.exceptions import DuplicateNameError, UnknownComponentError, UsageError
from cbcore.names import canonical, near_matches
from cbcore.registry import load_dataset as load_installed_dataset
from cbcore.registry import registry as cb_registry


class UnknownNameError(UnknownComponentError, KeyError):
    """Nothing registered and nothing installed has this name."""

    @classmethod
    def of(cls, error: UnknownComponentError) -> UnknownNameError:
        """The same error, for programs that catch KeyError."""
        return cls(error.kind, error.name, error.near, hint=error.hint)


@attrs.frozen
class _Ready:
    """An object that was registered as it is: `cb` makes components by a call."""

    value: Any

    def __call__(self) -> Any:
        return self.value


class Registry:
    """Objects by kind and name."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, Any]] = {}

    def register(self, kind: str, name: str, obj: Any) -> None:
        """Make an object available under a name. The last one counts."""
        self._objects.setdefault(kind, {})[name] = obj

    def get(self, kind: str, name: str) -> Any:
        """What was registered."""
        known = self._objects.get(kind, {})
        if name not in known:
            raise UnknownNameError(kind, name, near_matches(name, known))
        return known[name]

    def list(self, kind: str) -> list[str]:
        """The names of a kind, sorted."""
        return sorted(self._objects.get(kind, {}))


class _ProcessRegistry(Registry):
    """The registry of `cb`: names of this process on top of those that plugins offer."""

    def register(self, kind: str, name: str, obj: Any) -> None:
        """Make an object, or what makes it, available under a name. The last one counts."""
        target = obj if callable(obj) else _Ready(obj)
        cb_registry.register(kind, name, target, replace=True)

    def get(self, kind: str, name: str) -> Any:
        """What was registered, or the class or function that a plugin offers."""
        for component in cb_registry.list_registered(kind):
            if canonical(component.name) == canonical(name):
                target = component.target
                return target.value if isinstance(target, _Ready) else target
        try:
            return cb_registry.get(kind, name).load()
        except UnknownComponentError as error:
            raise UnknownNameError.of(error) from error

    def list(self, kind: str) -> list[str]:
        """All names of a kind, registered and installed, sorted."""
        try:
            return cb_registry.list(kind)
        except UsageError:  # no such kind, of which there is nothing
            return []


registry: Registry = _ProcessRegistry()
"""The registry of this process."""


def register_dataset(name: str, loader: Callable[..., Any]) -> None:
    """Register a function that returns examples."""
    registry.register("dataset", name, loader)


def load_dataset(name: str, **parameters: Any) -> Any:
    """The examples of a dataset; keyword arguments go to its loader."""
    try:
        return load_installed_dataset(name, **parameters)
    except DuplicateNameError:  # here, what a program registers goes before what is installed
        return registry.get("dataset", name)(**parameters)
    except UnknownComponentError as error:
        raise UnknownNameError.of(error) from error


def register_metric(name: str, metric: Any) -> None:
    """Register a metric."""
    registry.register("metric", name, metric)


def get_metric(name: str) -> Any:
    """The metric that was registered, or the class that a plugin offers."""
    return registry.get("metric", name)
