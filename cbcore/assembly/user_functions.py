"""The user's own code as a component: a plain function in its role, an object without a name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cbcore import binding
from cbcore.chains import Renamed
from cbcore.components import KINDS, Kind
from cbcore.introspection import signature_of
from cbcore.specs import Spec

_ROLES: dict[str, tuple[str, str, int]] = {
    "system": ("process", "aprocess", 1),
    "evaluator": ("score", "ascore", 2),
    "metric": ("compute", "", 1),
    "reporter": ("render", "", 1),
    "tokenizer": ("count", "", 1),
}
"""Plain functions by kind: the method that one replaces, plain and awaited, and how many arguments
the method gets."""


class FromFunction:
    """A component that is one function. The attributes of the function are its attributes.

    The function of an evaluator may return one number: the score with the function's name.
    """

    emits: tuple[str, ...]

    def __init__(self, function: Callable[..., Any], role: str, name: str) -> None:
        self.function = function
        self.name = name
        if role == "score":
            function = self._score
        elif role == "ascore":
            function = self._ascore
        setattr(self, role, function)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or attribute == "function":
            raise AttributeError(attribute)
        return getattr(_unwrap(self.function), attribute)

    @property
    def identity(self) -> list[Any]:
        """The code of the function, and the arguments from the spec."""
        return [self.function]

    @property
    def identity_files(self) -> list[str]:
        """The files that the function reads, relative to its own folder."""
        function = _unwrap(self.function)
        files = getattr(function, "identity_files", ())
        if isinstance(files, str):
            files = [files]
        folder = Path(inspect.getsourcefile(function) or "").parent
        return [str(folder / file) for file in files]

    def _score(self, original: Any, processed: Any) -> Any:
        return self._name_score(self.function(original, processed))

    async def _ascore(self, original: Any, processed: Any) -> Any:
        return self._name_score(await self.function(original, processed))

    def _name_score(self, scores: Any) -> Any:
        if not isinstance(scores, bool | int | float):
            return scores
        function = _unwrap(self.function)
        return {function.__name__: float(scores)}


def as_component(kind: str, value: Any) -> Any:
    """A plain function as the component it is meant to be; anything else as it is."""
    return _in_role(kind, value, {}) or value


def from_function(
    kind: str,
    spec: Spec,
    target: Any,
    extra: Mapping[str, Any] | None = None,
) -> tuple[Any, dict[str, Any]] | None:
    """The component that a function is, with the parameters of its spec; None if it makes one.

    A function makes a component when it is called, unless it still lacks just the arguments that
    the method of its kind is handed: then it is that method. `name=` is the component's name.
    """
    if spec.config is not None or kind not in _ROLES or not inspect.isroutine(target):
        return None
    name = spec.params.get("name")
    if "name" not in signature_of(target).parameters:
        params = {key: value for key, value in spec.params.items() if key != "name"}
        spec = Spec(spec.name, None, params)
    bound = binding.bind(spec, target, extra=extra)
    made = _in_role(kind, target, bound.arguments)
    if made is None:
        return None
    if name is not None:
        made.name = str(name)
    return made, bound.arguments


def give_name(kind: Kind, value: Any, name: str) -> Any:
    """An object that does what its kind has to, under a name if it has none itself."""
    if not kind.is_named or isinstance(getattr(value, "name", None), str):
        return value
    for method in kind.methods:
        if callable(getattr(value, method, None)):
            return Renamed(value, name)
    return value


def list_handed(kind: str, target: Any) -> tuple[str, ...]:
    """The parameters of a plain function that are not settings: the arguments of its method."""
    if _in_role(kind, target, {}) is None:
        return ()
    _, _, n_handed = _ROLES[kind]
    return tuple(signature_of(target).parameters)[:n_handed]


def guess_kind(target: Any) -> str | None:
    """The most likely kind of own code, by its methods or by the arguments of a function."""
    if inspect.isfunction(target):
        if not inspect.isgeneratorfunction(target):
            for role in _ROLES:
                if _in_role(role, target, {}):
                    return role
        return "dataset"
    if isinstance(target, list | tuple):
        return "dataset"
    if isinstance(target, str):
        return None
    # A dataset is last: other components can be iterated over, too.
    for kind in sorted(KINDS.values(), key=lambda kind: kind.name == "dataset"):
        for method in kind.methods:
            if hasattr(target, method):
                return kind.name
    return None


def _in_role(kind: str, target: Any, keywords: Mapping[str, Any]) -> FromFunction | None:
    """A function in the role of a kind, with arguments by keyword; None if it does not fit."""
    if kind not in _ROLES or not inspect.isroutine(target):
        return None
    role, awaited, n_handed = _ROLES[kind]
    parameters = list(signature_of(target).parameters.values())
    handed = []
    for p in parameters:
        is_positional = p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        if is_positional and p.default is p.empty and p.name not in keywords:
            handed.append(p)
    if len(handed) != n_handed or handed != parameters[:n_handed]:
        return None
    if awaited and inspect.iscoroutinefunction(target):
        role = awaited
    function = functools.partial(target, **keywords) if keywords else target
    component = FromFunction(function, role, target.__name__)
    returned = signature_of(target).return_annotation
    if kind == "evaluator" and returned in (float, int, bool):
        component.emits = getattr(target, "emits", (target.__name__,))
    return component


def _unwrap(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without the arguments from a spec."""
    return function.func if isinstance(function, functools.partial) else function
