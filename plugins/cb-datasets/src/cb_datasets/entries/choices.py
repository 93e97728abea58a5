"""Multiple choice: the gold is one of the choices, and the question shows them all."""

from __future__ import annotations

import hashlib
import random

from cb_datasets.mapping import LETTERS, add_choices, add_golds
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


def gpqa(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """The source lists the right answer first, so the choices are shuffled."""
    wrong = [row.text(f"Incorrect Answer {number}") for number in (1, 2, 3)]
    choices, label = _shuffled(row.text("Correct Answer"), wrong, choice, example["id"])
    add_choices(example, choices, label, row)


def truthfulqa(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """`generation` accepts every correct answer; `multiple_choice` has one, listed first."""
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


def arc(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """Choices carry labels of their own: letters in most rows, digits in some."""
    labels = row.texts("choices.label")
    texts = [text for text, _ in row.columns("choices", "text", "label")]
    key = row.text("answerKey")
    if key not in labels:
        raise row.bad("answerKey", f"{key!r} is not one of {', '.join(labels)}")
    add_choices(example, texts, labels.index(key), row)


def mmlu_pro(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """Rows say the right choice twice, which must agree."""
    index = row.get("answer_index")
    if isinstance(index, int) and LETTERS.find(example["label"]) != index:
        raise row.bad("answer_index", f"{index} is not the place of answer {example['label']}")
