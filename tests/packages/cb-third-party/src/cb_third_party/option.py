"""Two flags of `cb run`."""

from __future__ import annotations

from cbcore.settings import Option

NOTE = Option(metavar="TEXT", help="Print a note before the run. Repeatable.", many=True)
TIMES = Option(type=int, metavar="N", help="Print each note N times.", at_least=1)
