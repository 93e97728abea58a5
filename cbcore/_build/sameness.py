"""Whether two runs were asked for the same: what they measured, not where or how quickly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cbcore.provenance import digest
from cbcore.results import RunConfig

MAY_DIFFER = frozenset(
    {
        *("run_id", "started", "state", "state_reason", "rescored_from", "merged_from"),
        *("settings", "shard", "sharding", "no_examples"),
        *("concurrency", "executors", "max_errors", "fail_fast", "budget_tokens", "budget_usd"),
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
    for key, told in {**config, **config.get("settings", {})}.items():
        if key not in MAY_DIFFER:
            places = _FOLDERS | _PLACES_OF_DATA if key == "datasets" else _FOLDERS
            found[key] = _without_places(told, places)
    return found


def _without_places(told: Any, places: frozenset[str]) -> Any:
    if isinstance(told, Mapping):
        return {
            key: (
                {name: value for name, value in values.items() if name not in places}
                if key == "params" and isinstance(values, Mapping)
                else _without_places(values, places)
            )
            for key, values in told.items()
            if key not in _OF_A_PLACE
        }
    if isinstance(told, list | tuple):
        return [_without_places(one, places) for one in told]
    return told


def differences(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """Where two comparables differ, as `seed: 1 and 2`, what is deepest inside by its path."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            inner = f"{where}.{key}" if where else str(key)
            yield from differences(one.get(key), other.get(key), inner)
    elif _are_lists(one, other) and len(one) == len(other):
        for number, (mine, yours) in enumerate(zip(one, other, strict=True), start=1):
            yield from differences(mine, yours, f"{where} {_named(mine, number)}")
    elif one != other:
        yield f"{where}: {_shown(one)} and {_shown(other)}"


def _are_lists(one: Any, other: Any) -> bool:
    return isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str)


def _named(record: Any, number: int) -> str:
    name = record.get("name") if isinstance(record, Mapping) else None
    return repr(name) if name is not None else str(number)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_named(one, n) for n, one in enumerate(value, start=1)) or "none"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
