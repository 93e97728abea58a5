"""The conformance kit in a process of its own, which a plugin may end, hang or print in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from cb_testing.children import answer, ask_child
from cb_testing.metadata_rules import Finding, Severity

_TIME_LIMIT_S = 300


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
