"""Which plugins may be used: disabled, allowed and required ones, by flag, environment, `[tool.cb]`.

Decided by the name of the distribution before anything is imported, first-party plugins included.
"""

from __future__ import annotations

import os
import re
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

_KEYS = (
    *("disable_plugins", "only_plugins", "require_plugins", "strict_plugins"),
    "automatic_evaluators",
)
_SWITCH = {"1": True, "true": True, "yes": True, "on": True}
_SWITCH |= {"": False, "0": False, "false": False, "no": False, "off": False}
_MENTIONS_TABLE = re.compile(
    r"""^\s*(?:\[+\s*tool\s*\.\s*|tool\s*\.\s*)?["']?cb["']?\s*[\].=]""", re.MULTILINE
)


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
    known = {canonical(name): name for name in installed}
    parts = {canonical(f"{name}/{part}"): "" for name, own in installed.items() for part in own}
    for verb, wanted in (
        ("disable", policy.disable - parts.keys()),
        ("allow", policy.only or frozenset()),
    ):
        for name in sorted(wanted - known.keys()):
            raise UsageError(
                f"Cannot {verb} the plugin {name!r}: it is not installed.",
                hint=hint(name, known.values(), "`cb list-plugins` shows them"),
            )


def check_evaluators(policy: PluginPolicy, installed: Iterable[Component]) -> None:
    """Refuse names of evaluators that match nothing."""
    if not policy.automatic:
        return
    known = {canonical(name): name for c in installed for name in (c.name, c.qualified_name)}
    for name in sorted(policy.automatic - known.keys()):
        raise UsageError(
            f"automatic_evaluators names {name!r}, and no evaluator of that name is installed",
            hint=hint(name, known.values(), "`cb list evaluators` shows them"),
        )


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
    environ = os.environ if environ is None else environ
    table = _switches(folder or _working_folder())
    allow = list(only) or _words(environ.get("CB_ONLY_PLUGINS", "")) or table.get("only_plugins")
    return PluginPolicy(
        disable=_names(
            disable,
            _words(environ.get("CB_DISABLE_PLUGINS", "")),
            table.get("disable_plugins", []),
        ),
        only=None if allow is None else _names(allow),
        require=_names(
            require,
            _words(environ.get("CB_REQUIRE_PLUGINS", "")),
            table.get("require_plugins", []),
        ),
        strict=(
            _switch("CB_STRICT_PLUGINS", environ) or strict or table.get("strict_plugins", False)
        ),
        automatic=_names(
            _words(environ.get("CB_AUTOMATIC_EVALUATORS", "")),
            table.get("automatic_evaluators", []),
        ),
    )


def _working_folder() -> Path:
    """The working folder, as messages name it; it may have been removed meanwhile."""
    try:
        return Path.cwd()
    except OSError:
        return Path()


def _switch(variable: str, environ: Mapping[str, str]) -> bool:
    value = environ.get(variable, "")
    found = _SWITCH.get(value.strip().lower())
    if found is None:
        raise ConfigError(variable, f"{value!r} is neither 1 nor 0")
    return found


def _words(text: str) -> list[str]:
    return [word for word in text.replace(",", " ").split() if word]


def _names(*sources: Iterable[str]) -> frozenset[str]:
    return frozenset(canonical(name) for source in sources for name in source)


def tool_table(folder: Path | None = None) -> dict[str, Any]:
    """The table `[tool.cb]` of the `pyproject.toml` in a folder; empty where there is none."""
    path = (folder or Path.cwd()) / "pyproject.toml"
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    # Parsing TOML costs more than the rest of a light command, and few projects have the table.
    if not _MENTIONS_TABLE.search(text):
        return {}
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        tools = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), f"not valid TOML: {error}") from error
    table: Any = tools.get("cb", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise ConfigError(str(path), f"[tool.cb] must be a table, not {table!r}")
    return table


def _switches(folder: Path) -> dict[str, Any]:
    """What `[tool.cb]` says of plugins. A table within it is some command's, and left to that."""
    path = folder / "pyproject.toml"
    table = {k: v for k, v in tool_table(folder).items() if not isinstance(v, dict)}
    for key, value in table.items():
        if key not in _KEYS:
            raise ConfigError(
                f"{path}, [tool.cb]",
                f"unknown key {key!r}",
                hint=hint(key, _KEYS, f"known keys: {', '.join(_KEYS)}"),
            )
        if key == "strict_plugins":
            valid = isinstance(value, bool)
        else:
            valid = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not valid:
            wanted = "true or false" if key == "strict_plugins" else "a list of names"
            raise ConfigError(f"{path}, [tool.cb]", f"{key} must be {wanted}, not {value!r}")
    return table
