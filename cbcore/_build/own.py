"""The user's own code as a component: a plain function in its role, an object without a name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cbcore import binding
from cbcore.chains import Renamed
from cbcore.introspection import signature_of
from cbcore.kinds import KINDS, Kind
from cbcore.specs import Spec

_ROLES: dict[str, tuple[str, str, int]] = {
    "system": ("process", "aprocess", 1),
    "evaluator": ("score", "ascore", 2),
    "metric": ("compute", "", 1),
    "reporter": ("render", "", 1),
    "tokenizer": ("count", "", 1),
}
"""What a plain function of a kind is: the method it stands for, plain and awaited, and how many
arguments that is handed."""


class FromFunction:
    """A component that is one function, whose attributes are those of the component.

    The function of an evaluator may return one number: the score that is called like it.
    """

    emits: tuple[str, ...]

    def __init__(self, function: Callable[..., Any], role: str, name: str) -> None:
        self.function = function
        self.name = name
        score = {"score": _score, "ascore": _ascore}.get(role)
        setattr(self, role, functools.partial(score, function, name) if score else function)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or attribute == "function":
            raise AttributeError(attribute)
        return getattr(_written(self.function), attribute)

    @property
    def identity(self) -> list[Any]:
        """What the store knows it by: the code of the function and what it is given."""
        return [self.function]

    @property
    def identity_files(self) -> list[str]:
        """The files that the function says it reads, found from its own folder."""
        function = _written(self.function)
        named = getattr(function, "identity_files", ())
        folder = Path(inspect.getsourcefile(function) or "").parent
        return [str(folder / file) for file in ([named] if isinstance(named, str) else named)]


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
    if spec.config is not None or kind not in _ROLES or not _is_function(target):
        return None
    renamed = {key: value for key, value in spec.params.items() if key != "name"}
    bound = binding.bind(
        Spec(spec.name, None, renamed) if "name" not in _parameters(target) else spec,
        target,
        extra=extra,
    )
    made = _in_role(kind, target, bound.keywords)
    if made is None:
        return None
    made.name = str(spec.params.get("name", made.name))
    return made, bound.named_arguments


def named(kind: Kind, value: Any, name: str) -> Any:
    """An object that does what its kind has to, under a name where it has none itself."""
    lacks_name = kind.is_named and not isinstance(getattr(value, "name", None), str)
    acts = any(callable(getattr(value, method, None)) for method in kind.methods)
    return Renamed(value, name) if lacks_name and acts else value


def handed_arguments(kind: str, target: Any) -> tuple[str, ...]:
    """The parameters of a plain function that are no settings: what its method is handed."""
    if _in_role(kind, target, {}) is None:
        return ()
    return tuple(_parameters(target))[: _ROLES[kind][2]]


def likely_kind(target: Any) -> str | None:
    """The kind that own code most likely is, by its methods or by what it is handed."""
    if inspect.isfunction(target):
        if inspect.isgeneratorfunction(target):
            return "dataset"
        return next((kind for kind in _ROLES if _in_role(kind, target, {})), "dataset")
    if isinstance(target, list | tuple | str):
        return None if isinstance(target, str) else "dataset"
    kinds = [kind for kind in KINDS.values() if kind.methods]
    acting = (kind for kind in kinds if any(hasattr(target, method) for method in kind.methods))
    return next((kind.name for kind in sorted(acting, key=_is_data)), None)


def _is_data(kind: Kind) -> bool:
    """What can be gone through may be something else besides."""
    return kind.name == "dataset"


def _in_role(kind: str, target: Any, keywords: Mapping[str, Any]) -> FromFunction | None:
    """A function in the role of a kind, with arguments given by keyword; None if it is no such."""
    if kind not in _ROLES or not _is_function(target):
        return None
    plain, awaited, n_handed = _ROLES[kind]
    parameters = list(_parameters(target).values())
    required = [p for p in parameters if p.default is p.empty and p.name not in keywords]
    handed = [p for p in required if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(handed) != n_handed or handed != parameters[:n_handed]:
        return None
    role = awaited if awaited and inspect.iscoroutinefunction(target) else plain
    function = functools.partial(target, **keywords) if keywords else target
    made = FromFunction(function, role, target.__name__)
    if role in ("score", "ascore") and _returns(target) in (float, int, bool):
        made.emits = getattr(target, "emits", (target.__name__,))
    return made


def _returns(target: Any) -> Any:
    signature = signature_of(target)
    return signature.return_annotation if signature is not None else None


def _is_function(target: Any) -> bool:
    return inspect.isfunction(target) or inspect.isbuiltin(target)


def _parameters(target: Any) -> Mapping[str, inspect.Parameter]:
    signature = signature_of(target)
    return signature.parameters if signature is not None else {}


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, without the arguments that it was given."""
    return function.func if isinstance(function, functools.partial) else function


def _score(function: Callable[..., Any], name: str, original: Any, processed: Any) -> Any:
    return _as_scores(name, function(original, processed))


async def _ascore(function: Callable[..., Any], name: str, original: Any, processed: Any) -> Any:
    return _as_scores(name, await function(original, processed))


def _as_scores(name: str, given: Any) -> Any:
    return {name: float(given)} if isinstance(given, bool | int | float) else given
