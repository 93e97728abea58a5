"""The kinds of components that come with suites: suites themselves, and formats of tasks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cbcore.components import Kind


def _no_path(value: Any) -> str | None:
    if isinstance(value, str | os.PathLike) and Path(value).exists():
        return None
    return f"return the path of a suite file or folder that exists, not {value!r}"


def _no_format(value: Any) -> str | None:
    from cb_suites.engine.formats import Format

    return None if isinstance(value, Format) else "give it a name, ask(), show() and read()"


SUITE = Kind(
    name="suite",
    offer="suites: named benchmarks made of several datasets",
    target="It returns the path of a suite file or folder.",
    problem=_no_path,
    example="cb run --system identity --suite {spec}",
)

FORMAT = Kind(
    name="format",
    offer="formats for the tasks of suites: how choices are shown, how an answer is read back",
    target="It makes a `cb_suites.engine.formats.Format` from the parameters a suite gives.",
    problem=_no_format,
    example="cb run --system identity --suite TASK@{spec}",
)
