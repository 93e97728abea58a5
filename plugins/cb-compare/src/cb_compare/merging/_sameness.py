"""Whether two runs were asked for the same: what they measured, not where or how quickly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cbcore.provenance import digest
from cbcore.results import RunConfig

MAY_DIFFER = frozenset(
    {
        "run_id",
        "started",
        "state",
        "state_reason",
        "rescored_from",
        "merged_from",
        "settings",
        "shard",
        "sharding",
        "no_examples",
        "concurrency",
        "executors",
        "max_errors",
        "fail_fast",
        "budget_tokens",
        "budget_usd",
    }
)
"""What says which run it is, and what bounds a run without changing a row that it finished."""

_OF_A_PLACE = frozenset({"digest", "record_digest", "source_commit", "spec", "idle"})
"""What a record says of a component beside what it is: where it was installed from, how it was
asked for, that it gave nothing. Versions and parameters are compared by themselves."""

_FOLDERS = frozenset({"cache_dir"})
_PLACES_OF_DATA = frozenset({"path", "data_dir"})
"""Data is compared by what was read, as two machines may have it in two places."""


def digest_of_request(config: RunConfig) -> str:
    """A digest that runs share which were asked for the same."""
    return digest(comparable(config))


def comparable(config: RunConfig) -> dict[str, Any]:
    """What a run says of itself, without what may differ between shards of one run."""
    found: dict[str, Any] = {}
    for key, value in {**config, **config.get("settings", {})}.items():
        if key == "datasets":
            found[key] = _without_places(value, _FOLDERS | _PLACES_OF_DATA)
        elif key not in MAY_DIFFER:
            found[key] = _without_places(value, _FOLDERS)
    return found


def _without_places(data: Any, places: frozenset[str]) -> Any:
    """The data without facts about an installation, and without `places` among parameters."""
    if isinstance(data, list | tuple):
        return [_without_places(item, places) for item in data]
    if not isinstance(data, Mapping):
        return data
    kept = {}
    for key, value in data.items():
        if key in _OF_A_PLACE:
            continue
        if key == "params" and isinstance(value, Mapping):
            kept[key] = {name: param for name, param in value.items() if name not in places}
        else:
            kept[key] = _without_places(value, places)
    return kept


def differences(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """Where two comparables differ, as `seed: 1 and 2`, what is deepest inside by its path."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            inner = f"{where}.{key}" if where else str(key)
            yield from differences(one.get(key), other.get(key), inner)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, item in enumerate(one):
            yield from differences(item, other[i], f"{where} {_name_item(item, i)}")
    elif one != other:
        yield f"{where}: {_shorten(one)} and {_shorten(other)}"


def _name_item(item: Any, position: int) -> str:
    """The name of a record in a list, or else its number."""
    if isinstance(item, Mapping) and item.get("name") is not None:
        return repr(item["name"])
    return str(position + 1)


def _shorten(value: Any) -> str:
    if isinstance(value, list):
        names = [_name_item(item, i) for i, item in enumerate(value)]
        return ", ".join(names) or "none"
    text = repr(value)
    if len(text) > 60:
        text = f"{text[:60]}…"
    return text
