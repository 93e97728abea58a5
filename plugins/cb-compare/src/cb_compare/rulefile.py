"""Where rules are written: flags, `[tool.cb.gate]`, or a YAML file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cb_compare.gating import Rules
from cbcore.exceptions import ConfigError, UsageError
from cbcore.names import hint

_BOUNDS = ("min", "max", "max_drop")
_KEYS = (*_BOUNDS, "alpha", "strict", "inconclusive", "systems", "baseline")


def number(text: Any, where: str) -> float:
    """A number; `1%` is 0.01."""
    scale = 1.0
    written = text
    if isinstance(text, str) and text.strip().endswith("%"):
        written, scale = text.strip()[:-1], 0.01
    try:
        value = math.nan if isinstance(written, bool) else float(written) * scale
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{where}: {text!r} is no number", hint="write 0.02 or 2%")
    return value


def assignments(texts: Sequence[str], flag: str) -> dict[str, float]:
    """The rules of flags such as `--min f1=0.6`."""
    found = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise UsageError(f"{flag} {text!r} is no rule", hint=f"{flag} f1=0.02")
        found[name.strip()] = number(value, f"{flag} {name}")
    return found


def read_file(path: str) -> dict[str, Any]:
    """The rules of a YAML file, as plain data."""
    import yaml

    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(path, f"cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(path, f"is not YAML: {error}") from error
    if not isinstance(data, Mapping):
        raise ConfigError(path, f"must hold rules, not {type(data).__name__}")
    return dict(data)


def rules_of(data: Mapping[str, Any], where: str, flags: Mapping[str, Any]) -> Rules:
    """Rules from a file or a table; what is given by flags comes on top.

    `flags` holds those that were given, by the names of `Rules`.
    """
    for key in data:
        if key not in _KEYS:
            raise ConfigError(
                where,
                f"unknown key {key!r}",
                hint=hint(str(key), _KEYS, f"known keys: {', '.join(_KEYS)}"),
            )
    wanted: dict[str, Any] = {}
    for key in _BOUNDS:
        table = data.get(key, {})
        if not isinstance(table, Mapping):
            raise ConfigError(where, f"{key} must map metrics to numbers, not {table!r}")
        written = {str(name): number(v, f"{where}, {key}") for name, v in table.items()}
        wanted[key] = {**written, **flags.get(key, {})}
    for key in ("alpha", "strict", "inconclusive", "systems"):
        if (value := flags.get(key, data.get(key))) is not None:
            wanted[key] = value
    _check(wanted, where, flags)
    return Rules(**wanted)


def _check(wanted: Mapping[str, Any], where: str, flags: Mapping[str, Any]) -> None:
    """Refuse what cannot be, by the flag or the file that says it."""
    if wanted.get("inconclusive", "pass") not in ("pass", "fail"):
        raise ConfigError(
            where, f"inconclusive is 'pass' or 'fail', not {wanted['inconclusive']!r}"
        )
    if not isinstance(wanted.get("strict", False), bool):
        raise ConfigError(where, f"strict is true or false, not {wanted['strict']!r}")
    systems = wanted.get("systems", [])
    if isinstance(systems, str) or not all(isinstance(name, str) for name in systems):
        raise ConfigError(where, f"systems must be a list of names, not {systems!r}")
    alpha = wanted.get("alpha", attrs.fields(Rules).alpha.default)
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha < 1:
        said = "--alpha" if "alpha" in flags else where
        raise ConfigError(said, f"alpha must be between 0 and 1, not {alpha!r}")
    for metric, margin in wanted["max_drop"].items():
        if margin < 0:
            said = "--max-drop" if metric in flags.get("max_drop", {}) else where
            raise ConfigError(said, f"the drop of {metric} must not be negative, as {margin!r} is")
