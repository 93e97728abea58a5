"""Watching a plugin while it is imported, and trying its components, each in a process of its own.

`_inspection` asks of many plugins whether they work. Here one is watched closely: how long its
modules take, what they pull in and print, whether they reach for the network, and how they end.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import attrs

from cbcore._manage.rules import HEAVY_PACKAGES, Finding, Severity
from cbcore.plugins._children import ask_child

_TIME_LIMIT_S = 300
_SHOWN_CHARACTERS = 200
_EVENTS = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")


@attrs.frozen
class Probe:
    """What was seen while everything a plugin names was imported."""

    import_ms: float | None = None
    modules: int = 0
    heavy: list[str] = attrs.Factory(list)
    printed: str = ""
    network: list[str] = attrs.Factory(list)
    ended: str = ""
    failed: str = ""
    hint: str = ""
    deprecations: list[str] = attrs.Factory(list)


def probe(name: str, path: Sequence[str] = ()) -> Probe:
    """Import a plugin in a fresh interpreter and say what happened. `path` is searched first."""
    seen, ending = _ask("probe", name, path)
    if seen is None:
        return Probe(ended=f"importing it ended the interpreter ({ending})")
    return Probe(**seen)


def findings(plugin: str, seen: Probe) -> list[Finding]:
    """What of a probe is against the rules. Time is told, and judged by nobody."""
    found = []
    if seen.ended or seen.failed:
        problem, fix = seen.ended or seen.failed, seen.hint or "importing a plugin must not fail"
        found.append(Finding("import", "error", plugin, problem, fix))
    if seen.printed:
        text = seen.printed.strip()
        problem = f"its import prints to standard output: {text!r}"
        found.append(Finding("stdout", "error", plugin, problem, "log to standard error, or not"))
    if seen.network:
        problem = f"its import reaches for the network: {', '.join(seen.network)}"
        fix = "connect when a component is used"
        found.append(Finding("network", "error", plugin, problem, fix))
    if seen.heavy:
        problem = f"its import pulls in {', '.join(seen.heavy)}"
        fix = "import it inside the function that uses it"
        found.append(Finding("heavy-import", "warning", plugin, problem, fix))
    return found + [Finding("deprecated", "warning", plugin, told) for told in seen.deprecations]


def try_kit(plugin: str) -> tuple[dict[str, Any] | None, list[Finding]]:
    """Run the conformance kit on a plugin, by name or by the path of its project.

    Returns the kit's own report as plain data, and what failed or could not be tried as findings.
    """
    report, ending = _ask("kit", plugin, ())
    if report is None:
        problem = f"the conformance kit did not finish ({ending})"
        return None, [Finding("conformance", "error", plugin, problem)]
    if "failed" in report:
        return None, [Finding("conformance", "error", plugin, report["failed"], report["hint"])]
    severity: dict[str, Severity] = {"failed": "error", "unchecked": "note"}
    return report, [
        Finding(
            told["rule"],
            severity[told["status"]],
            f"{report['plugin']} {told['component']}".strip(),
            told["message"],
            f"see {told['docs']}",
        )
        for told in report["findings"]
        if told["status"] in severity
    ]


def _ask(what: str, subject: str, path: Sequence[str]) -> tuple[dict[str, Any] | None, str]:
    """What a child says, or None, and how it ended."""
    answers, ending = ask_child(__name__, [what, subject], timeout_s=_TIME_LIMIT_S, path=path)
    return (answers[0] if answers else None), ending


# -- in the child -------------------------------------------------------------------------------


def main() -> None:
    """Read what is asked on standard input; write one JSON document and leave."""
    what, subject = json.load(sys.stdin)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    captured = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
    os.dup2(captured.fileno(), sys.stdout.fileno())
    answer = _watch(subject, captured) if what == "probe" else _kit(subject)
    out.write(json.dumps(answer) + "\n")
    out.flush()
    os._exit(0)  # threads that a plugin started do not keep anybody waiting


def _watch(name: str, captured: Any) -> dict[str, Any]:
    """Import the modules a plugin names as Python would, then hold them to the contract."""
    import importlib

    from cbcore import deprecations
    from cbcore.components import describe_exception
    from cbcore.plugins import _inspection, _metadata
    from cbcore.plugins._host import PluginHost
    from cbcore.plugins._policy import PluginPolicy

    mine = [d for d in _metadata.scan() if _metadata.same_name(d.name, name)][:1]
    host = PluginHost(mine, PluginPolicy())
    attempts: list[str] = []
    sys.addaudithook(lambda event, arguments: _note(attempts, event, arguments))
    before = set(sys.modules)
    failed = ""
    started = time.perf_counter()
    for module in dict.fromkeys(entry.value.partition(":")[0] for entry in mine[0].entries):
        try:
            importlib.import_module(module.strip())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the plugin boundary
            failed = failed or f"importing {module} failed: {describe_exception(error)}"
    import_ms = round((time.perf_counter() - started) * 1000, 1)
    new = set(sys.modules) - before
    report = _inspection.inspect_plugin(name, host)
    sys.stdout.flush()
    captured.seek(0)
    return {
        "import_ms": import_ms,
        "modules": len(new),
        "heavy": sorted({module.partition(".")[0] for module in new} & HEAVY_PACKAGES),
        "printed": captured.read().decode("utf-8", "replace")[:_SHOWN_CHARACTERS],
        "network": list(dict.fromkeys(attempts)),
        "failed": failed or report["reason"],
        "hint": report["hint"] or "",
        "deprecations": [
            deprecations.message_of(what, deprecations.REMOVALS[what], plugin)
            for plugin, what in deprecations.announced
        ],
    }


def _note(attempts: list[str], event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _EVENTS:
        return
    address = arguments[0] if event == "socket.gethostbyname" else arguments[1]
    if event == "socket.getaddrinfo":
        address = arguments[:2]
    parts = address if isinstance(address, tuple) else (address,)
    attempts.append(":".join(str(part) for part in parts[:2] if part is not None))


def _kit(subject: str) -> dict[str, Any]:
    from cbcore.components import describe_exception
    from cbcore.exceptions import CBError
    from cbcore.testing import check_plugin

    try:
        return check_plugin(subject).to_dict()
    except CBError as error:
        return {"failed": error.message, "hint": error.hint or ""}
    except Exception as error:  # noqa: BLE001 - what the kit lets through is still the plugin's
        return {"failed": describe_exception(error), "hint": ""}
