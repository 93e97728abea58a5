"""The plugin as a whole, and what every component has, whatever its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cb_testing.cases import Case
from cb_testing.rule_registry import Unchecked, rule
from cb_testing.subjects import Subject
from cbcore.boundary import contained
from cbcore.exceptions import (
    MissingExtraError,
    ParameterError,
    PluginContractError,
    PluginLoadError,
)
from cbcore.names import canonical, is_valid

EVERY = "component"
"""The kind of rules that hold for components of every kind."""


@rule("names-valid", "plugin")
def names_valid(subject: Subject) -> Iterator[str]:
    """Component names are lower case, of letters, digits, - and _, and unique within a kind."""
    seen: dict[tuple[str, str], str] = {}
    for entry in subject.entries:
        if entry.group == "cb.plugins":
            continue
        if not is_valid(entry.name):
            yield (
                f"rename the entry point {entry.name!r} in {entry.group}: lower-case letters, "
                "digits, - and _, first and last a letter or digit"
            )
        target = seen.setdefault((entry.group, canonical(entry.name)), entry.value)
        if target != entry.value:
            yield f"{entry.group} has two components called {entry.name!r}: rename one"


@rule("core-supported", "plugin")
def core_supported(subject: Subject) -> Iterator[str]:
    """The plugin's metadata can be read, and it supports the installed core."""
    plugin = subject.plugin
    if not plugin.is_usable:
        yield f"{plugin.reason}: {plugin.remedy}"


@rule("hooks-match", "plugin")
def hooks_match(subject: Subject) -> Iterator[str]:
    """Every hook exists, takes the arguments of its spec, and returns what it should."""
    subject.catalog.load_hook_modules()
    plugin = subject.plugin
    if not plugin.is_usable:
        yield f"{plugin.reason}: {plugin.remedy}"


@rule("component-resolves", EVERY)
def resolves(case: Case) -> Iterator[str]:
    """The target is there and can be called."""
    try:
        case.component.load()
    except (PluginLoadError, PluginContractError) as error:
        yield f"correct its entry point or target: {error.reason}"


@rule("component-described", EVERY)
def described(case: Case) -> Iterator[str]:
    """It has a summary, and what it declares of itself can be read."""
    try:
        summary = case.component.describe().summary
    except PluginContractError as error:
        yield error.reason
        return
    if not summary:
        yield "give its class a docstring, or its Component a summary: the line `cb list` shows"


@rule("component-made", EVERY)
def made(case: Case) -> Iterator[str]:
    """It can be made from its default parameters, or from those given."""
    name = case.component.name
    lacking = () if case.kind.is_value else case.lacking()
    if lacking:
        given = "{" + ", ".join(f"{name!r}: …" for name in lacking) + "}"
        yield Unchecked(f"give it parameters: examples={{{name!r}: {{'params': {given}}}}}")
        return
    with contained() as tried:
        ready = case.kind.is_value or _is_command(case.target)
        case.value = case.target if ready else case.make()
    if isinstance(tried.error, MissingExtraError):
        yield Unchecked(str(tried.error))
    elif isinstance(tried.error, ParameterError) and not case.params:
        # It can do without any one of them, and not without all.
        reason = tried.error.reason
        yield Unchecked(f"{reason}: give it parameters: examples={{{name!r}: {{'params': {{…}}}}}}")
    elif tried.error is not None:
        yield f"making it failed: {tried.reason}"


@rule("component-offline", EVERY)
def offline(attempts: Sequence[str]) -> Iterator[str]:
    """It stays on this machine while it is checked."""
    if attempts:
        reached = ", ".join(dict.fromkeys(attempts))
        yield Unchecked(f"it tried to reach {reached}: give it parameters of a local stand-in")


@rule("component-protocol", EVERY)
def protocol(case: Case) -> Iterator[str]:
    """What the target makes has the name and the methods of its kind."""
    kind, value = case.component.kind, case.value
    if kind == "dataset":
        if not hasattr(value, "__iter__") or isinstance(value, str):
            yield f"return an iterable of examples, not a {type(value).__name__}"
    elif kind == "command":
        if not _is_command(value):
            yield f"make the target a click.Command or a function that returns one, not {value!r}"
    elif problem := case.kind.find_problem(value):
        yield f"{type(value).__name__}{problem}"
    elif case.kind.problem is None and case.kind.is_named and not value.name:
        yield f"{type(value).__name__} has an empty name"


def _is_command(value: object) -> bool:
    # Told by its name: only the command line of the core imports click.
    return any(
        f"{c.__module__}.{c.__qualname__}" == "click.core.Command" for c in type(value).__mro__
    )
