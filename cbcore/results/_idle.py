"""Who took no part: components that were asked for, or chosen, and gave nothing to a result."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from cbcore.results._config import RunConfig


def with_idle(config: RunConfig, kind: str, idle: Collection[str]) -> RunConfig:
    """The config in which the components of a kind that gave nothing, by their names, are `idle`.

    They stay there: with other rows, as of a filter or of further shards, they may give something.
    """
    told: dict[str, Any] = dict(config)
    records = told.get(kind)
    if isinstance(records, list | tuple):  # what is read from a file may be anything
        told[kind] = [_marked(one, idle) if isinstance(one, Mapping) else one for one in records]
    return cast(RunConfig, told)


def _marked(record: Mapping[str, Any], idle: Collection[str]) -> dict[str, Any]:
    without = {key: value for key, value in record.items() if key != "idle"}
    return {**without, "idle": True} if record.get("name") in idle else without
