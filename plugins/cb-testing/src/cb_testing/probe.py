"""One plugin tried in processes of its own: imported under watch, then held to the kit.

`cbcore.plugins` asks of many plugins whether they work. Here one is watched closely: how long
its modules take, what they pull in and print, whether they reach for the network, how they end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any

import attrs

from cb_testing.children import answer, ask_child
from cb_testing.imports import Import, import_each
from cb_testing.inspection import try_plugin
from cb_testing.metadata_rules import Finding, Severity
from cbcore.plugins import Distribution

_TIME_LIMIT_S = 300
_SHOWN_CHARACTERS = 200


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


def probe(distribution: Distribution, path: Sequence[str] = ()) -> Probe:
    """Import a plugin in a fresh interpreter and say what happened. `path` is searched first."""
    modules = dict.fromkeys(e.value.partition(":")[0].strip() for e in distribution.entry_points)
    imports = import_each(modules, path)
    if ended := next((done for done in imports if done.ended), None):
        return Probe(ended=f"importing {ended.name}: {ended.problem}")
    report = try_plugin(distribution.name, path)
    return Probe(
        import_ms=round(sum(done.seconds for done in imports) * 1000, 1),
        modules=sum(len(done.loaded) for done in imports),
        heavy=sorted({package for done in imports for package in done.heavy}),
        printed="".join(done.printed for done in imports)[:_SHOWN_CHARACTERS],
        network=list(dict.fromkeys(place for done in imports for place in done.network)),
        failed=_first_failure(imports) or report.reason,
        hint=report.hint or "",
    )


def _first_failure(imports: Sequence[Import]) -> str:
    failures = (f"importing {done.name} failed: {done.problem}" for done in imports if done.problem)
    return next(failures, "")


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
    return found


def try_kit(plugin: str) -> tuple[dict[str, Any] | None, list[Finding]]:
    """Run the conformance kit on a plugin, by name or by the path of its project.

    Returns the kit's own report as plain data, and what failed or could not be tried as findings.
    """
    answers, ending = ask_child(__name__, plugin, timeout_s=_TIME_LIMIT_S)
    if not answers:
        problem = f"the conformance kit did not finish ({ending})"
        return None, [Finding("conformance", "error", plugin, problem)]
    (report,) = answers
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


# -- in the child -------------------------------------------------------------------------------


def main() -> None:
    """Read the subject on standard input; write the kit's report and leave."""
    answer(_kit)


def _kit(subject: str, _printed: IO[bytes]) -> Iterator[dict[str, Any]]:
    from cb_testing import check_plugin
    from cbcore.boundary import contained
    from cbcore.exceptions import CBError

    with contained() as tried:  # what the kit lets through is still the plugin's
        yield check_plugin(subject).to_dict()
    if isinstance(tried.error, CBError):
        yield {"failed": tried.error.message, "hint": tried.error.hint or ""}
    elif tried.error is not None:
        yield {"failed": tried.reason, "hint": ""}
