"""Long contexts: collections of tasks, and needles in books."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cb_datasets.mapping import LETTERS, add_choices, add_golds, asked, example_id
from cb_datasets.reading import Row
from cb_datasets.table import Benchmark, Choice, Example
from cbcore.exceptions import DataError
from cbcore.hf import HubDataset


def longbench(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """Some tasks ask the same of every row and have no input."""
    task = (choice.config or "").removesuffix("_e")
    instruction = benchmark.instruction_by_config[task]
    wanted = row.text("input") if "{question}" in instruction else ""
    example: Example = {
        "id": example_id(row, choice, "_id"),
        "context": row.text("context"),
        "question": asked(instruction, wanted),
        "language": row.text("language"),
    }
    add_golds(example, row.texts("answers"), row)
    if row.get("all_classes"):
        example["all_classes"] = row.texts("all_classes")
    yield example


def infinitebench(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """Golds are one text or several accepted ones; with options, the gold is one of them."""
    example: Example = {
        "id": example_id(row, choice, "id"),
        "context": row.text("context"),
        "question": row.optional_text("input") or "Summarise this book.",
        "infinitebench_task": choice.config,
    }
    answer = row.get("answer")
    if row.get("options"):
        options = [option.strip() for option in row.texts("options")]
        add_choices(example, options, _option(row, options, answer), row)
    elif choice.config == "math_calc":  # the values after each step, which belong together
        nested = isinstance(answer, list) and len(answer) == 1 and isinstance(answer[0], list)
        add_golds(example, [json.dumps(answer[0] if nested else answer)], row)
    else:
        golds = answer if isinstance(answer, list | tuple) else [answer]
        add_golds(example, [str(gold) for gold in golds if gold is not None], row)
    yield example


def _option(row: Row, options: list[str], answer: Any) -> int:
    """Which option is right: the gold is its text, its letter, or a list with either."""
    golds = answer if isinstance(answer, list | tuple) else [answer]
    for gold in golds:
        if isinstance(gold, str) and gold.strip() in options:
            return options.index(gold.strip())
    for gold in golds:
        if isinstance(gold, str) and gold.strip() in LETTERS[: len(options)]:
            return LETTERS.index(gold.strip())
    raise row.bad("answer", f"{answer!r} is none of the {len(options)} options")


def nolima_rows(source: HubDataset, choice: Choice) -> Iterator[Mapping[str, Any] | DataError]:
    """Every needle with every set of its arguments, each to be put into the next of the books."""
    path = source.file(f"needlesets/{choice.needle_set}.json")
    try:
        needles = json.loads(_read(path))
    except ValueError as error:
        raise DataError(f"{path}: not valid JSON: {error}") from error
    if not isinstance(needles, list):
        raise DataError(f"{path}: expected a list of needles with their tests")
    _check_kind(path, needles, choice.config or "onehop")
    books = itertools.cycle(_books(source))
    for needle in needles:
        try:
            tests = list(needle["tests"].items())
        except KeyError as error:
            yield DataError(f"{path}: a needle lacks {error}")
        except (AttributeError, TypeError):
            yield DataError(f"{path}: expected a list of needles with their tests")
        else:
            for test_id, test in tests:
                yield {**needle, "test_id": test_id, "test": test, "book": next(books)}


def _check_kind(path: Path, needles: list[Any], kind: str) -> None:
    """Sets of needles differ in how they can be asked for; one that cannot be is an error."""
    kinds = {
        name: None
        for needle in needles
        if isinstance(needle, Mapping) and isinstance(needle.get("questions"), Mapping)
        for name in needle["questions"]
    }
    if kinds and kind not in kinds:
        raise DataError(
            f"{path}: no needle has a question of the kind {kind!r}",
            hint=f"kinds of this set: {', '.join(map(str, kinds))}",
        )


def _books(source: HubDataset) -> list[str]:
    folder = source.local_folder()
    names = [f"haystack/rand_shuffle/rand_book_{number}.txt" for number in range(1, 6)]
    if folder is not None:  # a local copy may have fewer
        there = sorted(folder.glob("haystack/rand_shuffle/rand_book_*.txt"))
        names = [str(path.relative_to(folder)) for path in there] or names[:1]
    return [_read(source.file(name)) for name in names]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8: {error}") from error


def nolima(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """Name and place of the needle follow from the seed and the needle's id, and nothing else."""
    kind = choice.config or "onehop"
    if row.get(f"questions.{kind}") is None:
        return  # not every needle can be asked for in two hops
    needle_id = f"{row.text('id')}_{row.text('test_id')}"
    rng = random.Random(f"{choice.seed}\n{needle_id}")  # noqa: S311 - repeatable, not secret
    golds = _names(row, rng)
    arguments = row.texts("test.input_args")
    needle = _filled(row.text("needle"), arguments, golds[0])
    lines = _first_words(row.text("book"), choice.max_words)
    place = rng.randrange(len(lines) + 1)
    placed = [*lines[:place], needle, *lines[place:]]
    misleading = {}
    if row.get(f"distractors.{kind}") is not None:
        text = _filled(row.text(f"distractors.{kind}"), arguments, golds[0])
        placed.insert(rng.randrange(len(placed) + 1), text)
        misleading = {"distractor": text}
    example: Example = {
        "id": f"{needle_id}_{kind}",
        "context": "\n".join(placed),
        "question": _filled(row.text(f"questions.{kind}"), arguments, golds[0]),
        "needle": needle,
        "depth": round(place / len(lines), 4),
        **misleading,
    }
    add_golds(example, golds, row)
    yield example


def _names(row: Row, rng: random.Random) -> list[str]:
    """Who the needle is about: one of its characters, or those its test accepts."""
    if "{CHAR}" not in row.text("needle") and row.get("test.gold_answers"):
        return row.texts("test.gold_answers")
    characters = row.texts("character_set")
    if not characters:
        raise row.bad("character_set", "there is no character")
    return [rng.choice(characters)]


def _filled(template: str, arguments: list[str], character: str) -> str:
    for number, argument in enumerate(arguments, start=1):
        template = template.replace(f"{{{number}}}", argument)
    return template.replace("{CHAR}", character)


def _first_words(book: str, max_words: int) -> list[str]:
    """The lines of a book that hold its first words; at least one."""
    lines: list[str] = []
    n_words = 0
    for line in book.splitlines():
        n_words += len(line.split())
        if lines and n_words > max_words:
            break
        lines.append(line)
    return lines
