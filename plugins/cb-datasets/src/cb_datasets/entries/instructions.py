"""Instructions to follow and conversations to hold; most have no gold text."""

from __future__ import annotations

from collections.abc import Iterator

from cb_datasets.mapping import add_golds, example_id
from cb_datasets.reading import Row
from cb_datasets.table import Benchmark, Choice, Example


def ifeval(example: Example, row: Row, choice: Choice, benchmark: Benchmark) -> None:
    """On the hub every parameter record carries the keys of all others, as nulls."""
    example["question"] = example["prompt"] = row.source("prompt")
    instructions, parameters = row.texts("instruction_id_list"), row.records("kwargs")
    if not instructions or len(instructions) != len(parameters):
        raise row.bad(
            "kwargs", f"{len(parameters)} records do not pair with {len(instructions)} instructions"
        )
    example["instruction_id_list"] = instructions
    example["kwargs"] = [
        {key: value for key, value in record.values.items() if value is not None}
        for record in parameters
    ]


def mt_bench(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """Mathematics, reasoning and coding have a reference for every turn; the rest have none."""
    turns = row.texts("prompt")
    if not turns or not all(turn.strip() for turn in turns):
        raise row.bad("prompt", "expected the user's turns, none of them empty")
    example: Example = {
        "id": example_id(row, choice, "prompt_id"),
        "turns": turns,
        "multi_turn": True,
        "category": row.text("category"),
    }
    if row.get("reference"):
        references = example["reference"] = row.texts("reference")
        if len(references) == len(turns) and references[-1].strip():
            add_golds(example, references[-1:], row)  # what is scored is the last reply
    yield example
