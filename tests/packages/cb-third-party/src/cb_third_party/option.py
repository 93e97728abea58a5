"""A flag of `cb run`, and an option for it."""

from __future__ import annotations

from cbcore.extensions import Contribution, Setup
from cbcore.settings import Option

TIMES = Option(name="times", type=int, metavar="N", help="Print each note N times.", at_least=1)


class Note:
    """Print a note before the run. Repeatable."""

    name = "third-note"
    metavar = "TEXT"

    def __init__(self, notes: list[str], times: int = 1) -> None:
        self.notes, self.times = notes, times

    def set_up(self, setup: Setup) -> Contribution:
        for note in self.notes:
            setup.warn(" ".join([note] * self.times))
        return Contribution()
