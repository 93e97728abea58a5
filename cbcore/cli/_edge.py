"""The edge of a command line: errors end as one message and a documented exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable

import click

from cbcore.cli._guarded import guard_streams
from cbcore.cli._streams import (
    give_output_up,
    hold_standard_streams,
    is_closed_output,
    is_full_output,
)
from cbcore.cli._text import echo
from cbcore.exceptions import CBError
from cbcore.secrets import notice_arguments, notice_environment, redact


def exit_code_of(program: str, call: Callable[[], object]) -> int:
    """Call it, tell on standard error what went wrong, and return the exit code.

    A number that it returns is the code. Errors of `cb` have one of their own, an interrupt
    gives 130, and a reader that went away is none of our errors. Output that nobody can get
    gives 1. What nobody meant to raise is told in one line, or with `CB_DEBUG=1` with its
    traceback, and gives 1.

    The secrets of the command line and of the environment are known from here on, and printed
    by nobody.
    """
    hold_standard_streams()
    notice_environment()
    notice_arguments(sys.argv[1:])
    guard_streams()
    try:
        code = call()
        sys.stdout.flush()
    except CBError as error:
        return _fail(program, error.message, error.hint, error.exit_code)
    except (KeyboardInterrupt, click.exceptions.Abort) as error:
        details = (error.__cause__ or error).args  # the plugin that was being imported
        return _fail(program, " ".join(["interrupted", *map(str, details)]), None, 130)
    except click.ClickException as error:
        return _refuse(program, error)
    except BrokenPipeError:
        give_output_up()
        return 0
    except Exception as error:  # noqa: BLE001 - the edge of the command line
        if is_closed_output(error):
            give_output_up()
            return _fail(program, "standard output is closed: nothing can be written", None, 1)
        if is_full_output(error):
            give_output_up()
            return _fail(program, f"standard output cannot be written: {error.strerror}", None, 1)
        return _fail_unexpectedly(program, error)
    return code if isinstance(code, int) else 0


def _fail(program: str, message: str, hint: str | None, code: int) -> int:
    with contextlib.suppress(OSError, ValueError):  # nobody may be there to read it any more
        echo(f"{program}: error: {redact(message)}", err=True)
        if hint:
            echo(f"hint: {redact(hint)}", err=True)
    return code


def _fail_unexpectedly(program: str, error: Exception) -> int:
    from cbcore.components import describe_exception

    if isinstance(error, MemoryError):
        return _fail(program, "there is not enough memory", None, 1)
    if os.environ.get("CB_DEBUG"):
        import traceback

        echo(redact("".join(traceback.format_exception(error)).rstrip("\n")), err=True)
        return 1
    hint = f"this is a defect of {program}; set CB_DEBUG=1 for the traceback"
    return _fail(program, f"unexpected {describe_exception(error)}", hint, 1)


def _refuse(program: str, error: click.ClickException) -> int:
    """Tell of wrong usage as of any other mistake, with the help to read."""
    if type(error).__name__ == "NoArgsIsHelpError":  # help, and no mistake
        echo(error.format_message(), err=True)
        return error.exit_code
    context = getattr(error, "ctx", None)
    hint = None
    if context is not None:
        path = context.command_path.removeprefix(context.find_root().command_path)
        hint = f"`{program}{path} --help` shows what it takes"
    return _fail(program, error.format_message(), hint, error.exit_code)
