"""The result as JSON."""

from __future__ import annotations

from cbcore.results import EvalResult


class JsonReport:
    """Whole result as one JSON document that cb can read back."""

    name = "json"
    extension = "json"

    def render(self, result: EvalResult) -> str:
        """Rows, summary, timing, problems and configuration."""
        return result.to_json()
