"""Knowing plugins without importing them here: each is looked at once, in another process.

Importing a plugin is the only way to learn whether it works and what its hook module offers.
That is done in a child process, which a plugin may print in, exit from or crash without harm,
and remembered until the plugin changes. Plugins that failed are looked at again every time,
because the cause may lie outside them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cbcore
from cbcore._manager import Plugin, PluginHost
from cbcore.components import Component, Owner
from cbcore.exceptions import PluginContractError, PluginError, PluginLoadError

_TIME_LIMIT_S = 120
_DESCRIPTION = ("summary", "tasks", "configs", "applies_to", "emits", "extension", "automatic")


def enrich(host: PluginHost) -> None:
    """Fill in what looking at each usable plugin tells: what it offers, or why it is broken."""
    path = _memory_path()
    memory = _recall(path)
    unknown = []
    for plugin in host.plugins:
        if plugin.usable:
            known = memory.get(plugin.name)
            if known is not None and plugin.stamp and known["stamp"] == _full_stamp(plugin):
                _apply(plugin, known)
            else:
                unknown.append(plugin)
    if not unknown:
        return
    for plugin, report in _look_at(unknown):
        _apply(plugin, report)
        memory.pop(plugin.name, None)
        if plugin.stamp and not report["reason"]:
            memory[plugin.name] = {**report, "stamp": _full_stamp(plugin)}
    _remember(path, memory)


def _full_stamp(plugin: Plugin) -> str:
    return f"{cbcore.__version__} {plugin.version} {plugin.location} {plugin.stamp}"


def _apply(plugin: Plugin, report: dict[str, Any]) -> None:
    owner = Owner(plugin.name, plugin.version)
    plugin.components = [Component(owner=owner, **c) for c in report["components"]] or (
        plugin.components
    )
    if report["reason"]:
        error = PluginLoadError if report["failed"] == "import" else PluginContractError
        plugin.quarantine(error(plugin.name, report["reason"], hint=report["hint"]))


# -- in this process: asking, and remembering ---------------------------------------------------


def _look_at(plugins: list[Plugin]) -> Iterable[tuple[Plugin, dict[str, Any]]]:
    """One report per plugin. A plugin that ends the child is charged; the rest go on in another."""
    waiting = {plugin.name: plugin for plugin in plugins}
    while waiting:
        lines, ending = _ask_child(list(waiting))
        culprit = None
        for line in lines:
            culprit = line["looking_at"]
            if "components" in line:
                yield waiting.pop(culprit), line
                culprit = None
        if culprit is None:  # all were seen, or the child failed by itself: nobody to charge
            return
        reason = f"importing it ended the interpreter ({ending})"
        yield waiting.pop(culprit), _report(culprit, [], "import", reason)


def _ask_child(wanted: list[str]) -> tuple[list[dict[str, Any]], str]:
    import subprocess

    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        child = subprocess.run(
            [sys.executable, "-m", "cbcore._inspection"],
            input=json.dumps(wanted),
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_S,
            env=environ,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        text = output.decode() if isinstance(output, bytes) else output
        return _read_lines(text), f"it took more than {_TIME_LIMIT_S} s"
    return _read_lines(child.stdout), f"exit code {child.returncode}"


def _read_lines(text: str) -> list[dict[str, Any]]:
    complete = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in complete.splitlines()]


def _memory_path() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    root = Path(base) if base else Path.home() / ".cache"
    place = f"{sys.prefix} {sys.version_info[:2]}".encode()
    import zlib

    return root / "cb" / f"plugins-{zlib.crc32(place):08x}.json"


def _recall(path: Path) -> dict[str, Any]:
    try:
        memory = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return memory if isinstance(memory, dict) else {}


def _remember(path: Path, memory: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(memory), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        pass  # a read-only home only costs time


# -- in the child: looking ----------------------------------------------------------------------


def main() -> None:
    """Read names on standard input; write a JSON line before and after looking at each."""
    from cbcore._discovery import same_name, scan
    from cbcore._policy import PluginPolicy

    wanted = json.load(sys.stdin)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what plugins print must not mix in
    distributions = scan()
    for name in wanted:
        out.write(json.dumps({"looking_at": name}) + "\n")
        out.flush()
        mine = [d for d in distributions if same_name(d.name, name)][:1]
        host = PluginHost(mine, PluginPolicy())
        out.write(json.dumps(_inspect(name, host)) + "\n")
        out.flush()


def _inspect(name: str, host: PluginHost) -> dict[str, Any]:
    components = host.components()
    (plugin,) = host.plugins
    described = []
    error = plugin.error
    for component in components or plugin.components:
        try:
            described.append(_plain(component.described()))
        except PluginError as problem:
            error = error or problem
            described.append(_plain(component))
    if error is None:
        return _report(name, described)
    failed = "import" if isinstance(error, PluginLoadError) else "contract"
    return _report(name, described, failed, error.reason, error.hint)


def _plain(component: Component) -> dict[str, Any]:
    target = component.target
    where = target if isinstance(target, str) else f"{target.__module__}:{target.__qualname__}"
    described = {field: getattr(component, field) for field in _DESCRIPTION}
    return {"kind": component.kind, "name": component.name, "target": where, **described}


def _report(
    name: str,
    components: list[dict[str, Any]],
    failed: str = "",
    reason: str = "",
    hint: str | None = None,
) -> dict[str, Any]:
    return {
        "looking_at": name,
        "components": components,
        "failed": failed,
        "reason": reason,
        "hint": hint,
    }


if __name__ == "__main__":
    main()
