"""Printing for commands, and the edge where an error becomes one message and an exit code."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from cbcore.exceptions import CBError
from cbcore.secrets import RedactedStream, notice_arguments, notice_environment, redact
from cbcore.texts import clean, visible, visible_json

_LEAST_ROOM = 24
"""Characters. Text in a narrower column is harder to read than lines that run over."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def echo(text: str = "", *, err: bool = False) -> None:
    """Print lines to standard output, or to standard error, with control characters written out.

    Everything that commands print goes through here, so that no name, path or message moves a
    cursor, changes a title or hides text.
    """
    click.echo(visible(text, keep="\n"), err=err)


def echo_columns(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print left-aligned columns. On a narrow terminal, the last column is wrapped."""
    import shutil
    import textwrap

    table = [list(header), *([clean(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    room = shutil.get_terminal_size().columns - sum(width + 2 for width in widths[:-1])
    is_wrapped = sys.stdout.isatty() and room >= _LEAST_ROOM
    for row in table:
        lines = [row[-1]]
        if is_wrapped:
            lines = textwrap.wrap(row[-1], room, break_long_words=False, break_on_hyphens=False)
        label = "".join(f"{cell:<{width}}  " for cell, width in zip(row, widths[:-1], strict=False))
        for line in lines or [""]:
            echo(f"{label}{line}".rstrip())
            label = " " * len(label)


def echo_json(data: Any) -> None:
    """Print indented JSON. Non-ASCII characters stay as they are."""
    import json

    click.echo(visible_json(json.dumps(data, indent=2, ensure_ascii=False)))


def _prepare_streams() -> None:
    """Replace standard streams that are closed, and redact what is printed from now on.

    The next file that is opened would get the number of a closed stream. What goes past Python's
    streams (a child process, `os.write`) is not redacted.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # Output that the user asked for must not be lost silently: writing it fails.
            mode = "w" if name == "stderr" else "r"
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for name in ("stdout", "stderr"):
        if not isinstance(getattr(sys, name), RedactedStream):
            setattr(sys, name, RedactedStream(getattr(sys, name)))
        setattr(sys, f"__{name}__", getattr(sys, name))


def abandon_output() -> None:
    """Drop what could not be written, so that the end of the process does not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def exit_codes(program: str) -> Iterator[None]:
    """Around a program: print on standard error what goes wrong, and exit with the right code.

    Errors of `cb` have their own code, and Ctrl-C gives 130. A closed pipe is not an error. Any other
    exception gives 1 and is printed in one line, or with its traceback if `CB_DEBUG=1`. Secrets of
    the command line and the environment are redacted in everything that is printed from here on.
    """
    notice_environment()
    notice_arguments(sys.argv[1:])
    _prepare_streams()
    code: Any = 0
    try:
        try:
            yield
        except SystemExit as ended:
            code = ended.code
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_output()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the edge of the command
        message, hint, code = _explain(program, error)
        with contextlib.suppress(OSError, ValueError):  # standard error may be closed too
            echo(redact(message), err=True)
            if hint:
                echo(f"hint: {redact(hint)}", err=True)
    sys.exit(code)


@contextlib.contextmanager
def stop_on_signals() -> Iterator[None]:
    """Around a run: Ctrl-C, SIGTERM and SIGHUP end it with its rows, a second one at once."""
    handled = [signal.SIGINT, signal.SIGTERM]
    # A run that is started with `nohup` outlives the terminal.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handled.append(signal.SIGHUP)

    def stop(*_: object) -> None:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _explain(program: str, error: BaseException) -> tuple[str, str | None, int]:
    """The message for an error, its hint, and the exit code."""
    hint = None
    code = 1
    if isinstance(error, CBError):
        message = error.message
        hint = error.hint
        code = error.exit_code
    elif isinstance(error, KeyboardInterrupt | click.Abort):
        details = (error.__cause__ or error).args  # the plugin that was being imported
        message = " ".join(["interrupted", *map(str, details)])
        code = 130
    elif isinstance(error, click.ClickException):
        message = error.format_message()
        code = error.exit_code
        if type(error).__name__ == "NoArgsIsHelpError":  # not an error, and new in click 8.2
            return message, None, code
        if context := getattr(error, "ctx", None):
            path = context.command_path.removeprefix(context.find_root().command_path)
            hint = f"`{program}{path} --help` shows what it takes"
    elif isinstance(error, MemoryError):
        message = "there is not enough memory"
    elif isinstance(error, io.UnsupportedOperation):
        message = "standard output is closed: nothing can be written"
    elif isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
        abandon_output()
        message = f"standard output cannot be written: {error.strerror}"
    elif os.environ.get("CB_DEBUG"):
        import traceback

        return "".join(traceback.format_exception(error)).rstrip("\n"), None, 1
    else:
        from cbcore.boundary import describe_exception

        message = f"unexpected {describe_exception(error)}"
        hint = f"this is a defect of {program}; set CB_DEBUG=1 for the traceback"
    return f"{program}: error: {message}", hint, code
