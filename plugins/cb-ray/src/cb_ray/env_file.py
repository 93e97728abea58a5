"""A file of variables on a node: by it, keys reach workers without leaving the node.

What a run passes to Ray, be it an argument, an environment of a task or a setting of the job,
stands in Ray's logs, its tables or its dashboard. The name of a file may.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path

from cbcore.exceptions import UsageError

_LINE = re.compile(
    r"(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<quote>['\"]?)(?P<value>.*)(?P=quote)"
)


def read_variables(path: str) -> dict[str, str]:
    """The variables of a file, one `NAME=value` in each line; quotes around a value are not of it.

    Empty lines and those that begin with `#` are skipped, and so is `export` before a name. Raises
    `UsageError`, which shows nothing of what is in the file.
    """
    found = {}
    try:
        for number, line in enumerate(Path(path).expanduser().read_text("utf-8").splitlines(), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                match = _LINE.fullmatch(line.strip())
                if match is None:
                    raise ValueError(f"line {number} is not NAME=value")
                found[match["name"]] = match["value"]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        if isinstance(error, UnicodeDecodeError):
            reason = "it is not UTF-8"
        raise UsageError(
            f"env_file {path} on {socket.gethostname()} cannot be read: {reason}.",
            hint="Put the file on every node, or set the variables where `ray start` is called.",
        ) from None
    return found
