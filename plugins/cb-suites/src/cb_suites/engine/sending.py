"""Scorers on their way to workers: as what they were made of, with the code of suites by its file.

A module that lies beside a suite file has a name that only the process knows which loaded it. So
what it defines is sent as the file and a name in it, and looked up there by the worker.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from cb_suites.engine.functions import OF_SUITES, module_of

_PROTOCOL = 5


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, FunctionType | type):
            module = sys.modules.get(value.__module__)
            file = getattr(module, "__file__", None)
            if file is not None and value.__module__.startswith(OF_SUITES):
                return _found, (file, value.__qualname__)
        return NotImplemented


def reduced(make: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """What `__reduce__` of something returns that `make` makes of these arguments."""
    written = io.BytesIO()
    _Pickler(written, _PROTOCOL).dump((make, arguments))
    return _made, (written.getvalue(),)


def _made(payload: bytes) -> Any:
    make, arguments = pickle.loads(payload)  # noqa: S301 - written by the run of this worker
    return make(*arguments)


def _found(file: str, name: str) -> Any:
    """In a worker: what a module of a suite defines. The run has asked whether it is trusted."""
    found: Any = module_of(Path(file), f"!function {Path(file).stem}.{name}")
    for part in name.split("."):
        found = getattr(found, part)
    return found
