"""Multiple choice: the gold is one of the choices, and the question shows them all."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator

from cb_datasets.mapping import LETTERS, add_choices, add_golds, example_from
from cb_datasets.reading import Row
from cb_datasets.table import Benchmark, Choice, Example


def _shuffled(
    right: str, wrong: list[str], choice: Choice, example_id: str
) -> tuple[list[str], int]:
    """The choices in an order of their own per example and seed, and the place of the right one.

    The order depends on nothing else, so that it is the same in every process.
    """
    key = hashlib.sha256(f"{choice.seed}\n{example_id}".encode()).hexdigest()
    order = list(range(len(wrong) + 1))
    random.Random(key).shuffle(order)  # noqa: S311 - repeatable, not secret
    texts = [right, *wrong]
    return [texts[index] for index in order], order.index(0)


def gpqa(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """The source lists the right answer first, so the choices are shuffled."""
    example = example_from(row, choice, benchmark)
    wrong = [row.text(f"Incorrect Answer {number}") for number in (1, 2, 3)]
    choices, label = _shuffled(row.text("Correct Answer"), wrong, choice, example["id"])
    add_choices(example, choices, label, row)
    yield example


def truthfulqa(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """`generation` accepts every correct answer; `multiple_choice` has one, listed first."""
    example = example_from(row, choice, benchmark)
    if choice.config == "multiple_choice":
        pairs = row.columns("mc1_targets", "choices", "labels")
        right = [text for text, label in pairs if label == 1]
        if len(right) != 1:
            raise row.bad("mc1_targets", f"expected one right choice, found {len(right)}")
        wrong = [text for text, label in pairs if label != 1]
        choices, label = _shuffled(right[0], wrong, choice, example["id"])
        add_choices(example, choices, label, row)
    else:
        add_golds(example, [row.text("best_answer"), *row.texts("correct_answers")], row)
        example["incorrect_answers"] = row.texts("incorrect_answers")
    yield example


def arc(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """Choices carry labels of their own: letters in most rows, digits in some."""
    example = example_from(row, choice, benchmark)
    labels = row.texts("choices.label")
    texts = [text for text, _ in row.columns("choices", "text", "label")]
    key = row.text("answerKey")
    if key not in labels:
        raise row.bad("answerKey", f"{key!r} is not one of {', '.join(labels)}")
    add_choices(example, texts, labels.index(key), row)
    yield example


def mmlu_pro(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """Rows say the right choice twice, which must agree."""
    example = example_from(row, choice, benchmark)
    index = row.get("answer_index")
    if isinstance(index, int) and LETTERS.find(example["label"]) != index:
        raise row.bad("answer_index", f"{index} is not the place of answer {example['label']}")
    yield example
