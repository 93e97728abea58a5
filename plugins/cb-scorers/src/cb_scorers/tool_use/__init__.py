"""Function calls compared with the expected ones."""

from __future__ import annotations

from cb_scorers.tool_use.call import Call
from cb_scorers.tool_use.calls import calls_of
from cb_scorers.tool_use.evaluator import ToolCallMatch

__all__ = ["Call", "ToolCallMatch", "calls_of"]
