"""Where code of others runs: what it raises ends here, as an error of `cb` or as a value.

Exceptions and exits are the doing of that code. What ends a program, a generator or a task from
outside (`KeyboardInterrupt`, `GeneratorExit`, `CancelledError`) passes through both.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import TracebackType

from cbcore.components import describe_exception
from cbcore.exceptions import CBError

__all__ = ("at_boundary", "contained")


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
        """What went wrong, as `Type: message` on one line; empty where nothing did."""
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
