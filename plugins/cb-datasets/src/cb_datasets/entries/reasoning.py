"""Mathematics and logic: a question, and an answer that can be checked."""

from __future__ import annotations

import re

from cb_datasets.mapping import LETTERS, add_choices, add_golds
from cb_datasets.reading import Row
from cb_datasets.table import Benchmark, Choice, Example

_OPTION = re.compile(r"^\(([A-Z])\) ?(.*)$", re.MULTILINE)


def gsm8k(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """The final number stands behind the last `####`, thousands separated or not."""
    reasoning, mark, final = row.text("answer").rpartition("####")
    if not mark:
        raise row.bad("answer", "there is no #### with the final number")
    add_golds(example, [final.replace(",", "")], row)
    example["reasoning"] = reasoning.strip()


def math(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    solution = row.text("solution")
    boxed = last_boxed(solution)
    if boxed is None:
        raise row.bad("solution", "there is no \\boxed answer")
    add_golds(example, [boxed], row)
    example["reasoning"] = solution


def last_boxed(text: str) -> str | None:
    r"""What stands in the last `\boxed{…}`, `\fbox{…}` or `\boxed 5` of a solution."""
    start = max(text.rfind("\\boxed"), text.rfind("\\fbox"))
    if start < 0:
        return None
    rest = text[start:].removeprefix("\\boxed").removeprefix("\\fbox").lstrip()
    if not rest.startswith("{"):
        return rest.partition("$")[0].strip().rstrip(".") or None
    depth = 0
    for index, char in enumerate(rest):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return rest[1:index].strip() or None
    return None


def mgsm(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    if worked := row.optional_text("answer"):
        example["reasoning"] = worked
    example["language"] = choice.config


def bbh(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """Inputs show their options themselves; a target is the letter of one, or a free text."""
    target = row.text("target")
    has_options = "multiple-choice" in benchmark.tasks_of(choice.config)
    options = _OPTION.findall(example["question"]) if has_options else []
    letters = [letter for letter, _ in options]
    texts = [text.strip() for _, text in options]
    bare = target.strip("()")
    if letters and letters == list(LETTERS[: len(letters)]):
        label = letters.index(bare) if bare in letters else -1
        if label < 0 and target in texts:  # a few targets are the option's text
            label = texts.index(target)
        if label >= 0:
            add_choices(example, texts, label, row, shown=True)
            return
    add_golds(example, [target], row)
