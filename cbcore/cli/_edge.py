"""The edge of a command line: errors end as one message and a documented exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import click

from cbcore.cli._streams import give_output_up, hold_standard_streams, is_closed_output
from cbcore.exceptions import CBError


def exit_code_of(program: str, call: Callable[[], object]) -> int:
    """Call it, tell on standard error what went wrong, and return the exit code.

    A number that it returns is the code. Errors of `cb` have one of their own, an interrupt
    gives 130, and a reader that went away is none of our errors. Output that nobody can
    get gives 1. What nobody meant to raise is told in one line, or with `CB_DEBUG=1` raised as it
    is.
    """
    hold_standard_streams()
    try:
        code = call()
        sys.stdout.flush()
    except CBError as error:
        return _fail(program, error.message, error.hint, error.exit_code)
    except (KeyboardInterrupt, click.exceptions.Abort):
        return _fail(program, "interrupted", None, 130)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        give_output_up()
        return 0
    except Exception as error:  # the edge of the command line
        if is_closed_output(error):
            give_output_up()
            return _fail(program, "standard output is closed: nothing can be written", None, 1)
        if os.environ.get("CB_DEBUG"):
            raise
        from cbcore.components import describe_exception

        hint = f"this is a defect of {program}; set CB_DEBUG=1 for the traceback"
        return _fail(program, f"unexpected {describe_exception(error)}", hint, 1)
    return code if isinstance(code, int) else 0


def _fail(program: str, message: str, hint: str | None, code: int) -> int:
    from cbcore.secrets import redact

    click.echo(f"{program}: error: {redact(message)}", err=True)
    if hint:
        click.echo(f"hint: {redact(hint)}", err=True)
    return code
