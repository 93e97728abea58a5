"""From a row of a source to an example, by the table alone."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cb_datasets.reading import Row, described
from cb_datasets.table import Benchmark, Choice, Example

LETTERS = string.ascii_uppercase
_LONGEST_ID = 40


def example_from(row: Row, choice: Choice, benchmark: Benchmark) -> Example:
    """The example of one row.

    `id`, `context`, `question`, `answer`, `choices` and `label` of `benchmark.fields` have a
    meaning; any other entry is carried over as it is where the row has it. `instruction` is
    the question of a benchmark that asks the same of every row, or stands around its question
    (`{question}`).
    """
    fields = benchmark.fields
    example: Example = {"id": example_id(row, choice, fields.get("id"))}
    if "context" in fields:
        example["context"] = row.text(_one(fields["context"]))
    question = row.text(_one(fields["question"])) if "question" in fields else ""
    example["question"] = asked(benchmark.instruction, question)
    has_gold = choice.split not in benchmark.unlabelled
    if "choices" in fields:
        label = _label(row, _one(fields["label"]), benchmark.first_label) if has_gold else None
        add_choices(example, _choices(row, fields["choices"]), label, row)
    elif "answer" in fields and has_gold:
        add_golds(example, _golds(row, _one(fields["answer"])), row)
    meant = {"id", "context", "question", "answer", "choices", "label"}
    for name, path in fields.items():
        if name not in meant and (value := row.get(_one(path))) is not None:
            example[name] = value
    return example


def example_id(row: Row, choice: Choice, path: str | tuple[str, ...] | None = None) -> str:
    """The row's own id as a text, or its place in the split."""
    value = row.get(_one(path)) if path else None
    if path and (not isinstance(value, str | int) or isinstance(value, bool) or value == ""):
        raise row.bad(_one(path), f"expected an id, found {described(value)}")
    return f"{choice.split}-{row.number}" if value is None else str(value)


def cluster_of(row: Row, example: Example, benchmark: Benchmark) -> str | None:
    """The cluster of an example: an id that it shares with others, or a digest of the text that they share."""
    if benchmark.cluster is None:
        return None
    value = row.get(benchmark.cluster)
    if value is None and benchmark.context != "none":
        value = example.get("context")
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        return None
    text = str(value)
    if benchmark.cluster_end:
        text = text.rpartition(benchmark.cluster_end)[0] or text
    if len(text) <= _LONGEST_ID:
        return text
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def asked(instruction: str, question: str) -> str:
    """The question within its instruction. What the question says is never expanded."""
    return instruction.replace("{question}", question, 1) if instruction else question


def asked_text(example: Mapping[str, Any]) -> str:
    """The question of an example as one text: its question, or its turns with a blank line between."""
    return example.get("question") or "\n\n".join(map(str, example.get("turns", ())))


def add_golds(example: Example, golds: Iterable[str], row: Row) -> None:
    """Set `answer` and `answers`: each gold once, in order. None at all is an error."""
    unique = list(dict.fromkeys(text for gold in golds if (text := gold.strip())))
    if not unique:
        raise row.bad("answer", "there is no gold answer")
    example["answer"] = unique[0] if len(unique) == 1 else unique
    example["answers"] = unique


def add_choices(
    example: Example, choices: Sequence[str], label: int | None, row: Row, *, shown: bool = False
) -> None:
    """Set `choices`, and `answer`, `answers`, `label` and `answer_text` when there is a gold.

    The lettered choices are added to the question, unless it shows them already.
    """
    if not 2 <= len(choices) <= len(LETTERS):
        raise row.bad("choices", f"expected 2 to {len(LETTERS)} choices, found {len(choices)}")
    if not shown:
        example["question"] = f"{example['question']}\n\n{lettered(choices)}"
    example["choices"] = list(choices)
    if label is None:
        return
    if not 0 <= label < len(choices):
        raise row.bad("label", f"choice number {label + 1} of {len(choices)} is the gold")
    letter = LETTERS[label]
    example |= {"answer": letter, "answers": [letter], "label": letter}
    example["answer_text"] = choices[label]


def lettered(choices: Sequence[str]) -> str:
    """The choices as a model is shown them, a letter before each."""
    return "\n".join(
        f"{letter}) {choice}" for letter, choice in zip(LETTERS, choices, strict=False)
    )


def _one(path: str | tuple[str, ...]) -> str:
    return path if isinstance(path, str) else path[0]


def _choices(row: Row, path: str | tuple[str, ...]) -> list[str]:
    texts = row.texts(path) if isinstance(path, str) else [row.text(field) for field in path]
    return [text.strip() for text in texts]


def _label(row: Row, path: str, first: int) -> int:
    """The place of the gold among the choices: from a number, digits or a letter."""
    value: Any = row.get(path)
    if isinstance(value, str):
        text = value.strip()
        if len(text) == 1 and text in LETTERS:
            return LETTERS.index(text)
        value = int(text) if text.isascii() and text.isdigit() else value
    if not isinstance(value, int) or isinstance(value, bool):
        raise row.bad(path, f"expected the letter or number of a choice, found {value!r}")
    return value - first


def _golds(row: Row, path: str) -> list[str]:
    value: Any = row.get(path)
    values = value if isinstance(value, list | tuple) else [value]
    for item in values:
        if not isinstance(item, str | int | float) or isinstance(item, bool):
            raise row.bad(path, f"expected gold texts, found {described(item)}")
    return [str(item) for item in values]
