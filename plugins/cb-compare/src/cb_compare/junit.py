"""JUnit files, which every build server shows: the rows of a run, or the rules of a gate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import attrs

from cbcore.results import EvalResult, EvalRow

if TYPE_CHECKING:
    from cb_compare.gating import Gate, Outcome

# What XML 1.0 cannot hold, not even as a reference.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 2_000


def _check_threshold(_: object, __: object, value: float | None) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"threshold must be a number, not {value!r}")


@attrs.frozen
class Junit:
    """Rows as test cases: passed at the threshold, failed below it, errored, or skipped.

    `threshold` is the score that passes, by default that of the run.
    """

    name = "junit"
    extension = "xml"

    threshold: float | None = attrs.field(default=None, validator=_check_threshold)

    def render(self, result: EvalResult) -> str:
        """One suite for each system."""
        score = str(result.config.get("score_field") or "f1")
        bar = self.threshold
        if bar is None:
            bar = float(result.config.get("settings", {}).get("threshold", 0.7))
        suites = [
            _suite(system, [_row_case(row, score, bar) for row in rows])
            for system, rows in result.rows_by_system().items()
        ]
        state = result.config.get("state") or "finished"
        if state != "finished":  # or a build server would show all that is missing as green
            told = f"the run is {state}: {result.config.get('state_reason') or 'rows are missing'}"
            suites.insert(0, _suite("cb run", [_case("every row was done", "run", "error", told)]))
        return _document(suites)


def gate_as_junit(gate: Gate) -> str:
    """The rules of a gate as test cases: failed when they close it, skipped when unsettled."""
    closing = {id(outcome) for outcome in gate.broken}
    cases = [_rule_case(outcome, id(outcome) in closing) for outcome in gate.outcomes]
    return _document([_suite("cb gate", cases)])


_Case = tuple[str, str]
"""The XML of a test case, and its kind: empty if it passed."""


def _row_case(row: EvalRow, score: str, bar: float) -> _Case:
    name = f"{row.example_id}" + (f" (attempt {row.repeat + 1})" if row.repeat else "")
    told: tuple[str, str] = ("", "")
    if row.error is not None:
        told = "error", row.error
    elif score not in row.scores:
        told = "skipped", f"no {score}: {row.missing.get(score, 'it was not scored')}"
    elif row.scores[score] < bar:
        told = "failure", f"{score} {row.scores[score]:.4g} is below {bar:g}"
    return _case(name, row.dataset or "dataset", *told, time=row.latency, detail=row.response)


def _rule_case(outcome: Outcome, closes: bool) -> _Case:
    kind = "failure" if closes else "skipped" if outcome.state == "inconclusive" else ""
    return _case(f"{outcome.rule} for {outcome.system}", "gate", kind, outcome.told)


def _case(
    name: str,
    group: str,
    kind: str,
    message: str,
    *,
    time: float | None = None,
    detail: str | None = None,
) -> _Case:
    attributes = {"name": name, "classname": group}
    if time is not None:
        attributes["time"] = f"{time:.6f}"
    body = ""
    if kind:
        text = _text((detail or message)[:_LONGEST])
        body = f"<{kind} message={_attribute(message)}>{text}</{kind}>"
    return f"<testcase{_attributes(attributes)}>{body}</testcase>", kind


def _suite(name: str, cases: Iterable[_Case]) -> str:
    cases = list(cases)
    counts: dict[str, Any] = {"name": name, "tests": len(cases)}
    for key, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        counts[key] = sum(found == kind for _, found in cases)
    body = "\n".join(f"    {xml}" for xml, _ in cases)
    return f"  <testsuite{_attributes(counts)}>\n{body}\n  </testsuite>"


def _document(suites: Iterable[str]) -> str:
    body = "\n".join(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n{body}\n</testsuites>\n'


def _attributes(values: dict[str, Any]) -> str:
    return "".join(f" {name}={_attribute(str(value))}" for name, value in values.items())


def _attribute(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("?", text[:_LONGEST]))


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("?", text))
