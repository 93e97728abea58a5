"""When Python looks for garbage during a command."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def preparing() -> Iterator[Callable[[], None]]:
    """While a run is put together, look for no garbage: nearly all that is made then stays.

    What is handed out is called when it is ready. From then on the collector works as before,
    and leaves out what was there by then, in the run as at the end of the process.
    """
    was_enabled = gc.isenabled()

    def ready() -> None:
        if not gc.get_freeze_count():  # once: who runs several commands has garbage of the last
            gc.freeze()
        if was_enabled:
            gc.enable()

    gc.disable()
    try:
        yield ready
    finally:
        if was_enabled:
            gc.enable()
