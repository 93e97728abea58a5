"""Documents to be summarised, whole or towards a query."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cb_datasets.mapping import add_golds
from cb_datasets.reading import Row
from cb_datasets.table import Benchmark, Choice, Example
from cbcore.exceptions import DataError
from cbcore.hf import HubDataset


def rows_of_one_id(
    rows: Iterable[Mapping[str, Any] | DataError],
) -> Iterator[list[Mapping[str, Any]] | DataError]:
    """Rows that follow each other and have the same id; one without any stands alone."""
    for row_id, group in itertools.groupby(rows, key=_id_of):
        if row_id is None:
            yield from (row if isinstance(row, DataError) else [row] for row in group)
        else:
            yield [row for row in group if not isinstance(row, DataError)]


def _id_of(row: Mapping[str, Any] | DataError) -> Any:
    return None if isinstance(row, DataError) else row.get("id")


def scrolls_rows(source: HubDataset, choice: Choice) -> Iterator[Mapping[str, Any] | DataError]:
    """SCROLLS repeats a row for each of its golds; they are brought together in `outputs`."""
    for rows in rows_of_one_id(source):
        if isinstance(rows, DataError):
            yield rows
        else:
            yield {**rows[0], "outputs": [row.get("output") for row in rows]}


def query_and_document(row: Row) -> tuple[str, str]:
    """The two parts of a SCROLLS input: what is asked comes first, then an empty line."""
    query, separator, document = row.text("input").partition("\n\n")
    if not separator or not document.strip():
        raise row.bad("input", "expected a query, an empty line and a document")
    return query.strip(), document.strip()


def qmsum(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    example["question"], example["context"] = query_and_document(row)
    if choice.split not in benchmark.unlabelled:
        add_golds(example, row.texts("outputs"), row)


def multi_news(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """Articles are separated by bars in the source, by empty lines here."""
    articles = [part.strip() for part in example["context"].split("|||||")]
    example["context"] = "\n\n".join(filter(None, articles))
