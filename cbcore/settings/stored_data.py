"""The data of an earlier run: read again where it can be, or else as the store has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbcore._build.builder import Builder
from cbcore._build.layout import Layout
from cbcore._logging import get_logger
from cbcore._run.parts import StoredData
from cbcore._store.records import RunRecord
from cbcore.boundary import contained
from cbcore.exceptions import CBError, DataError
from cbcore.kept import KeptRun

if TYPE_CHECKING:
    from cbcore.plugins import Catalog

__all__ = ()


def data_of(
    record: RunRecord, specs: Sequence[str], path: Path, catalog: Catalog
) -> tuple[Sequence[Any], bool]:
    """The datasets to ask for, and whether they are those of the store, in the file `path`.

    That is so where one of them cannot be read any more and all examples were kept.
    """
    with contained() as tried:
        builder = Builder(catalog)
        for part in record.manifest["config"]["datasets"]:  # as plugins configured them
            next(iter(builder.dataset(part["spec"], {}, Layout()).value), None)
    if tried.error is None:
        return specs, False
    stored = stored_data(record, path)
    if stored is None:
        return specs, False  # which tells what is wrong with them
    why = tried.error.message if isinstance(tried.error, CBError) else tried.reason
    get_logger().warning(f"the examples are taken from the store: {why}")
    return stored, True


def stored_data(record: RunRecord, path: Path) -> list[StoredData] | None:
    """The datasets of a run as its store has them; None where that is not all of them."""
    config = record.manifest["config"]
    settings = config.get("settings", {})
    # The examples of a shard are not numbered in turn.
    if settings.get("no_examples") or settings.get("shard"):
        return None
    result = KeptRun(record, path).result(summed_up=False)
    rows, texts = result.rows, result.texts
    places: dict[str, dict[str | int, int]] = {part["name"]: {} for part in config["datasets"]}
    for place, row in enumerate(rows):
        if row.dataset not in places:
            return None
        places[row.dataset].setdefault(row.example_id, place)
    if texts is None or not all(places.values()):
        return None

    def read(dataset: str) -> Iterator[Any]:
        for place in places[dataset].values():
            example = texts[place].example
            yield DataError(rows[place].error or "it was not kept") if example is None else example

    score = config.get("score_field")
    return [
        StoredData(dict(part), score, lambda name=part["name"]: read(name))  # type: ignore[misc]
        for part in config["datasets"]
    ]
