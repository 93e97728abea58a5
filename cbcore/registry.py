"""Components by name from Python: register your own, load what is registered or installed.

from cbcore.registry import load_dataset, register_dataset

register_dataset("my-data", my_loader)
dataset = load_dataset("my-data", n=100)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from cbcore import binding, names, specs
from cbcore.components import Component
from cbcore.exceptions import DuplicateNameError, UnknownComponentError, UsageError
from cbcore.introspection import signature_of
from cbcore.kinds import kind_of
from cbcore.plugins._host import PluginHost, default_host

__all__ = ("Registry", "load_dataset", "register_dataset", "registry")


def _kind(word: str) -> str:
    """The kind a word means; that of a plugin is looked for only if the core has none."""
    try:
        return kind_of(word)
    except UsageError:
        return kind_of(word, default_host().kinds)


class First:
    """The first `n` examples of a dataset, as often as the dataset can be iterated."""

    def __init__(self, examples: Iterable[Any], n: int) -> None:
        self.examples = examples
        self.n = n

    def __iter__(self) -> Iterator[Any]:
        return islice(iter(self.examples), self.n)


class Registry:
    """What a program registered by hand, on top of what plugins offer.

    A name is never overwritten silently: registering it for something else, or registering a
    name that a plugin offers and then asking for it, is an error that names both.
    """

    def __init__(self) -> None:
        self._components: dict[tuple[str, str], Component] = {}

    def register(
        self, kind: str, name: str, target: Callable[..., Any], *, replace: bool = False
    ) -> None:
        """Make `target` available under a name, here and on the command line (`--import`)."""
        kind = _kind(kind)
        if not callable(target):
            raise UsageError(
                f"cannot register {target!r} as {names.with_article(kind)}: it cannot be called"
            )
        key = (kind, names.canonical(name))
        known = self._components.get(key)
        if known is not None and known.target is not target and not replace:
            raise UsageError(
                f"{names.with_article(kind)} called {name!r} is already registered: {known.target!r}",
                hint="choose another name, or pass replace=True",
            )
        try:
            self._components[key] = Component(kind=kind, name=name, target=target)
        except ValueError as error:
            raise UsageError(str(error)) from error

    def unregister(self, kind: str, name: str) -> None:
        """Forget a registered name."""
        key = (_kind(kind), names.canonical(name))
        if self._components.pop(key, None) is None:
            raise UnknownComponentError(key[0], name)

    def get(self, kind: str, name: str, *, host: PluginHost | None = None) -> Component:
        """The component of that name, registered or installed."""
        kind = _kind(kind)
        host = host or default_host()
        plugin, slash, bare = name.rpartition("/")
        mine = self._components.get((kind, names.canonical(bare)))
        if mine is None or (slash and plugin != mine.plugin):
            return self._find_installed(host, kind, name)
        if slash:
            return mine
        rivals = [
            c for c in host.components(kind) if names.canonical(c.name) == names.canonical(bare)
        ]
        if rivals:
            raise DuplicateNameError(kind, bare, [mine.plugin, *(c.plugin for c in rivals)])
        return mine

    def _find_installed(self, host: PluginHost, kind: str, name: str) -> Component:
        try:
            return host.find(kind, name)
        except UnknownComponentError:
            mine = (c.name for c in self.registered(kind))
            raise host.unknown(kind, name, also=mine) from None

    def list(self, kind: str, *, host: PluginHost | None = None) -> list[str]:
        """All names of a kind, registered and installed, sorted."""
        kind = _kind(kind)
        mine = {c.name for (k, _), c in self._components.items() if k == kind}
        return sorted(mine | {c.name for c in (host or default_host()).components(kind)})

    def registered(self, kind: str | None = None) -> tuple[Component, ...]:
        """What was registered by hand, in order."""
        kind = None if kind is None else _kind(kind)
        return tuple(c for c in self._components.values() if kind is None or c.kind == kind)


registry = Registry()
"""The registry of this process."""


def register_dataset(name: str, loader: Callable[..., Any]) -> None:
    """Make a function that returns examples available as a dataset."""
    registry.register("dataset", name, loader)


def load_dataset(name: str, **parameters: Any) -> Any:
    """Load a dataset by name or spec string; keyword arguments go to its loader.

    `n` goes to a loader that takes it, as all keyword arguments do, and limits any dataset.
    """
    spec = specs.parse_dataset(name)
    n = parameters.get("n")
    signature = signature_of(registry.get("dataset", spec.name).load())
    if n is None or signature is None:
        return _make(spec, parameters)
    taken = signature.parameters
    if "n" in taken:
        return _make(spec, parameters)
    if all(one.kind is not one.VAR_KEYWORD for one in taken.values()):
        del parameters["n"]
    return First(_make(spec, parameters), n)


def _make(spec: specs.Spec, parameters: dict[str, Any]) -> Any:
    merged = specs.Spec(spec.name, spec.config, {**spec.params, **parameters})
    return binding.make(merged, registry.get("dataset", spec.name).load())
