"""Where code of others failed: its traceback as text, which a row can keep.

Frames of `cb` that lead to that code are left out, as nobody looks there for the mistake.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import attrs

from cbcore.boundary import contained
from cbcore.exceptions import CBError
from cbcore.secrets import redact

MOST_FRAMES = 20
"""Of each exception in the chain, the last ones."""
MOST_CHARACTERS = 6000
"""Of a whole traceback; its middle is left out."""

_HERE = str(Path(__file__).parents[1])
_NOTE = "__cb_traceback__"


def traceback_of(error: BaseException) -> str:
    """The traceback of code of others, ending in the exception; bounded, and without secrets.

    Empty where there is nothing to look up: for an error of `cb`, which says what is wrong by its
    message, and for one that was never raised. Never fails.
    """
    if isinstance(error, CBError):
        return ""
    with contained():  # somebody else's exception: anything of it may fail
        if isinstance(noted := getattr(error, _NOTE, None), str):
            return noted
        if (raised := _from_foreign_code(error.__traceback__)) is not None:
            import traceback

            told = traceback.TracebackException(
                type(error), error, raised, limit=-MOST_FRAMES, compact=True
            )
            # Equal ones are one object: rows mostly fail alike.
            return sys.intern(_shortened(redact("".join(told.format()).rstrip("\n"))))
    return ""


def noted(error: BaseException) -> BaseException:
    """The same exception, which has its traceback with it when it is sent to another process."""
    if not isinstance(error, CBError):
        with contained():  # somebody else's exception may take no attribute
            setattr(error, _NOTE, traceback_of(error))
    return error


@attrs.frozen(eq=False, repr=False)
class Raised:
    """What a call raised. To another process goes only what is to be read of it."""

    error: BaseException | None
    traceback: str

    @classmethod
    def by(cls, error: BaseException) -> Raised:
        """What is to be kept of an exception that was caught."""
        return cls(error, traceback_of(error))

    def __reduce__(self) -> tuple[type[Raised], tuple[None, str]]:
        return Raised, (None, self.traceback)

    def cause(self) -> BaseException | None:
        """What to chain an error of `cb` to: the exception, or what is left of it."""
        return self.error or (RaisedElsewhereError(self.traceback) if self.traceback else None)


class FailedScoring(NamedTuple):
    """An evaluator that raised where it should have scored a row, and how the row tells it."""

    evaluator: str
    reason: str
    raised: Raised


class RaisedElsewhereError(Exception):
    """Stands for an exception of another process. Its text is the traceback there."""

    def __str__(self) -> str:
        return "\n" + super().__str__()


def _from_foreign_code(found: TracebackType | None) -> TracebackType | None:
    """A traceback from the first frame on that is not ours; whole where all are."""
    frame = found
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_HERE):
        frame = frame.tb_next
    return frame or found


def _shortened(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters …\n{text[-half:]}"
