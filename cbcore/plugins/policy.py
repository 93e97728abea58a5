"""Which plugins may be used: disabled, allowed and required ones, by flag, environment, `[tool.cb]`.

Decided by the name of the distribution before anything is imported, first-party plugins included.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from cbcore.exceptions import ConfigError, UsageError
from cbcore.names import canonical, hint
from cbcore.plugins.installed import CORE

if TYPE_CHECKING:
    from cbcore.components import Component

_LISTS = ("disable_plugins", "only_plugins", "require_plugins", "automatic_evaluators")
_KEYS = (*_LISTS, "strict_plugins")
_SWITCH = {"": False, "0": False, "false": False, "1": True, "true": True}


@attrs.frozen(repr=False)
class PluginPolicy:
    """Names of distributions to disable, to allow exclusively, and to require.

    `disable` may name one hook module or component as `plugin/name`. `automatic` names evaluators
    that join runs although they do not declare it.
    """

    disable: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    require: frozenset[str] = frozenset()
    strict: bool = False
    automatic: frozenset[str] = frozenset()

    def find_refusal(self, distribution: str) -> tuple[str, str] | None:
        """Why a distribution is not used, and what to do about it; None if it is used."""
        name = canonical(distribution)
        if name == CORE:
            return None
        if name in self.disable:
            reason = "switched off by --no-plugin, CB_DISABLE_PLUGINS or [tool.cb] disable_plugins"
            return reason, "take it off that list to use it"
        if self.only is not None and name not in self.only:
            reason = "not on the list of --only-plugin, CB_ONLY_PLUGINS or [tool.cb] only_plugins"
            return reason, "put it on that list to use it"
        return None


def check_names(policy: PluginPolicy, installed: Mapping[str, Iterable[str]]) -> None:
    """Refuse names that match nothing: a misspelled switch must not be silent.

    `installed` maps each plugin to the names of its hook modules and components.
    """
    if CORE in policy.disable:
        raise UsageError(
            f"Cannot disable {CORE}: it is the core, not a plugin.",
            hint=f"name one part of it, such as --no-plugin {CORE}/progress",
        )
    parts = [f"{name}/{part}" for name, own in installed.items() for part in own]
    problem = "Cannot {} the plugin {{!r}}: it is not installed."
    shown = "`cb list-plugins` shows them"
    _check(problem.format("disable"), policy.disable, [*installed, *parts], shown)
    _check(problem.format("allow"), policy.only or (), installed, shown)


def check_evaluators(policy: PluginPolicy, installed: Iterable[Component]) -> None:
    """Refuse names of evaluators that match nothing."""
    known = [name for c in installed for name in (c.name, c.qualified_name)]
    problem = "automatic_evaluators names {!r}, and no evaluator of that name is installed"
    _check(problem, policy.automatic, known, "`cb list evaluators` shows them")


def _check(problem: str, wanted: Iterable[str], known: Iterable[str], otherwise: str) -> None:
    by_name = {canonical(name): name for name in known}
    for name in sorted(wanted):
        if name not in by_name:
            message = problem.format(name)
            raise UsageError(message, hint=hint(name, by_name.values(), otherwise))


def read_policy(
    *,
    disable: Iterable[str] = (),
    only: Iterable[str] = (),
    require: Iterable[str] = (),
    strict: bool = False,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> PluginPolicy:
    """Combine flags, environment and `[tool.cb]` of the `pyproject.toml` in a folder.

    Disabling and requiring add up; an allow-list given closer to the command replaces the
    one further away.
    """
    variables = os.environ if environ is None else environ
    table = _read_switches(folder)

    def words(variable: str) -> list[str]:
        return variables.get(variable, "").replace(",", " ").split()

    def combine(key: str, given: Iterable[str] = ()) -> frozenset[str]:
        return _names([*given, *words(f"CB_{key.upper()}"), *table.get(key, [])])

    allowed = [*only] or words("CB_ONLY_PLUGINS") or table.get("only_plugins")
    switch = variables.get("CB_STRICT_PLUGINS", "").strip().lower()
    if switch not in _SWITCH:
        raise ConfigError("CB_STRICT_PLUGINS", f"{switch!r} is neither 1 nor 0")
    return PluginPolicy(
        disable=combine("disable_plugins", disable),
        only=None if allowed is None else _names(allowed),
        require=combine("require_plugins", require),
        strict=strict or _SWITCH[switch] or table.get("strict_plugins", False),
        automatic=combine("automatic_evaluators"),
    )


def _names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(map(canonical, names))


def tool_table(folder: Path | None = None) -> dict[str, Any]:
    """The table `[tool.cb]` of the `pyproject.toml` in a folder; empty where there is none."""
    path = (folder or Path()) / "pyproject.toml"
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: Any = tomllib.loads(text).get("tool", {}).get("cb", {})
    except (tomllib.TOMLDecodeError, AttributeError) as error:
        raise ConfigError(str(path), f"not valid TOML: {error}") from error
    if not isinstance(table, dict):
        raise ConfigError(str(path), f"[tool.cb] must be a table, not {table!r}")
    return table


def _read_switches(folder: Path | None) -> dict[str, Any]:
    """The switches in `[tool.cb]`. A table within it belongs to a command or a plugin."""
    where = f"{folder or '.'}/pyproject.toml, [tool.cb]"
    table = {k: v for k, v in tool_table(folder).items() if not isinstance(v, dict)}
    for key, value in table.items():
        if key not in _KEYS:
            known = hint(key, _KEYS, f"known keys: {', '.join(_KEYS)}")
            raise ConfigError(where, f"unknown key {key!r}", hint=known)
        is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not (is_list if key in _LISTS else isinstance(value, bool)):
            wanted = "a list of names" if key in _LISTS else "true or false"
            raise ConfigError(where, f"{key} must be {wanted}, not {value!r}")
    return table
