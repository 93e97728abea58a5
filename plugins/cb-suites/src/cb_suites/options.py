"""The flags that cb-suites adds to `cb run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cbcore.settings import Option


def _read_yes_or_no(value: Any) -> bool:
    text = str(value).lower()
    if text not in ("yes", "true", "no", "false"):
        raise ValueError(f"must be yes or no, not {value!r}")
    return text in ("yes", "true")


SUITE = Option(
    type=object,
    many=True,
    metavar="SPEC",
    help="Suite, task, tag, group::task path or glob, also with @format. Repeatable.",
)
INCLUDE_PATH = Option(
    type=Path,
    many=True,
    metavar="DIR",
    help="Folder with suite files of your own. Repeatable.",
)
TRUST = Option(
    type=Path,
    many=True,
    metavar="FOLDER",
    help="Folder whose suite files may run code, name addresses and read variables. Repeatable.",
)
NUM_FEWSHOT = Option(
    type=int,
    at_least=0,
    metavar="N",
    help="Few-shot examples before each question of a suite. Default: what its tasks say.",
)
SYSTEM_INSTRUCTION = Option(
    metavar="TEXT",
    help="Text before the description of every task.",
)
FEWSHOT_AS_MULTITURN = Option(
    type=object,
    parse=_read_yes_or_no,
    metavar="yes|no",
    help="Whether few-shot examples are turns of a conversation. [no]",
)
