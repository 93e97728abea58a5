"""Install and remove plugins: run an installer, check the result, and undo what broke.

The installer is the pip of the running interpreter. It is uv if uv made the environment, is
installed in it, or there is no pip. It gets a list of arguments, never a line for a shell. `cb
doctor` in a new interpreter checks whether `cb` and its plugins still work. Everything that this
module needs is imported before the installer may replace it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cb_testing.metadata_rules import CORE, unmet_requirements
from cbcore.boundary import contained
from cbcore.exceptions import CBError, PluginLoadError, UsageError
from cbcore.names import canonical, hint
from cbcore.plugins import Distribution

_TIME_LIMIT_S = 600
_ITSELF = (CORE, "cb-manage")
_POLICY = ("CB_DISABLE_PLUGINS", "CB_ONLY_PLUGINS", "CB_REQUIRE_PLUGINS", "CB_STRICT_PLUGINS")
_WITH_VALUE = {
    *("-e", "--editable", "-r", "--requirement", "-c", "--constraint", "-t", "--target"),
    *("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host"),
    *("--proxy", "--cert", "--client-cert", "--cache-dir", "--timeout", "--retries"),
    *("--no-binary", "--only-binary", "--python-version", "--platform", "--progress-bar"),
    *("-C", "--config-settings", "--upgrade-strategy", "--report", "--log", "--root", "--prefix"),
}
"""Options of the installer that are followed by a value."""

_WHERE_FROM = {
    *("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host"),
    *("--no-index", "--proxy", "--cert", "--client-cert", "--cache-dir", "--no-build-isolation"),
}
"""Options that say where packages come from; undoing a change needs them too."""


@attrs.frozen
class Installed:
    """An installed distribution at one point in time."""

    name: str
    version: str
    arguments: list[str]
    """The arguments with which an installer restores exactly this."""
    stamp: int

    @classmethod
    def of(cls, one: Distribution) -> Installed:
        """The state of a distribution."""
        origin = one.origin
        if origin.editable:
            arguments = ["--editable", origin.editable]
        elif origin.commit:
            arguments = [f"{one.name} @ git+{origin.url}@{origin.commit}"]
        elif origin.url.startswith("file:"):
            arguments = [f"{one.name} @ {origin.url}"]
        else:
            arguments = [f"{one.name}=={one.version}"]
        return cls(one.name, one.version, arguments, _find_time(one))


@attrs.frozen
class Change:
    """The change that an installer made to one distribution."""

    before: Installed | None
    after: Installed | None

    @property
    def name(self) -> str:
        either = self.after or self.before
        return either.name if either else ""

    def __str__(self) -> str:
        if self.after is None:
            return f"removed {self.name} {self.before.version if self.before else ''}"
        if self.before is None:
            return f"installed {self.name} {self.after.version}"
        return f"replaced {self.name} {self.before.version} by {self.after.version}"


Plugins = Mapping[str, Mapping[str, Any]]
"""The plugins in the output of `cb doctor --json`, by canonical name."""


def install(arguments: Sequence[str], *, verbosity: int = 0) -> tuple[list[Change], Plugins]:
    """Install, check in a new interpreter, and roll back if `cb` or a plugin broke.

    `arguments` are those of an installer: names, folders, files and options. Returns the changes
    and the plugins afterwards. Raises if nothing could be installed, or everything was undone.
    """
    return _change("install", list(arguments), arguments, verbosity)


def uninstall(arguments: Sequence[str], *, verbosity: int = 0) -> list[Change]:
    """Remove distributions, check the rest, and put them back if something broke without them."""
    _, targets = split_arguments(arguments)
    if itself := [name for name in targets if canonical(name) in _ITSELF]:
        raise UsageError(
            "cb does not uninstall itself", hint=f"{sys.executable} -m pip uninstall {itself[0]}"
        )
    present = read_installed()
    absent = [name for name in targets if canonical(name) not in present]
    if absent:
        known = [one.name for one in present.values()]
        raise UsageError(
            f"{absent[0]!r} is not installed",
            hint=hint(absent[0], known, "`cb list-plugins` shows what is"),
        )
    return _change("uninstall", list(arguments), (), verbosity)[0]


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments that say where packages come from, and the names of packages."""
    where_from: list[str] = []
    targets: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("-"):
            targets.append(word)
            continue
        option, equals, _ = word.partition("=")
        value = [waiting.pop(0)] if option in _WITH_VALUE and not equals and waiting else []
        if option in _WHERE_FROM:
            where_from += [word, *value]
    return where_from, targets


def _change(
    verb: str, arguments: list[str], sources: Sequence[str], verbosity: int
) -> tuple[list[Change], Plugins]:
    run = find_installer(verbosity)
    where_from, _ = split_arguments(sources)
    before, unmet_before = read_installed(), unmet_requirements()
    earlier = check_plugins() or {}
    code = run(verb, arguments)
    changes = find_changes(before, read_installed())
    if code == 0:
        later = check_plugins()
        broken = _find_broken(changes, earlier, later)
        touched = {canonical(change.name) for change in changes}
        broken += [
            f"{name}: {problem}"
            for name, problem in sorted(unmet_requirements() - unmet_before)
            if canonical(name) not in touched  # the user may install it with --no-deps
        ]
        if later is not None and not broken:
            return changes, later
        problem = "; ".join(broken) or "cb itself no longer starts"
    else:
        problem = f"the installer failed with exit code {code}"
    if not changes:
        raise UsageError(f"{problem}; nothing was changed", hint="its own messages are above")
    _roll_back(changes, run, where_from, problem)
    if code == 0:
        name = changes[0].name
        raise PluginLoadError(name, f"{problem}; all changes were undone")
    raise UsageError(f"{problem}; all changes were undone", hint="its own messages are above")


def _find_broken(changes: Sequence[Change], earlier: Plugins, later: Plugins | None) -> list[str]:
    """The plugins that do not work although they were just installed, or worked before."""
    touched = {canonical(change.name) for change in changes if change.after}
    return [
        f"{plugin['name']} is {plugin['state']}: {plugin['reason']}"
        for name, plugin in (later or {}).items()
        if plugin["status"] == "broken"
        and (name in touched or earlier.get(name, {}).get("status") == "ok")
    ]


def _roll_back(
    changes: Sequence[Change], run: Callable[..., int], where_from: Sequence[str], problem: str
) -> None:
    """Remove what is new and put back what was there, without touching anything else."""
    back = [argument for change in changes if change.before for argument in change.before.arguments]
    gone = [change.name for change in changes if change.after and not change.before]
    steps: list[tuple[str, list[str]]] = []
    if gone:
        steps.append(("uninstall", gone))
    if back:
        steps.append(("install", ["--no-deps", "--force-reinstall", *where_from, *back]))
    for verb, arguments in steps:
        if run(verb, arguments) != 0:
            raise CBError(
                f"{problem}; undoing that failed",
                hint=f"by hand: {sys.executable} -m pip {verb} {' '.join(arguments)}",
            )


# -- the installer ------------------------------------------------------------------------------


def find_installer(verbosity: int = 0) -> Callable[[str, Sequence[str]], int]:
    """A function that runs pip or uv with a verb and arguments, and returns the exit code."""
    flags = ["--quiet"] if verbosity < 0 else ["--verbose"] * verbosity
    has_pip = importlib.util.find_spec("pip") is not None
    if uv := _find_uv(anywhere=not has_pip):
        command, extra = [uv, "pip"], {}
        flags += ["--python", sys.executable]
    elif has_pip:
        command = [sys.executable, "-m", "pip"]
        extra = {"install": ["--disable-pip-version-check"], "uninstall": ["--yes"]}
    else:
        raise UsageError(
            "there is neither pip nor uv to install with",
            hint=f"{sys.executable} -m ensurepip",
        )

    def run(verb: str, arguments: Sequence[str]) -> int:
        # The installer prints for people; standard output is for results.
        done = subprocess.run(  # noqa: S603 - a list of arguments, no shell
            [*command, verb, *extra.get(verb, ()), *flags, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            check=False,
        )
        importlib.invalidate_caches()
        return done.returncode

    return run


def _find_uv(*, anywhere: bool) -> str | None:
    """The environment's own uv, or the user's if that made the environment.

    Any other uv would not know what this environment's pip was configured to install from.
    """
    made_by_uv = False
    with contextlib.suppress(OSError):
        settings = Path(sys.prefix, "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
        made_by_uv = any(line.partition("=")[0].strip() == "uv" for line in settings.splitlines())
    own = shutil.which("uv", path=str(Path(sys.executable).parent))
    return own or (shutil.which("uv") if made_by_uv or anywhere else None)


# -- checking -----------------------------------------------------------------------------------


def read_installed() -> dict[str, Installed]:
    """Every installed distribution by canonical name."""
    installed: dict[str, Installed] = {}
    for one in Distribution.iter_installed():
        with contained():  # metadata that cannot be read cannot be restored either
            state = Installed.of(one)
            if one.version:
                installed.setdefault(canonical(one.name), state)
    return installed


def _find_time(distribution: Distribution) -> int:
    """The time at which the metadata were written; 0 if it is unknown."""
    folder = distribution.folder
    return 0 if folder is None else (folder / "METADATA").stat().st_mtime_ns


def find_changes(before: Mapping[str, Installed], after: Mapping[str, Installed]) -> list[Change]:
    """The differences, by name."""
    return [
        Change(before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def check_plugins() -> Plugins | None:
    """The plugins of this environment, all imported by `cb doctor`; None if it does not start."""
    with tempfile.TemporaryDirectory(prefix="cb-verify-") as folder:
        environ = {key: value for key, value in os.environ.items() if key not in _POLICY}
        try:
            done = subprocess.run(  # noqa: S603 - this interpreter
                [sys.executable, "-m", CORE, "doctor", "--json"],
                cwd=folder,  # no [tool.cb] applies, and no file in it can be imported
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                timeout=_TIME_LIMIT_S,
                check=False,
            )
            # Of two copies, the first is in use.
            plugins = reversed(json.loads(done.stdout)["plugins"])
            return {canonical(plugin["name"]): plugin for plugin in plugins}
        except (subprocess.TimeoutExpired, ValueError):  # it printed nothing
            return None
