"""Components by name from Python: register your own, load what is registered or installed.

from cbcore.registry import load_dataset, register_dataset

register_dataset("my-data", my_loader)
dataset = load_dataset("my-data", n=100)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from cbcore import binding, components, names
from cbcore.components import Component
from cbcore.exceptions import UnknownComponentError, UsageError
from cbcore.introspection import signature_of
from cbcore.plugins import default_catalog
from cbcore.specs import Spec

__all__ = ("load_dataset", "register_dataset", "registry")


def _kind(word: str) -> str:
    return default_catalog().kind_of(word)


class Registry:
    """Components that a program registers by hand; a catalog finds them like those of plugins.

    A name is never overwritten silently: registering it for another target is an error, and so is
    asking for a name that a plugin offers, too.
    """

    def register(
        self, kind: str, name: str, target: Callable[..., Any], *, replace: bool = False
    ) -> None:
        """Make `target` available under a name, here and on the command line (`--import`)."""
        kind = _kind(kind)
        key = kind, names.canonical(name)
        known = components.registered.get(key)
        if not callable(target):
            raise UsageError(f"cannot register {target!r} as {kind}: it cannot be called")
        if known is not None and known.target is not target and not replace:
            raise UsageError(
                f"the {kind} {name!r} is already registered: {known.target!r}",
                hint="choose another name, or pass replace=True",
            )
        try:
            component = Component(kind=kind, name=name, target=target)
        except ValueError as error:
            raise UsageError(str(error)) from error
        components.registered[key] = component

    def unregister(self, kind: str, name: str) -> None:
        """Forget a registered name."""
        kind = _kind(kind)
        if components.registered.pop((kind, names.canonical(name)), None) is None:
            raise UnknownComponentError(kind, name)

    def get(self, kind: str, name: str) -> Component:
        """The component of that name, registered or installed."""
        return default_catalog().find(_kind(kind), name)

    def list(self, kind: str) -> list[str]:
        """All names of a kind, registered and installed, sorted."""
        return sorted({c.name for c in default_catalog().components(_kind(kind))})

    def list_registered(self, kind: str | None = None) -> tuple[Component, ...]:
        """Components that were registered by hand, in order."""
        found = tuple(components.registered.values())
        if kind is None:
            return found
        kind = _kind(kind)
        return tuple(component for component in found if component.kind == kind)


class First:
    """The first `n` examples of a dataset, as often as the dataset can be iterated."""

    def __init__(self, examples: Iterable[Any], n: int) -> None:
        self.examples = examples
        self.n = n

    def __iter__(self) -> Iterator[Any]:
        return islice(iter(self.examples), self.n)


registry = Registry()
"""The registry of this process."""


def register_dataset(name: str, loader: Callable[..., Any]) -> None:
    """Make a function that returns examples available as a dataset."""
    registry.register("dataset", name, loader)


def load_dataset(name: str, **parameters: Any) -> Any:
    """Load a dataset by name or spec string; keyword arguments go to its loader.

    `n` goes to a loader that takes it, as all keyword arguments do, and limits any dataset.
    """
    spec = Spec.parse_dataset(name)
    target = registry.get("dataset", spec.name).load()
    n: Any = parameters.get("n")
    accepted = signature_of(target).parameters
    is_limited = n is not None and "n" not in accepted
    if is_limited and not any(p.kind is p.VAR_KEYWORD for p in accepted.values()):
        del parameters["n"]
    params = {**spec.params, **parameters}
    dataset = binding.make(Spec(spec.name, spec.config, params), target)
    if is_limited:
        return First(dataset, n)
    return dataset
