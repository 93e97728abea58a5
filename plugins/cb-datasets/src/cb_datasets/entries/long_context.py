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

_SUMMARY, _QA = ("summarization",), ("qa",)
LONGBENCH_TASKS: dict[str, tuple[tuple[str, ...], str]] = {
    "narrativeqa": (_QA, "{question}"),
    "qasper": (_QA, "{question}"),
    "multifieldqa_en": (_QA, "{question}"),
    "multifieldqa_zh": (_QA, "{question}"),
    "hotpotqa": (_QA, "{question}"),
    "2wikimqa": (_QA, "{question}"),
    "musique": (_QA, "{question}"),
    "dureader": (_QA, "{question}"),
    "gov_report": (_SUMMARY, "Summarise this report."),
    "qmsum": (_SUMMARY, "{question}"),
    "multi_news": (_SUMMARY, "Summarise these articles."),
    "vcsum": (_SUMMARY, "用中文总结这次会议。"),
    "trec": (_QA, "Give the type of this question, as in the examples.\n\n{question}"),
    "triviaqa": (_QA, "Answer as in the examples.\n\n{question}"),
    "samsum": (_SUMMARY, "Summarise this dialogue, as in the examples.\n\n{question}"),
    "lsht": (_QA, "按照示例,给出这篇新闻的类别。\n\n{question}"),
    "passage_count": (_QA, "How many different paragraphs are there? Answer with a number."),
    "passage_retrieval_en": (
        _QA,
        "Which paragraph is this the summary of? Answer as in: Paragraph 1.\n\n{question}",
    ),
    "passage_retrieval_zh": (_QA, "这段摘要属于哪个段落?请回答段落编号,例如段落1。\n\n{question}"),
    "lcc": (("code",), "Write the next line of this code."),
    "repobench-p": (("code",), "Write the next line of this code.\n\n{question}"),
}
"""The tasks of LongBench: what each is scored as, and what is asked around its input."""

LONGBENCH_E = tuple(
    f"{name}_e"
    for name in (
        *("qasper", "multifieldqa_en", "hotpotqa", "2wikimqa", "gov_report", "multi_news"),
        *("trec", "triviaqa", "samsum", "passage_count", "passage_retrieval_en"),
        *("lcc", "repobench-p"),
    )
)
"""LongBench-E: the tasks that are also there with contexts of even lengths."""

INFINITEBENCH_TASKS: dict[str, tuple[str, ...]] = {
    "passkey": ("qa", "infinitebench"),
    "kv_retrieval": ("qa", "infinitebench"),
    "number_string": ("qa", "infinitebench"),
    "code_run": ("qa", "infinitebench"),
    "code_debug": ("multiple-choice", "infinitebench"),
    "math_find": ("math", "infinitebench"),
    "math_calc": ("qa", "infinitebench"),
    "longdialogue_qa_eng": ("qa", "infinitebench"),
    "longbook_qa_eng": ("qa", "infinitebench"),
    "longbook_sum_eng": _SUMMARY,
    "longbook_choice_eng": ("multiple-choice", "infinitebench"),
    "longbook_qa_chn": ("qa", "infinitebench"),
}
"""The tasks of InfiniteBench. All but the summaries have a score of their own as well."""

LIKENESS = ("lcc", "repobench-p", "lcc_e", "repobench-p_e")
"""Tasks of LongBench that ask for code which no test is run on."""


def _longbench(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """Some tasks ask the same of every row and have no input."""
    task = (choice.config or "").removesuffix("_e")
    _, instruction = LONGBENCH_TASKS[task]
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


def _infinitebench(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
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


def _nolima_rows(source: HubDataset, choice: Choice) -> Iterator[Mapping[str, Any] | DataError]:
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


def _nolima(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
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


BENCHMARKS = (
    Benchmark(
        name="longbench",
        summary="LongBench: 21 tasks over long contexts, English, Chinese and code.",
        path="zai-org/LongBench",
        files="data.zip/data/{config}.jsonl",
        config="hotpotqa",
        configs=(*LONGBENCH_TASKS, *LONGBENCH_E),
        split="test",
        splits=("test",),
        cluster="context",
        tasks=_QA,
        tasks_by_config={
            name: LONGBENCH_TASKS[name.removesuffix("_e")][0]
            for name in (*LONGBENCH_TASKS, *LONGBENCH_E)
        },
        published=(
            "A metric for each task. The suite `longbench` computes them as published; here it is "
            "token F1, the F1 of ROUGE-L for summaries."
        ),
        main_score_by_config=dict.fromkeys(LIKENESS, "f1"),
        licence="MIT; the texts are under the licences of their sources",
        homepage="https://github.com/THUDM/LongBench",
        needs=("_id", "context", "input", "answers", "language"),
        context="all",
        examples=_longbench,
    ),
    Benchmark(
        name="infinitebench",
        summary="InfiniteBench: twelve tasks over contexts of more than 100,000 tokens.",
        path="xinrongzhang2022/InfiniteBench",
        config="longbook_qa_eng",
        configs=tuple(INFINITEBENCH_TASKS),
        files="{config}.jsonl",
        split="test",
        splits=("test",),
        cluster="context",
        tasks=("qa", "infinitebench"),
        tasks_by_config=INFINITEBENCH_TASKS,
        published=(
            "A rule for each task, rougeLsum for summaries; computed as published, the prompts "
            "are those of this package."
        ),
        main_score="infinitebench",
        main_score_by_config={"longbook_sum_eng": "rouge_lsum"},
        licence="Apache 2.0",
        homepage="https://github.com/OpenBMB/InfiniteBench",
        needs=("id", "context", "input", "answer"),
        context="all",
        examples=_infinitebench,
    ),
    Benchmark(
        name="nolima",
        summary="NoLiMa: a needle in a book that shares no words with the question.",
        path="amodaresi/NoLiMa",
        config="onehop",
        configs=("onehop", "twohop", "direct"),
        revision="378115b1f136b6ba78f90f78682bc55f70ec3ddd",
        split="test",
        splits=("test",),
        cluster="id",
        tasks=("qa", "nolima"),
        published="The name stands in the response, to the letter; computed as published.",
        main_score="nolima",
        licence="Adobe Research License, not for commercial use",
        homepage="https://github.com/adobe-research/NoLiMa",
        needs=("id", "needle", "questions", "character_set", "tests"),
        rows=_nolima_rows,
        context="all",
        examples=_nolima,
        seeded=True,
        sized=True,
    ),
)
