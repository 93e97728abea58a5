"""Documents to be summarised, whole or towards a query."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cb_datasets.mapping import add_golds, example_from
from cb_datasets.reading import Row
from cb_datasets.table import PARQUET_EXPORT, Benchmark, Choice, Example
from cbcore.exceptions import DataError
from cbcore.hf import HubDataset

SCROLLS = "tau/scrolls"
SCROLLS_SPLITS = ("train", "validation", "test")


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


def _qmsum(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    example = example_from(row, choice, benchmark)
    example["question"], example["context"] = query_and_document(row)
    if choice.split not in benchmark.unlabelled:
        add_golds(example, row.texts("outputs"), row)
    yield example


def _multi_news(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """Articles are separated by bars in the source, by empty lines here."""
    example = example_from(row, choice, benchmark)
    articles = [part.strip() for part in example["context"].split("|||||")]
    example["context"] = "\n\n".join(filter(None, articles))
    yield example


BENCHMARKS = (
    Benchmark(
        name="multi-news",
        summary="Multi-News: several news articles on one event, to be summarised together.",
        path="alexfabbri/multi_news",
        revision=PARQUET_EXPORT,
        files="default/{split}/*.parquet",
        split="test",
        splits=("train", "validation", "test"),
        tasks=("summarization",),
        published="ROUGE-1, 2 and L; quality is the F1 of ROUGE-L here.",
        licence="for research only",
        homepage="https://github.com/Alex-Fabbri/Multi-News",
        instruction="Summarise these articles.",
        fields={"context": "document", "answer": "summary"},
        examples=_multi_news,
    ),
    Benchmark(
        name="dialogsum",
        summary="DialogSum: everyday dialogues and their summaries.",
        path="knkarthick/dialogsum",
        split="test",
        splits=("train", "validation", "test"),
        cluster="dialogue",
        tasks=("summarization",),
        published="ROUGE-1, 2 and L; quality is the F1 of ROUGE-L here.",
        licence="CC BY-NC-SA 4.0",
        homepage="https://github.com/cylnlp/dialogsum",
        instruction="Summarise this dialogue in one or two sentences.",
        fields={"id": "id", "context": "dialogue", "answer": "summary", "topic": "topic"},
    ),
    Benchmark(
        name="qmsum",
        summary="QMSum: what was said about a question in a meeting.",
        path=SCROLLS,
        config="qmsum",
        configs=("qmsum",),
        files="qmsum.zip/qmsum/{split}.jsonl",
        split="validation",
        splits=SCROLLS_SPLITS,
        unlabelled=("test",),
        cluster="context",
        tasks=("summarization",),
        published=(
            "ROUGE-1, 2 and L (in SCROLLS their geometric mean); quality is the F1 of ROUGE-L here."
        ),
        licence="MIT",
        homepage="https://github.com/Yale-LILY/QMSum",
        fields={"id": "id"},
        needs=("input", "output"),
        rows=scrolls_rows,
        context="all",
        examples=_qmsum,
    ),
    Benchmark(
        name="summscreenfd",
        summary="SummScreenFD: transcripts of television episodes and their recaps.",
        path=SCROLLS,
        config="summ_screen_fd",
        configs=("summ_screen_fd",),
        files="summ_screen_fd.zip/summ_screen_fd/{split}.jsonl",
        split="validation",
        splits=SCROLLS_SPLITS,
        unlabelled=("test",),
        tasks=("summarization",),
        published=(
            "ROUGE-1, 2 and L (in SCROLLS their geometric mean); quality is the F1 of ROUGE-L here."
        ),
        licence="not stated",
        homepage="https://github.com/mingdachen/SummScreen",
        instruction="Write a recap of this episode.",
        fields={"id": "id", "context": "input", "answer": "outputs"},
        rows=scrolls_rows,
    ),
    Benchmark(
        name="meetingbank",
        summary="MeetingBank: parts of city council meetings and their minutes.",
        path="huuuyeah/meetingbank",
        split="test",
        splits=("train", "validation", "test"),
        cluster="uid",
        cluster_end="_",
        tasks=("summarization",),
        published="ROUGE-1, 2 and L, BERTScore and others; quality is the F1 of ROUGE-L here.",
        licence="CC BY-NC-SA 4.0",
        homepage="https://meetingbank.github.io/",
        instruction="Summarise this part of a meeting.",
        fields={"id": "uid", "context": "transcript", "answer": "summary"},
    ),
    Benchmark(
        name="govreport",
        summary="GovReport: long government reports and their executive summaries.",
        path="ccdv/govreport-summarization",
        config="document",
        configs=("document",),
        split="test",
        splits=("train", "validation", "test"),
        tasks=("summarization",),
        published="ROUGE-1, 2 and L; quality is the F1 of ROUGE-L here.",
        licence="not stated; works of the United States government",
        homepage="https://gov-report-data.github.io/",
        instruction="Write an executive summary of this report.",
        fields={"context": "report", "answer": "summary"},
    ),
)
