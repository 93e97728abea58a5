"""A result in a few lines of text."""

from __future__ import annotations

import re

from cbcore import EvalResult

# Control characters, and those that change the direction of text: what comes from data or a
# model must not be able to move the cursor or to disguise itself.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class {{ cookiecutter.__class }}:
    """A compact text: a paragraph per system with its values and what they rest on."""

    name = "{{ cookiecutter.__name }}"
    extension = "txt"

    def __init__(self, digits: int = 3) -> None:
        if digits < 0:
            raise ValueError(f"digits is {digits}: it must not be negative")
        self.digits = digits

    def render(self, result: EvalResult) -> str:
        """The whole report, ending in a line break."""
        state = result.config.get("state", "finished")
        lines = [] if state == "finished" else [f"the run is incomplete: {state}"]
        for system, counts in result.counts().items():
            lines.append(f"{system}: {counts.scored} of {counts.total} scored")
            lines += [f"  {counts.errored} errored"] * (counts.errored > 0)
            values = result.summary.get(system, {})
            lines += [f"  {key} {self._shown(value)}" for key, value in values.items()]
        lines += [f"problem: {problem}" for problem in result.problems]
        return "".join(f"{_visible(line)}\n" for line in lines) or "no rows\n"

    def _shown(self, value: float | None) -> str:
        """A number; what has no finite value is not shown as zero."""
        return "n/a" if value is None else f"{value:.{self.digits}f}"


def _visible(text: str) -> str:
    """The text with unsafe characters written out, such as `\\x1b`."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
