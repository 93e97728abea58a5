"""`cb-plugins.lock`: the plugins of a project by name and version.

The lock names neither a host nor a folder, so it can be committed and restored anywhere.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from cbcore.exceptions import ConfigError
from cbcore.names import canonical
from cbcore.plugins import Plugin

FILE_NAME = "cb-plugins.lock"
FORMAT = 1
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]*")
_HEADER = """\
# The plugins this project uses. Written by `cb plugins lock`, restored by `cb plugins sync`,
# checked by `cb run --locked`.
"""


@attrs.frozen
class Difference:
    """A plugin that differs from the lock. None stands for not locked, or not installed."""

    name: str
    locked: str | None
    installed: str | None

    def __str__(self) -> str:
        if self.locked is None:
            return f"{self.name} {self.installed} is not in the lock"
        if self.installed is None:
            return f"{self.name} {self.locked} is not installed"
        return f"{self.name} is {self.installed}, locked is {self.locked}"


def list_versions(plugins: Iterable[Plugin]) -> dict[str, str]:
    """The versions of the plugins that can be used, the core included, by canonical name."""
    return {canonical(p.name): p.version for p in plugins if p.is_usable}


def find_differences(locked: Mapping[str, str], plugins: Iterable[Plugin]) -> list[Difference]:
    """How the plugins in use differ from the lock, by name.

    A plugin that is disabled for this command does not count.
    """
    plugins = list(plugins)
    used = list_versions(plugins)
    disabled = {canonical(p.name) for p in plugins if p.state == "disabled"}
    return [
        Difference(name, locked.get(name), used.get(name))
        for name in sorted({*locked, *used} - (disabled - used.keys()))
        if locked.get(name) != used.get(name)
    ]


def require_locked(plugins: Iterable[Plugin], path: Path = Path(FILE_NAME)) -> None:
    """Raise `ConfigError` unless the plugins in use are exactly those in the lock."""
    differences = find_differences(read_lock(path), plugins)
    if differences:
        raise ConfigError(
            str(path),
            f"the installed plugins are not those locked: {'; '.join(map(str, differences))}",
            hint="`cb plugins sync` restores the locked ones, --no-plugin leaves one out, "
            "`cb plugins lock` locks those installed",
        )


def write_lock(path: Path, versions: Mapping[str, str]) -> None:
    """Write the lock with sorted names, so that a difference shows only the changed plugins."""
    lines = [f"{name} = {json.dumps(versions[name])}" for name in sorted(versions)]
    text = f"{_HEADER}format = {FORMAT}\n\n[plugins]\n" + "".join(f"{line}\n" for line in lines)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), f"cannot be written: {error.strerror}") from error


def read_lock(path: Path) -> dict[str, str]:
    """The locked versions by canonical name."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(
            str(path), "there is no such lock", hint="`cb plugins lock` writes it"
        ) from error
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from error
    except ValueError as error:  # wrong encoding, or not TOML
        raise ConfigError(str(path), f"is not a lock of plugins: {error}") from error
    if data.get("format") != FORMAT:
        raise ConfigError(
            str(path),
            f"has format {data.get('format')!r}; this version of cb reads {FORMAT}",
            hint="update cb-manage, or write the lock again with `cb plugins lock`",
        )
    return _check_versions(path, data.get("plugins"))


def _check_versions(path: Path, plugins: Any) -> dict[str, str]:
    if not isinstance(plugins, dict):
        raise ConfigError(str(path), f"[plugins] must be a table of versions, not {plugins!r}")
    for name, version in plugins.items():
        if not _is_plain(name) or not _is_plain(version):
            raise ConfigError(str(path), f"[plugins] {name} = {version!r} is no name and version")
    return {canonical(name): version for name, version in plugins.items()}


def _is_plain(value: Any) -> bool:
    """Whether an installer reads a value as a name or version, and as nothing else."""
    return isinstance(value, str) and _PLAIN.fullmatch(value) is not None
