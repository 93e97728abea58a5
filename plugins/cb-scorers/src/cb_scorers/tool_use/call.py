"""What a call is, whoever wrote it and however."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen
class Call:
    """One call: a function's name and its arguments by name."""

    name: str
    arguments: dict[str, Any]
