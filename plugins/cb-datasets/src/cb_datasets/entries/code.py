"""Programs to be written, and the tests that judge them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cb_datasets.mapping import asked, example_id
from cb_datasets.reading import Row
from cb_datasets.table import Benchmark, Choice, Example

_DEFINED = re.compile(r"^def\s+(\w+)", re.MULTILINE)


def humaneval(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """The function head is the context; the tests end with the call that runs them."""
    entry_point, prompt = row.text("entry_point"), row.source("prompt")
    example["context"] = example["prompt"] = prompt
    example["entry_point"] = entry_point
    example["tests"] = f"{row.source('test').rstrip()}\n\ncheck({entry_point})\n"
    example["test"] = row.source("test")
    _add_solution(example, row.source("canonical_solution"))


def mbpp(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """`sanitized` brings imports for its tests, `full` a piece of set-up code.

    The tests are shown, as they alone say how the function is to be called.
    """
    tests = row.texts("test_list")
    if not tests:
        raise row.bad("test_list", "there is no test")
    sanitized = row.get("prompt") is not None
    prompt = row.text("prompt" if sanitized else "text")
    before = row.texts("test_imports") if sanitized else [row.optional_text("test_setup_code")]
    shown = f"{prompt}\n\nYour code has to pass:\n\n" + "\n".join(tests)
    example: Example = {
        "id": example_id(row, choice, "task_id"),
        "question": asked(benchmark.instruction, shown),
        "prompt": prompt,
        "tests": "\n".join([*filter(None, before), *tests]) + "\n",
        "test_list": tests,
    }
    _add_solution(example, row.source("code"))
    for name in _DEFINED.findall(example["canonical_solution"]):
        if re.search(rf"\b{name}\(", tests[0]):
            example["entry_point"] = name
    yield example


def _add_solution(example: Example, solution: str) -> None:
    """The published solution, as what it is and as the gold text: one of many that are right."""
    example["canonical_solution"] = example["answer"] = solution
    example["answers"] = [solution]


def swebench(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    example["question"] = (
        f"Write a patch in unified diff format that resolves this issue of {row.text('repo')} "
        f"at commit {row.text('base_commit')}."
    )
    example["answer"] = row.source("patch")
    example["answers"] = [example["answer"]]
