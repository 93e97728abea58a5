"""The shards that are to be merged: found, and checked to be of one run."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any

import attrs

from cb_compare.sharding import Shard
from cbcore.exceptions import ResultError, UsageError
from cbcore.results import EvalResult, EvalRow, RunConfig
from cbcore.settings import RunSettings
from cbcore.store.saved_runs import SavedRun, find_run, list_runs

_MAY_DIFFER = RunSettings.neutral_names() | {"shard"}
"""Settings that do not change a finished row."""

_COMPARED = ("cbcore", "systems", "datasets", "evaluators", "metrics", "tokenizers", "options")
_OF_A_PLACE = ("digest", "record_digest", "source_commit", "spec", "idle", "n_examples", "data")
"""The facts of a record that depend on the installation, the wording of the spec, or the rows."""
_PLACES_OF_DATA = ("path", "data_dir")
"""Parameters of datasets: their content is compared instead."""
_MOST_NAMED = 5


@attrs.frozen
class GivenShard:
    """A shard, by its `name`: a saved run, or a result that was read from JSON."""

    name: str
    shard: Shard
    config: RunConfig
    state: str
    timing: Mapping[str, float]
    saved: SavedRun | None = None
    result: EvalResult | None = None

    @property
    def run_id(self) -> str:
        return str(self.config.get("run_id", self.name))

    @property
    def systems(self) -> list[str]:
        return [record["name"] for record in self.config["systems"]]

    @property
    def has_read_all(self) -> bool:
        """Whether it has read all of the data: a system that is stopped reads no further."""
        is_any_whole = self.config.get("stopped", {}).keys() != set(self.systems)
        return self.state == "finished" and is_any_whole

    def open(self) -> EvalResult:
        """Its rows and texts. A saved run is opened each time, as there may be a thousand."""
        return self.saved.result(is_summed_up=False) if self.saved else self.result  # type: ignore[return-value]

    def find_keys(self) -> dict[str, str]:
        """The keys of the systems in the store, without the prefix that imported runs have."""
        parts: Sequence[Any] = self.saved.rows().parts if self.saved is not None else ()
        found = {part.system: part.find_system_key().rpartition(":")[2] for part in parts}
        return {system: key for system, key in found.items() if key}

    def rows_of(self, system: str) -> Sequence[EvalRow]:
        """The rows of a system, in the order of the data."""
        if self.saved is not None:
            return self.saved.rows().parts[self.systems.index(system)]
        rows = [row for row in self.open().rows if row.system == system]
        return sorted(rows, key=lambda row: row.position)


def find_shard(text: str, cache_dir: str | Path) -> GivenShard:
    """The shard that is meant: a run of the store, an exported run, or a saved result."""
    found = find_run(text, cache_dir)
    if isinstance(found, SavedRun):
        return _read_saved(text, found)
    result = EvalResult.load(found)
    state = result.config.get("state", "finished")
    shard = _read_shard(text, result.config)
    return GivenShard(text, shard, result.config, state, result.timing, result=result)


def find_siblings(given: GivenShard, cache_dir: str | Path) -> list[GivenShard]:
    """All shards of a run that the store has; of several of one shard, the newest finished one."""
    found: dict[int, GivenShard] = {}
    request = describe_request(given.config)
    for run in list_runs(cache_dir):
        if run.settings.get("shard") is None:
            continue
        one = _read_saved(run.run_id, run)
        known = found.get(one.shard.number)
        is_better = known is None or (known.state != "finished" and one.state == "finished")
        if is_better and describe_request(one.config) == request:
            found[one.shard.number] = one
    return [found[number] for number in sorted(found)]


def _read_saved(text: str, run: SavedRun) -> GivenShard:
    timing = (run.document() or {}).get("timing", {})
    return GivenShard(text, _read_shard(text, run.config), run.config, run.state, timing, saved=run)


def _read_shard(text: str, config: RunConfig) -> Shard:
    written = config.get("settings", {}).get("shard")
    if written is None:
        raise UsageError(
            f"{text} is not a shard: it was run without --shard.",
            hint="`cb compare` compares whole runs.",
        )
    names = [record.get("name") for record in config.get("systems") or ()]
    if not names or None in names:
        raise ResultError(f"{text} does not name its systems.", hint="Run the shard again.")
    try:
        return Shard.read(str(written))
    except ValueError as error:
        raise ResultError(f"{text}: its shard {error}.", hint="Run the shard again.") from error


# -- of one run ----------------------------------------------------------------------------------


def check_same_run(shards: Sequence[GivenShard]) -> None:
    """Raise `UsageError`, with the differences, unless all are shards of one run and its data."""
    first, *others = shards
    for other in others:
        _check_equal(
            *(first, other, "are shards of different runs"),
            *(describe_request(shard.config) for shard in (first, other)),
            hint="Give the shards of one command, run by the same versions.",
        )
    for one, other in pairwise(shard for shard in shards if shard.has_read_all):
        _check_equal(
            *(one, other, "did not read the same data"),
            *(_describe_data(shard.config) for shard in (one, other)),
            hint="Run the shards again on one state of the data.",
        )
    known: dict[str, str] = {}
    for shard in shards:
        keys = shard.find_keys()
        common = known.keys() & keys
        _check_equal(
            *(first, shard, "ran other code of a system"),
            *({system: of[system] for system in common} for of in (known, keys)),
            hint="Run the shards again with one version of it.",
        )
        known = keys | known


def _check_equal(
    one: GivenShard, other: GivenShard, problem: str, mine: Any, theirs: Any, *, hint: str
) -> None:
    if found := list(find_differences(mine, theirs)):
        raise UsageError(f"{one.name} and {other.name} {problem}: {join(found)}.", hint=hint)


def describe_request(config: RunConfig) -> dict[str, Any]:
    """The settings and components of a run that decide about rows and metrics."""
    settings = config.get("settings", {})
    found = {key: settings[key] for key in settings.keys() - _MAY_DIFFER}
    found["number of shards"] = str(settings.get("shard")).rpartition("/")[2]
    for key in _COMPARED:
        places = _PLACES_OF_DATA if key == "datasets" else ()
        found[key] = _strip(config.get(key) or [], ("cache_dir", *places))
    score = config.get("score_field")
    for record in found["metrics"]:  # a shard without rows does not learn the score from them
        record["params"] = {k: v for k, v in record["params"].items() if v != score}
    return found


def _strip(data: Any, places: Sequence[str]) -> Any:
    """Records without facts about a place, and their parameters without `places`."""
    if isinstance(data, list):
        return [_strip(item, places) for item in data]
    if not isinstance(data, Mapping):
        return data
    found = {key: _strip(value, places) for key, value in data.items() if key not in _OF_A_PLACE}
    params: Mapping[str, Any] = data.get("params") or {}
    return found | {"params": {k: v for k, v in params.items() if k not in places}}


def _describe_data(config: RunConfig) -> list[dict[str, Any]]:
    failures = config.get("failures", {})
    return [
        {key: record.get(key) for key in ("name", "n_examples", "data")}
        | {"failure": failures.get(record["name"])}
        for record in config["datasets"]
    ]


def find_differences(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """Where two requests differ: `seed: 1 and 2`."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            inner = f"{where}.{key}" if where else str(key)
            yield from find_differences(one.get(key), other.get(key), inner)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True), start=1):
            yield from find_differences(*pair, f"{where} {_name_item(pair[0], number)}".lstrip())
    elif one != other:
        yield f"{where}: {_shorten(one)} and {_shorten(other)}"


def _name_item(item: Any, number: int) -> str:
    """The name of a record, or else its number."""
    name = item.get("name") if isinstance(item, Mapping) else None
    return repr(name) if name else str(number)


def _shorten(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_name_item(item, n) for n, item in enumerate(value, start=1)) or "none"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def check_agreement(shards: Sequence[GivenShard]) -> None:
    """Raise `ResultError`, with the row, if two runs of one shard do not agree about it."""
    groups: dict[int, list[GivenShard]] = {}
    for shard in shards:
        groups.setdefault(shard.shard.number, []).append(shard)
    for same in groups.values():
        for system in same[0].systems if len(same) > 1 else ():
            parts = [zip(shard.rows_of(system), repeat(shard), strict=False) for shard in same]
            placed = heapq.merge(*parts, key=lambda one: one[0].position)
            for (row, one), (other_row, other) in pairwise(placed):
                if row.position == other_row.position and row != other_row:
                    found = list(find_differences(row.to_dict(), other_row.to_dict()))
                    raise ResultError(
                        f"{one.name} and {other.name} disagree about the row of {system!r} on "
                        f"example {row.example_id!r} of {row.dataset!r}: {join(found)}.",
                        hint="Leave one of them out: two runs of one shard measure it twice.",
                    )


def describe_missing(shards: Sequence[GivenShard]) -> str:
    """The shards that are missing or did not finish; empty if the run is whole."""
    found = []
    count = shards[0].shard.count
    for number in range(1, count + 1):
        same = [shard for shard in shards if shard.shard.number == number]
        if not same:
            found.append(f"shard {number}/{count} is missing")
        elif all(shard.state != "finished" for shard in same):
            found.append(f"shard {number}/{count} ({same[0].run_id}) is {same[0].state}")
    return join(found)


def join(sentences: Sequence[str]) -> str:
    """The first ones, and how many more there are."""
    more = f" and {len(sentences) - _MOST_NAMED} more" if len(sentences) > _MOST_NAMED else ""
    return "; ".join(sentences[:_MOST_NAMED]) + more
