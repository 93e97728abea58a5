"""Function calls compared with the expected ones."""

from __future__ import annotations

from cb_tool_use.call import Call
from cb_tool_use.calls import calls_of
from cb_tool_use.evaluator import ToolCallMatch

__all__ = ["Call", "ToolCallMatch", "calls_of"]
