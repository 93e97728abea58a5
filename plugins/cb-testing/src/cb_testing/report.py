"""What a check found: one verdict per rule and component, readable by people and by machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import attrs

DOCS = "docs/reference/conformance.md"
"""The page that explains every rule, under a heading that is the rule's id."""

Status: TypeAlias = Literal["passed", "failed", "skipped", "unchecked"]


@attrs.frozen
class Verdict:
    """What one rule says of one component, or of the plugin as a whole.

    `status` is `passed`; `failed`; `skipped` where the caller said that the rule does not
    apply; or `unchecked` where it could not be tried, for a reason outside the component.
    `message` says what to fix. `kind` is `plugin`, and `component` empty, for what concerns
    the whole plugin.
    """

    rule: str
    kind: str
    component: str
    status: Status
    message: str

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return self.status != "failed"

    @property
    def docs(self) -> str:
        """Where the rule is explained."""
        return f"{DOCS}#{self.rule}"

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return {**attrs.asdict(self), "ok": self.ok, "docs": self.docs}

    def __str__(self) -> str:
        subject = f"{self.kind} {self.component}".strip()
        return f"{self.status.upper()} {subject}: {self.rule}\n  {self.message}\n  see {self.docs}"


@attrs.frozen
class Report:
    """Everything that was found when a plugin was checked."""

    plugin: str
    version: str = ""
    findings: tuple[Verdict, ...] = ()

    @property
    def failures(self) -> list[Verdict]:
        """What the author has to fix."""
        return self._with("failed")

    @property
    def unchecked(self) -> list[Verdict]:
        """What could not be looked at: a component that needs parameters, a network, an extra."""
        return self._with("unchecked")

    @property
    def skipped(self) -> list[Verdict]:
        """The rules that the caller declared not to apply."""
        return self._with("skipped")

    def _with(self, status: Status) -> list[Verdict]:
        return [verdict for verdict in self.findings if verdict.status == status]

    def assert_ok(self) -> None:
        """Raise `AssertionError` with everything that failed, or that nobody looked at.

        A component that could not be checked counts, so that a test does not pass because it
        tested nothing.
        """
        __tracebackhide__ = True
        if self.failures or self.unchecked:
            raise AssertionError(str(self))

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return {
            "plugin": self.plugin,
            "version": self.version,
            "ok": not self.failures,
            "findings": [verdict.to_dict() for verdict in self.findings],
        }

    def __str__(self) -> str:
        counts = Counter(verdict.status for verdict in self.findings)
        told = ", ".join(f"{n} {status}" for status, n in counts.items()) or "nothing to check"
        lines = [f"{self.plugin} {self.version}".strip() + f": {told}"]
        noted: Sequence[Verdict] = [*self.failures, *self.unchecked, *self.skipped]
        return "\n".join([*lines, *map(str, noted)])
