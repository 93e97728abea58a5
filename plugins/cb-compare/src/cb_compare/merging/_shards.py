"""Shards as they are given to be merged: found, and known to be of one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import attrs

from cbcore.assembly.sameness import comparable, differences
from cbcore._run.sharding import POSITION, SOURCE, Shard
from cbcore._store.reading import Reader, kept_rows
from cbcore.exceptions import ResultError, UsageError
from cbcore.kept import KeptRun, exported_run, find_kept, is_exported, kept_runs
from cbcore.results import EvalResult, EvalRow, RunConfig

_MOST_NAMED = 5

Placed: TypeAlias = tuple[tuple[int, int, int], int, int, bytes, EvalRow]
"""A row with its place in the whole run (source, position, repeat), the number of the shard among
those given and its own in that, and the address of its example."""


@attrs.frozen
class GivenShard:
    """One shard of a run: a kept one, or one that was saved as JSON.

    `shown` is how it was named.
    """

    shown: str
    shard: Shard
    config: RunConfig
    kept: KeptRun | None = None
    result: EvalResult | None = None

    @property
    def run_id(self) -> str:
        return str(self.config.get("run_id", self.shown))

    @property
    def state(self) -> str:
        if self.kept is not None:
            return self.kept.state
        return str(self.config.get("state", "finished"))

    @property
    def told(self) -> Mapping[str, Any]:
        """What it says of the run it is a part of."""
        return self.config.get("sharding") or {}

    def is_own(self, store_file: Path) -> bool:
        """Whether it is a run of this store, and was not taken over from a stranger's file."""
        if self.kept is None or self.kept.path != store_file:
            return False
        return not self.kept.record.manifest.get("untrusted")

    def timing(self) -> Mapping[str, float]:
        """The seconds that each system took."""
        if self.result is not None:
            return self.result.timing
        return self._told("timing")

    def idle_evaluators(self) -> set[str]:
        """Those that gave nothing to its rows."""
        config = self._told("config") if self.result is None else self.result.config
        records = config.get("evaluators")
        return {
            str(one.get("name"))
            for one in (records if _are_records(records) else None) or ()
            if one.get("idle")
        }

    def _told(self, key: str) -> Mapping[str, Any]:
        """What a kept run says of how it ended."""
        document = self.kept.document() if self.kept is not None else None
        told = (document or {}).get(key, {})
        return told if isinstance(told, dict) else {}

    def rows(self, number: int, readers: dict[Path, Reader]) -> dict[str, Iterator[Placed]]:
        """The rows of every system in the order of the whole run.

        `readers` are those of files that are open, to which it may add one.
        """
        found: dict[str, Iterator[tuple[bytes, EvalRow]]] = {}
        if self.kept is not None:
            path = self.kept.path
            parts = kept_rows(readers.setdefault(path, Reader(path)), self.kept.record)
            found = {system: part.keyed() for system, part in parts.items()}
        elif self.result is not None:
            grouped = self.result.rows_by_system()
            found = {system: ((b"", row) for row in rows) for system, rows in grouped.items()}
        return {system: self._in_order(number, pairs) for system, pairs in found.items()}

    def _in_order(self, number: int, pairs: Iterator[tuple[bytes, EvalRow]]) -> Iterator[Placed]:
        placed = self._placed(number, pairs)
        if self.kept is None or self.state != "finished":
            # What was rescued at an early end stands behind what came in its turn.
            yield from sorted(placed, key=lambda p: p[0])
            return
        latest = (-1, -1, -1)
        for one in placed:
            if one[0] <= latest:
                raise ResultError(
                    f"{self.shown}: the row of {one[4].example_id!r} stands where another belongs",
                    hint="it was damaged: run the shard again",
                )
            latest = one[0]
            yield one

    def _placed(self, number: int, pairs: Iterator[tuple[bytes, EvalRow]]) -> Iterator[Placed]:
        for n, (key, row) in enumerate(pairs):
            noted = row.metadata if isinstance(row.metadata, dict) else {}
            source, position = noted.get(SOURCE), noted.get(POSITION)
            if not type(source) is type(position) is type(row.repeat) is int:
                raise ResultError(
                    f"{self.shown}: the row of {row.example_id!r} does not say where it belongs",
                    hint="it was damaged, or is no row of a shard",
                )
            place = cast("tuple[int, int, int]", (source, position, row.repeat))
            yield place, number, n, key, row


def find_shards(texts: Sequence[str], cache_dir: str | Path) -> list[GivenShard]:
    """The shards that are meant: runs of the store, or files of runs and results."""
    return [_found(text, cache_dir) for text in texts]


def with_siblings(given: GivenShard, cache_dir: str | Path) -> list[GivenShard]:
    """All shards of one run that a store has; of several of one shard, the newest finished one."""
    found: dict[int, GivenShard] = {}
    for run in kept_runs(cache_dir):
        config = run.record.manifest["config"]
        same = (config.get("sharding") or {}).get("of") == given.told.get("of")
        if same and config.get("settings", {}).get("shard"):
            one = _given(run.run_id, config, kept=run)
            known = found.get(one.shard.number)
            is_better = known is None or (known.state != "finished" and one.state == "finished")
            if one.shard.count == given.shard.count and is_better:
                found[one.shard.number] = one
    return [found[number] for number in sorted(found)]


def _found(text: str, cache_dir: str | Path) -> GivenShard:
    path = Path(text)
    if path.is_file() and not is_exported(path):
        result = EvalResult.load(path)
        if not all(type(row.system) is str for row in result.rows):
            raise ResultError(f"{text}: its rows cannot be read")
        return _given(text, result.config, result=result)
    if path.suffix and not path.is_file():
        raise ResultError(
            f"there is no file {text!r}",
            hint="name a run, an exported run or a saved result: `cb runs` lists runs",
        )
    run = exported_run(path.absolute()) if path.is_file() else find_kept(text, cache_dir)
    return _given(text, run.record.manifest["config"], kept=run)


def _given(text: str, config: RunConfig, **source: Any) -> GivenShard:
    written = config.get("settings", {}).get("shard")
    if not isinstance(written, str) or not isinstance(config.get("sharding"), dict):
        raise UsageError(
            f"{text} is no shard: it was run without --shard",
            hint="`cb compare` puts whole runs side by side",
        )
    try:
        shard = Shard.read(written)
    except ValueError as error:
        raise ResultError(f"{text}: its shard {error}") from error
    if not _is_whole(config):
        raise ResultError(f"{text}: what it says of its shard cannot be read")
    return GivenShard(text, shard, config, **source)


def _is_whole(config: Mapping[str, Any]) -> bool:
    """Whether a record has what is read of it here; a file may hold anything."""
    told, systems = config["sharding"], config.get("systems")
    data = told.get("data", [])
    return (
        isinstance(told.get("of"), str)
        and isinstance(told.get("failures", {}), dict)
        and isinstance(data, list)
        and all(
            isinstance(source, dict)
            and type(source.get("source")) is type(source.get("examples")) is int
            and {"dataset", "digest"} <= source.keys()
            for source in data
        )
        and isinstance(systems, list)
        and all(isinstance(part, dict) and type(part.get("name")) is str for part in systems)
        and all(map(_are_records, map(config.get, ("metrics", "executors", "options"))))
    )


def _are_records(told: Any) -> bool:
    """Whether these are descriptions of components, if any."""
    return told is None or (
        isinstance(told, list)
        and all(isinstance(one, dict) and isinstance(one.get("params") or {}, dict) for one in told)
    )


# -- of one run --------------------------------------------------------------------------------


def check_same_run(shards: Sequence[GivenShard]) -> None:
    """Raise `UsageError`, with the difference, unless all are shards of one run and its data."""
    first = shards[0]
    for other in shards[1:]:
        if other.shard.count != first.shard.count:
            raise UsageError(
                f"{first.shown} is one of {first.shard.count} shards, and {other.shown} one of "
                f"{other.shard.count}"
            )
        _check_same_request(first, other)
        _check_same_code(first, other)
    _check_same_data(shards)


def _check_same_request(one: GivenShard, other: GivenShard) -> None:
    if one.told.get("of") == other.told.get("of"):
        return
    found = list(differences(comparable(one.config), comparable(other.config)))
    if not found:
        found = ["what they say of it has been changed"]
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    raise UsageError(
        f"{one.shown} and {other.shown} are shards of different runs: "
        f"{'; '.join(found[:_MOST_NAMED])}{more}",
        hint="give the shards of one command, run by the same versions",
    )


def _check_same_code(one: GivenShard, other: GivenShard) -> None:
    """Systems of the user's own code have no version: what they are known by tells them apart."""
    if one.kept is None or other.kept is None:
        return
    mine, yours = (run.record.manifest.get("identities", {}) for run in (one.kept, other.kept))
    if not isinstance(mine, dict) or not isinstance(yours, dict):
        raise ResultError(f"{one.shown} or {other.shown} does not say what its systems are")
    for system, identity in mine.items():
        if identity is not None and yours.get(system) not in (None, identity):
            raise UsageError(
                f"the system {system!r} is not the same in {one.shown} and {other.shown}: its "
                "code or what it is given differs",
                hint="run the shards again with one version of it",
            )


def _check_same_data(shards: Sequence[GivenShard]) -> None:
    """Each shard has read all of the data, and says what it was."""
    seen: dict[int, tuple[GivenShard, Mapping[str, Any]]] = {}
    for given in shards:
        for told in given.told.get("data", ()):
            earlier, before = seen.setdefault(told["source"], (given, told))
            if told["digest"] == before["digest"]:
                continue
            mine, yours = before["examples"], told["examples"]
            counts = f"{mine} examples and {yours}" if mine != yours else "other examples"
            raise UsageError(
                f"{earlier.shown} and {given.shown} did not read the same data: {counts} "
                f"of {told['dataset']!r}",
                hint="run the shards again on one state of the data",
            )
    for given in shards:
        read = {told["source"] for told in given.told.get("data", ())}
        for source, (other, told) in seen.items():
            if source not in read and given.state == "finished":
                reason = given.told.get("failures", {}).get(told["dataset"], "")
                raise UsageError(
                    f"{other.shown} has read all of {told['dataset']!r}, and {given.shown} has "
                    f"not{f': {reason}' if reason else ''}",
                    hint="run the latter again",
                )


def missing_from(shards: Sequence[GivenShard]) -> list[str]:
    """What lacks for the run to be whole, as sentences: shards that are not there or not done."""
    by_number: dict[int, list[GivenShard]] = defaultdict(list)
    for given in shards:
        by_number[given.shard.number].append(given)
    count = shards[0].shard.count
    absent = [f"{n}/{count}" for n in range(1, count + 1) if n not in by_number]
    lacking = []
    if absent:
        word = "shard" if len(absent) == 1 else "shards"
        are = "is" if len(absent) == 1 else "are"
        lacking.append(f"{word} {_listed(absent)} {are} missing")
    for number, those in sorted(by_number.items()):
        if all(given.state != "finished" for given in those):
            given = those[0]
            lacking.append(f"shard {number}/{count} ({given.run_id}) is {given.state}")
    return lacking


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
