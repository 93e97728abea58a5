"""A file of variables on a node: by it, keys reach workers without leaving the node.

What a run passes to Ray, be it an argument, an environment of a task or a setting of the job, is
Ray's from then on: it stands in its logs, its tables or its dashboard. The name of a file may.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path

_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_QUOTES = ("'", '"')


class EnvFileError(Exception):
    """The file of variables cannot be used. What stands in it is in no message."""


def read(path: str) -> dict[str, str]:
    """The variables of a file, one `NAME=value` in each line; quotes around a value are not of it.

    Empty lines and those that begin with `#` are passed over, and so is `export` before a name.
    """
    try:
        lines = Path(path).expanduser().read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise EnvFileError(f"{_place(path)} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise EnvFileError(f"{_place(path)} cannot be read: it is not UTF-8") from None
    found = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        if (match := _LINE.fullmatch(line)) is None:
            raise EnvFileError(f"{_place(path)}, line {number} is not NAME=value")
        value = match["value"]
        if len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES:
            value = value[1:-1]
        found[match["name"]] = value
    return found


def _place(path: str) -> str:
    return f"env_file {path} on {socket.gethostname()}"
