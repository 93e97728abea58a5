"""Does a text support a statement, contradict it, or leave it open?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from cb_datasets.entries.summaries import query_and_document, rows_of_one_id
from cb_datasets.mapping import asked
from cb_datasets.reading import Row
from cb_datasets.table import Benchmark, Choice, Example
from cbcore.exceptions import DataError
from cbcore.hf import HubDataset

CONTRACT_LABELS = ("Entailment", "Contradiction", "Not mentioned")
SCIFACT_LABELS = ("SUPPORT", "CONTRADICT", "NOT_ENOUGH_INFO")


def contract_nli(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    hypothesis, example["context"] = query_and_document(row)
    example["question"] = asked(benchmark.instruction, hypothesis)
    example["labels"] = list(CONTRACT_LABELS)
    if _has_gold(choice):
        labels = row.texts("outputs")
        if len(labels) != 1:
            raise row.bad("output", f"expected one label, found {len(labels)}")
        _add_label(example, row, CONTRACT_LABELS, labels[0])


def scifact_rows(source: HubDataset, choice: Choice) -> Iterator[Mapping[str, Any] | DataError]:
    """Each claim once, with all its evidence and the abstracts it cites.

    The source has a row per claim and abstract with evidence, and the abstracts elsewhere.
    """
    corpus = attrs.evolve(
        source,
        config="corpus",
        split="train",
        files=None if source.files is None else "corpus/train/*.parquet",
    )
    abstracts = {
        _number(document.get("doc_id"), "doc_id"): document
        for document in corpus
        if not isinstance(document, DataError)  # a claim that cites it will say so
    }
    for rows in rows_of_one_id(source):
        if isinstance(rows, DataError):
            yield rows
            continue
        try:
            yield _claim(rows, abstracts)
        except DataError as error:
            yield error


def _claim(rows: list[Mapping[str, Any]], abstracts: Mapping[int, Any]) -> Mapping[str, Any]:
    cited = rows[0].get("cited_doc_ids") or []
    if not isinstance(cited, list | tuple):
        raise DataError(f"scifact: cited_doc_ids is a {type(cited).__name__}, not a list")
    numbers = [_number(number, "cited_doc_ids") for number in cited]
    missing = [number for number in numbers if number not in abstracts]
    if missing:
        raise DataError(f"scifact: claim {rows[0].get('id')} cites unknown {missing[0]!r}")
    return {
        **rows[0],
        "evidence": [row for row in rows if row.get("evidence_label")],
        "documents": [abstracts[number] for number in numbers],
    }


def _number(value: Any, field: str) -> int:
    if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()):
        return int(value)
    raise DataError(f"scifact: {field} is {value!r:.80}, not the number of an abstract")


def scifact(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """The label is that of the evidence; a claim without any has not enough information."""
    documents = row.records("documents")
    example["context"] = "\n\n".join(
        f"{d.text('title')}: {' '.join(s.strip() for s in d.texts('abstract'))}" for d in documents
    )
    example["labels"] = list(SCIFACT_LABELS)
    if _has_gold(choice):
        evidence = row.records("evidence")
        labels = {e.text("evidence_label") for e in evidence} or {"NOT_ENOUGH_INFO"}
        if len(labels) > 1:
            raise row.bad("evidence_label", f"the evidence disagrees: {', '.join(sorted(labels))}")
        _add_label(example, row, SCIFACT_LABELS, labels.pop())
        titles = {str(d.get("doc_id")): d.text("title") for d in documents}
        example["supporting_facts"] = [
            [titles.get(str(e.get("evidence_doc_id")), ""), number]
            for e in evidence
            for number in e.items("evidence_sentences")
        ]


def _has_gold(choice: Choice) -> bool:
    return choice.split != "test"  # both are published without the labels of their test split


def _add_label(example: Example, row: Row, labels: tuple[str, ...], label: str) -> None:
    if label not in labels:
        raise row.bad("label", f"{label!r} is not one of {', '.join(labels)}")
    example |= {"answer": label, "answers": [label], "label": label}
