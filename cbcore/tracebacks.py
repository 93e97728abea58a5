"""Where the code of others failed: its traceback as text, which a row can keep."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType

from cbcore.boundary import contained
from cbcore.exceptions import CBError
from cbcore.secrets import redact

__all__ = ()

_MOST_FRAMES = 20
"""Of each exception in the chain, the last ones."""
_MOST_CHARACTERS = 6000
"""Of a whole traceback; its middle is left out."""

_HERE = str(Path(__file__).parent)
_NOTE = "__cb_traceback__"


def format_traceback(error: BaseException) -> str:
    """The traceback of code of others, ending in the exception; bounded, and without secrets.

    Frames of `cb` that lead to that code are left out. Empty for an error of `cb`, which says what
    is wrong by its message, and for one that was never raised. Never fails.
    """
    if isinstance(error, CBError):
        return ""
    with contained():  # somebody else's exception: anything of it may fail
        noted = getattr(error, _NOTE, None)
        if isinstance(noted, str):
            return noted
        if (raised := find_foreign_frames(error.__traceback__)) is not None:
            import traceback

            formatted = traceback.TracebackException(
                type(error), error, raised, limit=-_MOST_FRAMES, compact=True
            )
            # Equal ones are one object: rows mostly fail alike.
            return sys.intern(_shorten(redact("".join(formatted.format()).rstrip("\n"))))
    return ""


def note_traceback(error: BaseException, text: str | None = None) -> BaseException:
    """The same exception, which has its traceback as text when it is sent to another process."""
    if not isinstance(error, CBError):
        with contained():  # somebody else's exception may take no attribute
            setattr(error, _NOTE, format_traceback(error) if text is None else text)
    return error


def find_foreign_frames(found: TracebackType | None) -> TracebackType | None:
    """A traceback from the first frame on that is not ours; whole if all are."""
    frame = found
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_HERE):
        frame = frame.tb_next
    return frame or found


def _shorten(text: str) -> str:
    if len(text) <= _MOST_CHARACTERS:
        return text
    half = _MOST_CHARACTERS // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters …\n{text[-half:]}"
