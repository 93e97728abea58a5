"""What makes two components the same one, so that stored results can be trusted.

The identity of a component covers everything that can change what it returns: its owner and
version, its parameters, its attributes, and its code. Of somebody's own code that is the module
of the class and every own module it imports; private attributes count as well. It never holds a
secret.

Three attributes let an object say more of itself:

- `identity`: plain data that stands for all of the above.
- `identity_files`: files it reads, whose content counts too.
- `name_is_label`: True where its name changes nothing of what it returns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import orjson

from cbcore.chains import Chain, Renamed
from cbcore.identity._descriptions import Seen, described
from cbcore.identity._sources import UnidentifiableError, digest_of_maker

__all__ = (
    "UnidentifiableError",
    "canonical_bytes",
    "content_key",
    "from_bytes",
    "identity_of",
    "plain_bytes",
)

_SCHEME = 3
"""Changed whenever identities mean something else, so that none of before is taken for one."""
_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)


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
        told["maker"] = digest_of_maker(str(record.get("component")))
    return content_key(canonical_bytes(told)), parts


def canonical_bytes(value: Any) -> bytes:
    """Plain data as JSON bytes that depend on its content and not on the order of its keys.

    Raises TypeError for what JSON cannot hold.
    """
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        # What orjson refuses and JSON can hold: lone surrogates and very large integers.
        _check_plain(value)
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def plain_bytes(value: Any) -> bytes:
    """Plain data as JSON bytes in its own order. Raises TypeError for what JSON cannot hold."""
    try:
        return orjson.dumps(value, option=_OPTIONS & ~orjson.OPT_SORT_KEYS)
    except TypeError:
        _check_plain(value)
        return json.dumps(value, separators=(",", ":")).encode()


def from_bytes(data: bytes) -> Any:
    """Read back what `canonical_bytes` or `plain_bytes` wrote."""
    try:
        return orjson.loads(data)
    except ValueError:
        return json.loads(data)


def _check_plain(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"a key is {key!r}, not text")
            _check_plain(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_plain(item)
    elif value is not None and not isinstance(value, bool | int | float | str):
        raise TypeError(f"a value is of type {type(value).__name__}")


def content_key(content: bytes) -> bytes:
    """The address of something in the store: a digest of its content."""
    return blake2b(content, digest_size=16).digest()
