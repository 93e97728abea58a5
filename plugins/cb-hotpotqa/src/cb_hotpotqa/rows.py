"""From a row as the hub publishes it to an example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cbcore.exceptions import DataError


def example_from_row(
    row: Mapping[str, Any], *, number: int = 0, has_gold: bool = True
) -> dict[str, Any]:
    """The example of one row; `number` names a row whose id cannot be read.

    Raises `DataError` with the row's id and the field when the row has another shape.
    """
    reader = _RowReader(row, number)
    documents = reader.documents()
    example = {
        "id": reader.row_id,
        "context": "\n\n".join(map(_paragraph, documents)),
        "question": reader.text("question"),
        "documents": documents,
    }
    if has_gold:
        example["answer"] = reader.text("answer")
        example["type"] = reader.text("type")
        example["level"] = reader.text("level")
        example["supporting_facts"] = reader.supporting_facts()
    return example


def _paragraph(document: Mapping[str, Any]) -> str:
    return f"{document['title']}: {' '.join(filter(None, document['sentences']))}"


def _one_line(text: str) -> str:
    """The text without the white space around it, which rows have or lack, and line breaks."""
    return " ".join(text.splitlines()).strip()


class _RowReader:
    """Reads fields of one row and says which one is wrong."""

    def __init__(self, row: Mapping[str, Any], number: int) -> None:
        self.row = row
        self.row_id = f"#{number}"
        self.row_id = self.text("id")

    def text(self, field: str) -> str:
        value = self.row.get(field)
        if not isinstance(value, str):
            raise self._bad(field, f"expected a text, found {_described(value)}")
        return value

    def documents(self) -> list[dict[str, Any]]:
        """Title and sentences of each paragraph; a sentence keeps its place even if empty."""
        return [
            {"title": _one_line(title), "sentences": self._sentences(sentences)}
            for title, sentences in self._columns("context", "title", "sentences")
        ]

    def supporting_facts(self) -> list[list[Any]]:
        """The gold facts as [title, sentence number].

        Published rows may name a paragraph or sentence that the context lacks; they stay.
        """
        facts: list[list[Any]] = []
        for title, sentence_id in self._columns("supporting_facts", "title", "sent_id"):
            if not isinstance(sentence_id, int) or isinstance(sentence_id, bool):
                raise self._bad(
                    "supporting_facts.sent_id",
                    f"expected whole numbers, found {_described(sentence_id)}",
                )
            facts.append([_one_line(title), sentence_id])
        return facts

    def _columns(self, field: str, first: str, second: str) -> list[tuple[str, Any]]:
        """Two lists of equal length kept under a field, paired; the first holds texts."""
        value = self.row.get(field)
        if not isinstance(value, Mapping):
            raise self._bad(field, f"expected {first} and {second}, found {_described(value)}")
        for column in (first, second):
            if not isinstance(value.get(column), list | tuple):
                found = _described(value.get(column))
                raise self._bad(f"{field}.{column}", f"expected a list, found {found}")
        texts, others = value[first], value[second]
        if len(texts) != len(others):
            raise self._bad(
                field, f"{len(texts)} of {first} do not pair with {len(others)} of {second}"
            )
        for text in texts:
            if not isinstance(text, str):
                raise self._bad(f"{field}.{first}", f"expected texts, found {_described(text)}")
        return list(zip(texts, others, strict=True))

    def _sentences(self, value: Any) -> list[str]:
        if not isinstance(value, list | tuple):
            raise self._bad("context.sentences", f"expected lists, found {_described(value)}")
        for sentence in value:
            if not isinstance(sentence, str):
                raise self._bad(
                    "context.sentences", f"expected texts, found {_described(sentence)}"
                )
        return [_one_line(sentence) for sentence in value]

    def _bad(self, field: str, what: str) -> DataError:
        return DataError(f"hotpotqa row {self.row_id}, field {field!r}: {what}")


def _described(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
