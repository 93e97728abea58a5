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
        records = (record or {}).get("stages") or [None] * len(obj.stages)
        stages = [identify(s, r) for s, r in zip(obj.stages, records, strict=True)]
        key = content_key(b"chain" + b"".join(identity for identity, _ in stages))
        return key, [part for _, parts in stages for part in parts]
    facts, parts = described(obj, record)
    told: dict[str, Any] = {"scheme": _SCHEME, "object": facts}
    if record is not None:
        told |= {key: record.get(key) for key in ("component", "plugin", "version", "params")}
        if without := left_out(type(obj)):
            params = record.get("params") or {}
            told["params"] = {key: value for key, value in params.items() if key not in without}
        told["maker"] = digest_of_maker(str(record.get("component")))
    return content_key(to_json(told, sort_keys=True)), parts


_empty = blake2b(digest_size=16)


def content_key(content: bytes) -> bytes:
    """The address of something in the store: a digest of its content."""
    digest = _empty.copy()  # quicker than to make one of that size
    digest.update(content)
    return digest.digest()
