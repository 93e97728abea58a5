"""Where code of others runs: what it raises ends here, as an error of `cb` or as a value.

Exceptions and exits are the doing of that code. What ends a program, a generator or a task from
outside (`KeyboardInterrupt`, `GeneratorExit`, `CancelledError`) passes through both.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from cbcore.exceptions import CBError
from cbcore.secrets import redact

__all__ = ("at_boundary", "contained", "describe_exception")

_MOST_CHARACTERS = 4000
"""Of a message; a longer one was not written to be read."""
_LONGEST_REPR = 200
_MOST_FRAMES = 20
"""Of each exception in the chain, the last ones."""
_LONGEST_TRACEBACK = 6000
"""Of a whole traceback; its middle is left out."""

_HERE = str(Path(__file__).parent)
_NOTE = "__cb_traceback__"


def is_foreign(error: BaseException) -> bool:
    """Whether code of others raised it by its own doing, whatever it derives from."""
    if isinstance(error, KeyboardInterrupt | GeneratorExit):
        return False
    loaded = sys.modules.get("asyncio.exceptions")  # where it is not, nobody can be cancelled
    return loaded is None or not isinstance(error, loaded.CancelledError)


@contextlib.contextmanager
def at_boundary(
    doing: str,
    failure: Callable[[str], Exception],
    *,
    through: type[Exception] | tuple[type[Exception], ...] = CBError,
) -> Iterator[None]:
    """Run code of others; what it raises becomes `failure("<doing> failed: <Type>: <message>")`.

    Errors of `cb`, or those of the types in `through`, are left as they are: raised on purpose.
    `failure` is a class of error, or any function that makes one of the text.
    """
    try:
        yield
    except BaseException as error:  # exits are the doing of that code, too
        if not is_foreign(error) or isinstance(error, through):
            raise
        raise failure(f"{doing} failed: {describe_exception(error)}") from error


class contained:  # noqa: N801 - it reads as what it is used for: `with contained() as tried:`
    """Run code of others and go on after it; `error` is what it raised, or None."""

    error: BaseException | None = None

    @property
    def reason(self) -> str:
        """The error as `Type: message` on one line; empty if there is none."""
        return "" if self.error is None else describe_exception(self.error)

    def __enter__(self) -> contained:  # noqa: PYI034 - nothing is derived from it
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> bool:
        if error is None or not is_foreign(error):
            return False
        self.error = error
        return True


def describe_exception(error: BaseException) -> str:
    """`Type: message` on one line, naming an exit for what it is. Never fails, and ends.

    Known secrets are redacted.
    """
    if isinstance(error, SystemExit):
        return f"it called sys.exit({describe_value(error.code)})"
    text = ""
    with contained() as attempt:
        # Redact before anything is cut off: a part of a secret could not be found any more.
        text = redact(str(error))
        if len(text) > _MOST_CHARACTERS:
            text = f"{text[:_MOST_CHARACTERS]}… ({len(text):,} characters)"
        text = " ".join(text.split())
    if attempt.error is not None:
        text = f"(its message cannot be had: {type(attempt.error).__name__})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def describe_value(value: object) -> str:
    """The `repr` of a value, shortened; its type if it has none. Never fails itself."""
    text = f"<{type(value).__name__}>"
    with contained():  # the `repr` of somebody else's object is code, too
        text = redact(repr(value))
    text = re.sub(" at 0x[0-9a-fA-F]+", "", text)  # another one in every run
    return text if len(text) <= _LONGEST_REPR else f"{text[:_LONGEST_REPR]}…"


# -- tracebacks ---------------------------------------------------------------------------------


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
    if len(text) <= _LONGEST_TRACEBACK:
        return text
    half = _LONGEST_TRACEBACK // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters …\n{text[-half:]}"
