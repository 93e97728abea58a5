"""Mathematics and logic: a question, and an answer that can be checked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cb_datasets.mapping import LETTERS, add_choices, add_golds, example_from
from cb_datasets.reading import Row
from cb_datasets.table import Benchmark, Choice, Example

_WITH_OPTIONS = """
    date_understanding disambiguation_qa geometric_shapes hyperbaton
    logical_deduction_five_objects logical_deduction_seven_objects
    logical_deduction_three_objects movie_recommendation penguins_in_a_table
    reasoning_about_colored_objects ruin_names salient_translation_error_detection snarks
    temporal_sequences tracking_shuffled_objects_five_objects
    tracking_shuffled_objects_seven_objects tracking_shuffled_objects_three_objects
"""
BBH_CHOICES = tuple(_WITH_OPTIONS.split())
_WITHOUT_OPTIONS = """
    boolean_expressions causal_judgement dyck_languages formal_fallacies
    multistep_arithmetic_two navigate object_counting sports_understanding web_of_lies
    word_sorting
"""
BBH_FREE = tuple(_WITHOUT_OPTIONS.split())
_OPTION = re.compile(r"^\(([A-Z])\) ?(.*)$", re.MULTILINE)


def _gsm8k(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """The final number stands behind the last `####`, thousands separated or not."""
    example = example_from(row, choice, benchmark)
    reasoning, mark, final = row.text("answer").rpartition("####")
    if not mark:
        raise row.bad("answer", "there is no #### with the final number")
    add_golds(example, [final.replace(",", "")], row)
    example["reasoning"] = reasoning.strip()
    yield example


def _math(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    example = example_from(row, choice, benchmark)
    solution = row.text("solution")
    boxed = last_boxed(solution)
    if boxed is None:
        raise row.bad("solution", "there is no \\boxed answer")
    add_golds(example, [boxed], row)
    example["reasoning"] = solution
    yield example


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


def _mgsm(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    example = example_from(row, choice, benchmark)
    if worked := row.optional_text("answer"):
        example["reasoning"] = worked
    example["language"] = choice.config
    yield example


def _bbh(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """Inputs show their options themselves; a target is the letter of one, or a free text."""
    example = example_from(row, choice, benchmark)
    target = row.text("target")
    options = _OPTION.findall(example["question"]) if choice.config in BBH_CHOICES else []
    letters = [letter for letter, _ in options]
    texts = [text.strip() for _, text in options]
    bare = target.strip("()")
    if letters and letters == list(LETTERS[: len(letters)]):
        label = letters.index(bare) if bare in letters else -1
        if label < 0 and target in texts:  # a few targets are the option's text
            label = texts.index(target)
        if label >= 0:
            add_choices(example, texts, label, row, shown=True)
            yield example
            return
    add_golds(example, [target], row)
    yield example


BENCHMARKS = (
    Benchmark(
        name="gsm8k",
        summary="GSM8K: grade-school word problems with a number as the answer.",
        path="openai/gsm8k",
        config="main",
        configs=("main", "socratic"),
        split="test",
        splits=("train", "test"),
        tasks=("math",),
        published="Accuracy of the final number; as here.",
        licence="MIT",
        homepage="https://github.com/openai/grade-school-math",
        fields={"question": "question"},
        needs=("answer",),
        examples=_gsm8k,
    ),
    Benchmark(
        name="math",
        summary="MATH: competition problems with answers in LaTeX.",
        path="DigitalLearningGmbH/MATH-lighteval",
        config="default",
        configs=(
            "default",
            "algebra",
            "counting_and_probability",
            "geometry",
            "intermediate_algebra",
            "number_theory",
            "prealgebra",
            "precalculus",
        ),
        split="test",
        splits=("train", "test"),
        tasks=("math",),
        published="Accuracy by equivalence of the boxed answer; here by math-verify.",
        licence="MIT",
        homepage="https://github.com/hendrycks/math",
        fields={"question": "problem", "level": "level", "type": "type"},
        needs=("solution",),
        examples=_math,
    ),
    Benchmark(
        name="mgsm",
        summary="MGSM: grade-school word problems in eleven languages.",
        path="juletxara/mgsm",
        config="en",
        configs=("bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh"),
        split="test",
        splits=("train", "test"),
        tasks=("math",),
        published="Accuracy of the final number; as here.",
        licence="CC BY-SA 4.0",
        homepage="https://github.com/google-research/url-nlp/tree/main/mgsm",
        fields={"question": "question", "answer": "answer_number"},
        examples=_mgsm,
    ),
    Benchmark(
        name="bbh",
        summary="BIG-Bench Hard: 27 tasks of logic, language and arithmetic.",
        path="SaylorTwift/bbh",
        config="boolean_expressions",
        configs=tuple(sorted((*BBH_CHOICES, *BBH_FREE))),
        split="test",
        splits=("test",),
        tasks=("qa",),
        tasks_by_config=dict.fromkeys(BBH_CHOICES, ("multiple-choice",)),
        published=(
            "Exact match after three worked solutions; here the letter where there are "
            "options, token F1 elsewhere, no worked solutions."
        ),
        licence="MIT",
        homepage="https://github.com/suzgunmirac/BIG-Bench-Hard",
        fields={"question": "input"},
        needs=("target",),
        examples=_bbh,
    ),
)
