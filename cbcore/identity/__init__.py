"""What makes two components the same one, so that stored results can be trusted.

The identity of a component covers everything that can change what it returns: its owner and
version, its parameters, its attributes, and its code. Of somebody's own code that is the module
of the class and every own module it imports; private attributes count as well. It never holds a
secret.

Attributes let an object say more of itself:

- `identity`: plain data that stands for all of the above.
- `identity_files`: files it reads, whose content counts too.
- `name_is_label`: True where its name changes nothing of what it returns.
- `identity_without`: parameters and attributes that change nothing of it, such as a file of prices.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from cbcore.chains import Chain, Renamed
from cbcore.identity._descriptions import Seen, described, left_out
from cbcore.identity._sources import UnidentifiableError, digest_of_maker
from cbcore.json_data import to_json

__all__ = (
    "UnidentifiableError",
    "identity_of",
)

_SCHEME = 3
"""Changed whenever identities mean something else, so that none of before is taken for one."""


def identity_of(obj: Any, *, record: Mapping[str, Any] | None = None) -> bytes:
    """A digest of all that can change what a component returns.

    `record` is what a result says of the component (owner, version, parameters). Raises
    `UnidentifiableError` when no identity can be had.
    """
    return identify(obj, record)[0]


def identify(obj: Any, record: Mapping[str, Any] | None) -> tuple[bytes, list[Seen]]:
    """An identity as of `identity_of`, with the objects it rests on as they were then."""
    if isinstance(obj, Renamed):
        return identify(obj.system, record)
    if isinstance(obj, Chain):
        records: Any = record.get("stages") if record else None
        if not records:
            records = [None] * len(obj.stages)
        content = b"chain"
        seen: list[Seen] = []
        for stage, stage_record in zip(obj.stages, records, strict=True):
            identity, parts = identify(stage, stage_record)
            content += identity
            seen += parts
        return content_key(content), seen
    facts, seen = described(obj, record)
    data: dict[str, Any] = {"scheme": _SCHEME, "object": facts}
    if record is not None:
        for key in ("component", "plugin", "version", "params"):
            data[key] = record.get(key)
        without = left_out(type(obj))
        if without:
            params = record.get("params") or {}
            data["params"] = {key: value for key, value in params.items() if key not in without}
        data["maker"] = digest_of_maker(str(record.get("component")))
    return content_key(to_json(data, sort_keys=True)), seen


def content_key(content: bytes) -> bytes:
    """The address of something in the store: a digest of its content."""
    return blake2b(content, digest_size=16).digest()
