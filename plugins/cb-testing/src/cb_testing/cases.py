"""Components under test: made from what the caller gave, as often as a rule needs one."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import inspect
import sys
import threading
import types
import typing
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypedDict

import attrs

from cbcore.binding import make
from cbcore.components import Component, Kind
from cbcore.exceptions import CBError, UsageError
from cbcore.introspection import signature_of
from cbcore.names import canonical, hint
from cbcore.secrets import is_secret_name
from cbcore.specs import Spec

OFFLINE_CONFIG = "sample"
"""A dataset that has a config of this name is checked with it: it comes with the package."""

_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

MOST_CALLS = 10_000_000
"""Function calls that the first examples may take; importing the largest libraries takes fewer."""

_KINDS_WITH_EXAMPLES = ("system", "evaluator", "metric")


class Given(TypedDict, total=False):
    """What `check_plugin` is told about one component.

    - `params`: the parameters to make it with; needed where some have no default.
    - `variants`: for a parameter, another value it accepts, where none can be guessed.
    - `labels`: parameters besides the name that change nothing of what it returns.
    - `examples`: more to try it on. For a system examples, for an evaluator pairs of an example
      and an output, for a metric rows.
    - `skip`: rules that do not apply to it, each with the reason.
    """

    params: Mapping[str, Any]
    variants: Mapping[str, Any]
    labels: Sequence[str]
    examples: Sequence[Any]
    skip: Mapping[str, str]


@attrs.define
class Case:
    """One component, what it is made from, and an instance of it."""

    component: Component
    given: Given
    kind: Kind
    value: Any = None
    _loop: _LoopThread | None = None

    @property
    def target(self) -> Callable[..., Any]:
        """The class or function that makes it."""
        return self.component.load()

    @property
    def params(self) -> dict[str, Any]:
        """The parameters it is made with."""
        params = dict(self.given.get("params", {}))
        if params or OFFLINE_CONFIG not in self.component.configs:
            return params
        return dict.fromkeys(list(self.accepted())[:1], OFFLINE_CONFIG)

    @property
    def examples(self) -> Sequence[Any]:
        """What the caller wants it to be tried on."""
        return self.given.get("examples", ())

    def accepted(self) -> dict[str, Any]:
        """The parameters of its factory with their annotations."""
        return {name: parameter.annotation for name, parameter in self._parameters().items()}

    def lacking(self) -> list[str]:
        """Parameters without a default that nobody gave."""
        params = self.params
        return [
            name
            for name, parameter in self._parameters().items()
            if parameter.default is parameter.empty and name not in params
        ]

    def _parameters(self) -> dict[str, inspect.Parameter]:
        found = signature_of(self.target).parameters
        return {
            name: parameter for name, parameter in found.items() if parameter.kind not in _VARIABLE
        }

    def make(self, **changes: Any) -> Any:
        """A new instance, with some parameters changed."""
        spec = Spec(self.component.name, params={**self.params, **changes})
        if self.component.kind != "dataset":
            return make(spec, self.target)
        with limited_calls():
            return make(spec, self.target)

    def call(self, direct: str, awaited: str, *arguments: Any) -> Any:
        """Call the component as a run does: by the awaited method, where it has one."""
        method = getattr(self.value, awaited, None)
        if method is None:
            return getattr(self.value, direct)(*arguments)
        return self._awaited(method(*arguments))

    def outcome(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns, awaited where it has to be."""
        returned = function(*arguments)
        return self._awaited(returned) if inspect.isawaitable(returned) else returned

    def _awaited(self, awaitable: Any) -> Any:
        if self._loop is None:
            self._loop = _LoopThread()
        return self._loop.call(awaitable)

    def variations(self) -> Iterator[tuple[str, Any | None]]:
        """For each parameter that could change a result, an instance with another value of it.

        None where every value tried was refused. The name and secrets are no such parameters.
        """
        for name, parameter in self._parameters().items():
            if name == "name" or is_secret_name(name):
                continue
            default = None if parameter.default is parameter.empty else parameter.default
            current = self.params.get(name, default)
            variants = self.given.get("variants", {})
            others = (
                (variants[name],)
                if name in variants
                else other_values(current, parameter.annotation)
            )
            yield name, self._first_accepted(name, others)

    def _first_accepted(self, name: str, values: Sequence[Any]) -> Any | None:
        for value in values:
            try:
                return self.make(**{name: value})
            except (CBError, ValueError, TypeError):  # this value is refused
                continue
        return None

    def close(self) -> None:
        """Close what awaited calls opened, and their event loop."""
        if callable(getattr(self.value, "close", None)):
            with contextlib.suppress(Exception):  # nobody is left to tell
                self.outcome(self.value.close)
        if self._loop is not None:
            if hasattr(self.value, "aclose"):
                with contextlib.suppress(Exception):
                    self._loop.call(self.value.aclose(), timeout_s=5)
            self._loop.close()


class _LoopThread:
    """An event loop in a daemon thread, so that components can be tried inside a running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="cb-testing", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def call(self, awaitable: Awaitable[Any], timeout_s: float | None = None) -> Any:
        """The result of an awaitable; whatever it raises is raised here."""
        future = asyncio.run_coroutine_threadsafe(_await(awaitable), self._loop)
        result, error = future.result(timeout_s)
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """Cancel what is left and end the loop, unless something blocks it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=2)


async def _await(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """The result, or the exception: one such as `SystemExit` would end the loop."""
    try:
        return await awaitable, None
    except BaseException as error:  # noqa: BLE001
        return None, error


class TooManyCallsError(Exception):
    """Something that should be lazy did too much."""


@contextlib.contextmanager
def limited_calls() -> Iterator[None]:
    """Raise from within whatever makes more than `MOST_CALLS` calls: it might never end."""
    n_calls = 0

    def count(*_: object) -> None:
        nonlocal n_calls
        n_calls += 1
        if n_calls > MOST_CALLS:
            raise TooManyCallsError(f"took more than {MOST_CALLS:,} calls")

    previous = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(previous)


def other_values(value: Any, annotation: Any) -> list[Any]:
    """Values a parameter may accept besides its own, best first."""
    return [other for other in _candidates(value, annotation) if other != value]


def _candidates(value: Any, annotation: Any) -> Sequence[Any]:
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    members = typing.get_args(annotation) if union else (annotation,)
    choices: list[Any] = []
    for member in members:
        if typing.get_origin(member) is typing.Literal:
            choices += typing.get_args(member)
        elif isinstance(member, enum.EnumMeta):
            choices += member
    if choices:
        return choices
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value - 1)
    if isinstance(value, float):
        return (value / 2, value + 0.1, value + 1, 1.0)
    if isinstance(value, str):
        return (f"{value}-other", "other")
    by_type = {int: 7, float: 0.5, str: "other", bool: True}
    return [other for kind, other in by_type.items() if kind in members]


def given_for(component: Component, examples: Mapping[str, Given]) -> Given:
    """What the caller said of a component, under its name or `kind/name`."""
    wanted = canonical(component.name)
    for key, given in examples.items():
        kind, slash, name = key.rpartition("/")
        if canonical(name) == wanted and (not slash or kind == component.kind):
            return given
    return {}


def check_given(
    examples: Mapping[str, Given], components: Sequence[Component], rules: Mapping[str, Any]
) -> None:
    """Refuse what names no component, no rule, or nothing that can be given."""
    fields = sorted(Given.__optional_keys__)
    for key, given in examples.items():
        where = f"examples[{key!r}]"
        named = [c for c in components if given_for(c, {key: given}) is given]
        if not named:
            known = [c.name for c in components]
            raise _unknown(f"{where}: the plugin offers no such component", key, known)
        for field in given:
            if field not in fields:
                raise _unknown(f"{where}: unknown field {field!r}", field, fields)
        for skipped in given.get("skip", {}):
            if skipped not in rules:
                raise _unknown(f"{where}: no rule is called {skipped!r}", skipped, rules)
        kinds = {c.kind for c in named}
        if "examples" in given and not kinds & set(_KINDS_WITH_EXAMPLES):
            raise UsageError(f"{where}: the kit tries no {kinds.pop()} on examples")


def _unknown(message: str, word: str, known: Any) -> UsageError:
    return UsageError(message, hint=hint(word, known, ", ".join(known)))
