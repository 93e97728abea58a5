"""Runs generated code against its tests, locked up as well as the machine can."""

from __future__ import annotations

from cb_code_execution.evaluator import CodeExecution, pass_at_k
from cb_code_execution.extraction import code_of
from cb_code_execution.limits import Limits
from cb_code_execution.sandbox import Outcome, Sandbox, SandboxError

__all__ = ["CodeExecution", "Limits", "Outcome", "Sandbox", "SandboxError", "code_of", "pass_at_k"]
