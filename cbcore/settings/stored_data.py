"""The data of an earlier run: read again if it can be, or else as the store has it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from cbcore._logging import get_logger
from cbcore.assembly.builder import Builder
from cbcore.assembly.fields import Layout
from cbcore.boundary import contained
from cbcore.components import Built
from cbcore.exceptions import CBError, DataError
from cbcore.results.eval_row import POSITIONS
from cbcore.specs import Spec
from cbcore.store.saved_runs import SavedRun

if TYPE_CHECKING:
    from cbcore.plugins import Catalog

__all__ = ()


def find_data(run: SavedRun, catalog: Catalog) -> tuple[Sequence[Any], bool]:
    """The datasets to score, and whether they are those of the store.

    That is so if one of them cannot be read any more, and all examples are stored.
    """
    specs = [  # as plugins configured them
        attrs.evolve(Spec.parse_dataset(record["spec"]), label=record["name"])
        for record in run.config["datasets"]
    ]
    with contained() as attempt:
        builder = Builder(catalog)
        for spec in specs:
            next(iter(builder.dataset(spec, {}, Layout()).value), None)
    if attempt.error is None:
        return specs, False
    stored = _find_stored(run)
    if stored is None:
        return specs, False  # building them reports what is wrong
    why = attempt.error.message if isinstance(attempt.error, CBError) else attempt.reason
    get_logger().warning(f"The examples are taken from the store: {why}")
    return stored, True


@attrs.define
class _StoredData:
    """Stands for a dataset of an earlier run: the examples that the store has of it, in order.

    `read` yields them each time, and a `DataError` in the place of one that could not be made.
    """

    name: str
    main_score: str | None
    read: Callable[[], Iterator[Any]]

    def __iter__(self) -> Iterator[Any]:
        return self.read()


def _find_stored(run: SavedRun) -> list[Built] | None:
    """The datasets of a run as its store has them; None if that is not all of them."""
    result = run.result(is_summed_up=False)
    rows = result.rows
    texts = result.texts
    places: dict[str, dict[str | int, int]] = {name: {} for name in run.datasets}
    last = dict.fromkeys(places, 0)  # the number of the last example in its data
    for place, row in enumerate(rows):
        if row.dataset not in places:
            return None
        places[row.dataset].setdefault(row.example_id, place)
        number = row.position % POSITIONS // run.settings["repeats"]
        last[row.dataset] = max(last[row.dataset], number)
    # The examples of a part of the data would be numbered in another way.
    if texts is None or any(len(places[name]) != last[name] + 1 for name in places):
        return None

    def read(dataset: str) -> Iterator[Any]:
        for place in places[dataset].values():
            example = texts[place].example
            yield (
                DataError(rows[place].error or "it was not stored") if example is None else example
            )

    score = run.config.get("score_field")
    return [
        Built(_StoredData(part["name"], score, functools.partial(read, part["name"])), dict(part))
        for part in run.config["datasets"]
    ]
