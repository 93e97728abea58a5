"""Whether a hook module keeps the contract: hooks that exist, with arguments that they have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from cbcore import deprecations, hookspecs, names
from cbcore.exceptions import PluginContractError
from cbcore.plugins._known import packages_offering

HOOKS = {name: spec for name, spec in vars(hookspecs).items() if name.startswith("cb_")}
"""The hooks of the core. A host has those of the kinds that plugins bring as well."""


def name_of(module: object) -> str:
    """What to call a hook module, which may be an object."""
    return getattr(module, "__name__", None) or type(module).__qualname__


def _hook_functions(module: object) -> Iterable[tuple[str, Callable[..., Any]]]:
    """The functions that mean to be hooks: by their name, or because they are marked."""
    if isinstance(module, ModuleType):
        members = vars(module)  # not dir(): a lazy module must stay so
    else:
        members = {name: getattr(module, name, None) for name in dir(module)}
    for name, value in members.items():
        if inspect.isroutine(value) and (name.startswith("cb_") or hasattr(value, "cb_impl")):
            yield name, value


def check_hooks(plugin: str, module: object, hooks: Mapping[str, Callable[..., Any]]) -> None:
    """Refuse hooks that do not exist and arguments they do not have, naming the near match."""
    for name, value in _hook_functions(module):
        where = f"{name_of(module)}.{name}"
        options = getattr(value, "cb_impl", None) or {}
        _check_options(plugin, where, options)
        spec = hooks.get(name)
        if spec is None and (options.get("optionalhook") or _is_of_absent_kind(name)):
            continue  # it may be a hook of another version of cb, or of a plugin not installed
        if spec is None:
            raise PluginContractError(
                plugin,
                f"{where} is not a hook of cb",
                hint=names.hint(name, HOOKS, "see the hook reference"),
            )
        accepted = list(inspect.signature(spec).parameters)
        for argument, parameter in inspect.signature(value).parameters.items():
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise PluginContractError(
                    plugin,
                    f"{where} takes {argument!r} by position only, and hooks are called by name",
                    hint="leave the / out",
                )
            if argument not in accepted and parameter.default is parameter.empty:
                takes = f"it takes {', '.join(accepted)}" if accepted else "it takes no arguments"
                raise PluginContractError(
                    plugin,
                    f"{where} has an argument {argument!r} that the hook does not",
                    hint=takes,
                )
        if name in deprecations.REMOVALS:
            deprecations.announce(name, plugin=plugin)


def _is_of_absent_kind(hook: str) -> bool:
    """Whether a hook offers a kind that a first-party plugin would bring."""
    return bool(packages_offering("kind", names.singular(hook.removeprefix("cb_"))))


def _check_options(plugin: str, where: str, options: Mapping[str, Any]) -> None:
    """Refuse options of `hookimpl` that would have no effect, or no sense."""
    for option in ("wrapper", "hookwrapper", "specname"):
        if options.get(option):
            raise PluginContractError(
                plugin,
                f"{where} uses the option {option!r}, which cb does not support",
                hint="write a plain function with the name of the hook",
            )
    if options.get("tryfirst") and options.get("trylast"):
        raise PluginContractError(
            plugin,
            f"{where} uses the options 'tryfirst' and 'trylast', which exclude each other",
            hint="leave one of them out",
        )
