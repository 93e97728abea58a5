"""How the process ends: soon, with its code, and at a second signal whatever it is doing."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from typing import NoReturn

from cbcore.cli._text import echo

GRACE_S = 5.0
"""What threads and exit handlers that components left behind may take once all is written."""


def exit_soon(code: int) -> NoReturn:
    """Exit with this code. What keeps the interpreter from ending is given a moment, no more.

    Ctrl-C and SIGTERM make it shorter still.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(code))
    with contextlib.suppress(RuntimeError):  # no thread can be started: then nobody looks
        threading.Thread(target=_end, args=(code,), name="cb-exit", daemon=True).start()
    sys.exit(code)


def _end(code: int) -> None:
    threading.main_thread().join()  # until the interpreter begins to wait for all others
    time.sleep(GRACE_S)
    left = [t.name for t in threading.enumerate() if not t.daemon and t.is_alive()]
    told = f"threads {', '.join(left)}" if left else "an exit handler"
    with contextlib.suppress(Exception):
        echo(f"cb: warning: ended without waiting for {told} of a component", err=True)
        sys.stdout.flush()
    os._exit(code)


_RESET_WHEN_DELIVERED = 0x80000000
"""`SA_RESETHAND` of Linux."""


def die_at_the_second(number: int) -> None:
    """Let the system end the process at the next signal of this number but one.

    A handler in Python is not run while a thread holds the interpreter, as a regular expression
    does. So the first delivery has to set the signal back, without Python. Only where the layout
    of that setting is known: on 64-bit Linux.
    """
    if sys.platform != "linux" or sys.maxsize < 2**32:
        return
    import ctypes

    class Action(ctypes.Structure):
        _fields_ = (
            ("handler", ctypes.c_void_p),
            ("mask", ctypes.c_ulong * 16),
            ("flags", ctypes.c_uint),
            ("restorer", ctypes.c_void_p),
        )

    sigaction = ctypes.CDLL(None).sigaction
    action = Action()
    if sigaction(number, None, ctypes.byref(action)) == 0 and action.handler:
        action.flags |= _RESET_WHEN_DELIVERED
        sigaction(number, ctypes.byref(action), None)
