"""`CB_TRACE=1`: every call of a hook on standard error, with its plugin, duration and outcome."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from cbcore.components import describe_exception
from cbcore.secrets import redact
from cbcore.texts import visible

_OFF = ("", "0", "false", "no", "off")


def is_on() -> bool:
    """Whether the environment asks for a trace."""
    return os.environ.get("CB_TRACE", "").strip().lower() not in _OFF


def traced(plugin: str, hook: str, call: Callable[..., Any], *, offers: bool) -> Callable[..., Any]:
    """The call itself or, when a trace is asked for, one that also tells of itself.

    What an offering hook returns is taken apart here: a generator does its work only then.
    """
    if not is_on():
        return call

    def telling(*arguments: Any) -> Any:
        started = time.perf_counter()
        try:
            returned = call(*arguments)
            if offers:
                returned = list(returned)
        except BaseException as error:  # told, and raised again
            _tell(plugin, hook, started, f"raised {describe_exception(error)}")
            raise
        _tell(plugin, hook, started, f"ok, {len(returned)} offered" if offers else "ok")
        return returned

    return telling


def _tell(plugin: str, hook: str, started: float, outcome: str) -> None:
    took_ms = (time.perf_counter() - started) * 1000
    line = f"cb: trace: {hook} {plugin} {took_ms:.2f} ms {redact(outcome)}"
    print(visible(line), file=sys.stderr)  # noqa: T201 - asked for, and too early for a logger
