"""The flags that cb-memory adds to `cb run`."""

from __future__ import annotations

from pathlib import Path

from cbcore.settings import Option

MEMORY = Option(
    type=object,
    many=True,
    metavar="SPEC",
    help='Memory system, alone or with readers: "bm25:k=10 | extractive". Repeatable.',
)
GOLD_ERRORS = Option(
    type=Path,
    many=True,
    metavar="FILE",
    help="List of questions with a wrong gold answer; lowers the ceilings. Repeatable.",
)
INGEST_TIMEOUT = Option(
    type=float,
    metavar="S",
    help="Seconds a memory may take to ingest one history.",
    above=0,
)
