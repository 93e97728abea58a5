"""Plain data: what JSON can hold. Anything becomes it, and it becomes bytes and is read back.

`json_safe` takes whatever it is given and never fails: it is for what has to be written down.
`canonical_bytes` and `plain_bytes` refuse what is not plain data: what they write is read back
as it was, and two contents are never taken for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cbcore.plain._values import json_safe

if TYPE_CHECKING:
    from cbcore.plain._bytes import canonical_bytes, from_bytes, plain_bytes

__all__ = ("canonical_bytes", "from_bytes", "json_safe", "plain_bytes")


def __getattr__(name: str) -> Any:
    # Light commands show values and write no bytes: they need not import orjson.
    if name not in __all__:
        raise AttributeError(f"module 'cbcore.plain' has no attribute {name!r}")
    from cbcore.plain import _bytes

    return getattr(_bytes, name)
