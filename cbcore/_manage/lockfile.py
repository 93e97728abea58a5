"""`cb-plugins.lock`: the plugins of a project, by name and version, and whether they are these.

It names no host and no folder, so that it can be committed and restored anywhere.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from cbcore.exceptions import ConfigError
from cbcore.names import canonical, is_valid
from cbcore.plugins.catalog import Plugin, State

FILE_NAME = "cb-plugins.lock"
FORMAT = 1
_HEADER = """\
# The plugins this project uses. Written by `cb plugins lock`, restored by `cb plugins sync`,
# and held to by `cb run --locked`.
"""


@attrs.frozen
class Difference:
    """One plugin that is not as the lock says. None stands for not locked, or not installed."""

    name: str
    locked: str | None
    installed: str | None

    def __str__(self) -> str:
        if self.locked is None:
            return f"{self.name} {self.installed} is not in the lock"
        if self.installed is None:
            return f"{self.name} {self.locked} is not installed"
        return f"{self.name} is {self.installed}, locked is {self.locked}"


def versions_of(plugins: Iterable[Plugin]) -> dict[str, str]:
    """What is locked of some plugins: those that may be used, the core among them."""
    return {canonical(p.name): p.version for p in plugins if p.is_usable}


def differences(locked: Mapping[str, str], plugins: Iterable[Plugin]) -> list[Difference]:
    """How the plugins in use differ from the lock, by name.

    One that was switched off for this command is neither missed nor held to its version.
    """
    plugins = list(plugins)
    used = versions_of(plugins)
    switched_off = {canonical(p.name) for p in plugins if p.state is State.DISABLED}
    return [
        Difference(name, locked.get(name), used.get(name))
        for name in sorted({*locked, *used} - (switched_off - used.keys()))
        if locked.get(name) != used.get(name)
    ]


def require_locked(plugins: Iterable[Plugin], path: Path) -> None:
    """Refuse to go on unless the plugins in use are exactly those the lock names."""
    found = differences(read_lock(path), plugins)
    if found:
        raise ConfigError(
            str(path),
            f"the installed plugins are not those locked: {'; '.join(map(str, found))}",
            hint="`cb plugins sync` restores the locked ones, --no-plugin leaves one out, "
            "`cb plugins lock` locks those installed",
        )


def write_lock(path: Path, versions: Mapping[str, str]) -> None:
    """Write the lock, sorted, so that a change shows as the lines that changed."""
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
            hint="update cbcore, or write the lock anew with `cb plugins lock`",
        )
    return _checked(path, data.get("plugins"))


def _checked(path: Path, plugins: Any) -> dict[str, str]:
    if not isinstance(plugins, dict):
        raise ConfigError(str(path), f"[plugins] must be a table of versions, not {plugins!r}")
    for name, version in plugins.items():
        # Both become arguments of an installer, which must not take them for anything else.
        if not is_valid(canonical(name)) or not isinstance(version, str) or not _plain(version):
            raise ConfigError(str(path), f"[plugins] {name} = {version!r} is no name and version")
    return {canonical(name): version for name, version in plugins.items()}


def _plain(version: str) -> bool:
    return bool(version) and all(c.isascii() and (c.isalnum() or c in ".+!-_") for c in version)
