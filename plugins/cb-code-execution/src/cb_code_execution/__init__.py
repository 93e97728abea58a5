"""Runs generated code against its tests, locked up as well as the machine can.

The names are imported when they are first used: an option is light, a sandbox is not.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_code_execution.evaluator import CodeExecution as CodeExecution
    from cb_code_execution.evaluator import pass_at_k as pass_at_k
    from cb_code_execution.extraction import code_of as code_of
    from cb_code_execution.limits import Limits as Limits
    from cb_code_execution.sandbox import Outcome as Outcome
    from cb_code_execution.sandbox import Sandbox as Sandbox
    from cb_code_execution.sandbox import SandboxError as SandboxError

_HOMES = {
    "CodeExecution": "evaluator",
    "Limits": "limits",
    "Outcome": "sandbox",
    "Sandbox": "sandbox",
    "SandboxError": "sandbox",
    "code_of": "extraction",
    "pass_at_k": "evaluator",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.{_HOMES[name]}:{name}")
