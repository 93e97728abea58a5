"""Multiple choice: the gold is one of the choices, and the question shows them all."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator

from cb_datasets.mapping import LETTERS, add_choices, add_golds, example_from
from cb_datasets.reading import Row
from cb_datasets.table import Benchmark, Choice, Example

_SUBJECTS = """
    abstract_algebra anatomy astronomy business_ethics clinical_knowledge college_biology
    college_chemistry college_computer_science college_mathematics college_medicine
    college_physics computer_security conceptual_physics econometrics electrical_engineering
    elementary_mathematics formal_logic global_facts high_school_biology high_school_chemistry
    high_school_computer_science high_school_european_history high_school_geography
    high_school_government_and_politics high_school_macroeconomics high_school_mathematics
    high_school_microeconomics high_school_physics high_school_psychology
    high_school_statistics high_school_us_history high_school_world_history human_aging
    human_sexuality international_law jurisprudence logical_fallacies machine_learning
    management marketing medical_genetics miscellaneous moral_disputes moral_scenarios
    nutrition philosophy prehistory professional_accounting professional_law
    professional_medicine professional_psychology public_relations security_studies sociology
    us_foreign_policy virology world_religions
"""
MMLU_SUBJECTS = tuple(_SUBJECTS.split())


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


def _gpqa(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """The source lists the right answer first, so the choices are shuffled."""
    example = example_from(row, choice, benchmark)
    wrong = [row.text(f"Incorrect Answer {number}") for number in (1, 2, 3)]
    choices, label = _shuffled(row.text("Correct Answer"), wrong, choice, example["id"])
    add_choices(example, choices, label, row)
    yield example


def _truthfulqa(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
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


def _arc(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """Choices carry labels of their own: letters in most rows, digits in some."""
    example = example_from(row, choice, benchmark)
    labels = row.texts("choices.label")
    texts = [text for text, _ in row.columns("choices", "text", "label")]
    key = row.text("answerKey")
    if key not in labels:
        raise row.bad("answerKey", f"{key!r} is not one of {', '.join(labels)}")
    add_choices(example, texts, labels.index(key), row)
    yield example


def _mmlu_pro(row: Row, choice: Choice, benchmark: Benchmark) -> Iterator[Example]:
    """Rows say the right choice twice, which must agree."""
    example = example_from(row, choice, benchmark)
    index = row.get("answer_index")
    if isinstance(index, int) and LETTERS.find(example["label"]) != index:
        raise row.bad("answer_index", f"{index} is not the place of answer {example['label']}")
    yield example


BENCHMARKS = (
    Benchmark(
        name="quality",
        summary="QuALITY: multiple-choice questions about long stories and articles.",
        path="tasksource/QuALITY",
        split="validation",
        splits=("train", "validation"),
        cluster="article_id",
        tasks=("multiple-choice", "qa"),
        published="Accuracy; as here.",
        licence="CC BY 4.0",
        homepage="https://github.com/nyu-mll/quality",
        fields={
            "id": "question_unique_id",
            "context": "article",
            "question": "question",
            "choices": "options",
            "label": "gold_label",
            "difficult": "difficult",
        },
        first_label=1,
    ),
    Benchmark(
        name="mmlu",
        summary="MMLU: exam questions in 57 subjects, four choices each.",
        path="cais/mmlu",
        config="all",
        configs=("all", *MMLU_SUBJECTS),
        split="test",
        splits=("test", "validation", "dev", "auxiliary_train"),
        tasks=("multiple-choice",),
        published="Accuracy of the likeliest letter; here of the letter read from the response.",
        only_in={"auxiliary_train": ("all",)},
        licence="MIT",
        homepage="https://github.com/hendrycks/test",
        fields={
            "question": "question",
            "choices": "choices",
            "label": "answer",
            "subject": "subject",
        },
    ),
    Benchmark(
        name="mmlu-pro",
        summary="MMLU-Pro: harder exam questions with up to ten choices.",
        path="TIGER-Lab/MMLU-Pro",
        split="test",
        splits=("test", "validation"),
        tasks=("multiple-choice",),
        published=(
            "Accuracy of the letter read from the response, a random one where there is "
            "none; here such a response is wrong."
        ),
        licence="MIT",
        homepage="https://github.com/TIGER-AI-Lab/MMLU-Pro",
        fields={
            "id": "question_id",
            "question": "question",
            "choices": "options",
            "label": "answer",
            "category": "category",
        },
        needs=("answer_index",),
        examples=_mmlu_pro,
    ),
    Benchmark(
        name="arc-challenge",
        summary="ARC: grade-school science questions that simple methods get wrong.",
        path="allenai/ai2_arc",
        config="ARC-Challenge",
        configs=("ARC-Challenge", "ARC-Easy"),
        split="test",
        splits=("train", "validation", "test"),
        tasks=("multiple-choice",),
        published="Accuracy; here of the letter read from the response.",
        licence="CC BY-SA 4.0",
        homepage="https://allenai.org/data/arc",
        fields={"id": "id", "question": "question"},
        needs=("choices", "answerKey"),
        examples=_arc,
    ),
    Benchmark(
        name="truthfulqa",
        summary="TruthfulQA: questions that invite popular misconceptions.",
        path="truthfulqa/truthful_qa",
        config="generation",
        configs=("generation", "multiple_choice"),
        split="validation",
        splits=("validation",),
        tasks=("qa",),
        tasks_by_config={"multiple_choice": ("multiple-choice",)},
        published=(
            "Truth and informativeness by judge models, MC1 by likelihood; here token F1 "
            "with the correct answers, and the letter read from the response."
        ),
        licence="Apache 2.0",
        homepage="https://github.com/sylinrl/TruthfulQA",
        fields={"question": "question", "category": "category"},
        examples=_truthfulqa,
        seeded=True,
    ),
    Benchmark(
        name="gpqa",
        summary="GPQA: graduate-level science questions that a search does not answer.",
        path="Idavidrein/gpqa",
        config="gpqa_diamond",
        configs=("gpqa_diamond", "gpqa_main", "gpqa_extended"),
        split="train",
        splits=("train",),
        tasks=("multiple-choice",),
        published="Accuracy; as here, the choices shuffled by `seed`.",
        licence="CC BY 4.0",
        homepage="https://github.com/idavidrein/gpqa",
        fields={"id": "Record ID", "question": "Question", "domain": "High-level domain"},
        needs=(
            "Correct Answer",
            "Incorrect Answer 1",
            "Incorrect Answer 2",
            "Incorrect Answer 3",
        ),
        examples=_gpqa,
        seeded=True,
        gated=True,
    ),
    Benchmark(
        name="hellaswag",
        summary="HellaSwag: which of four endings continues an everyday scene.",
        path="Rowan/hellaswag",
        split="validation",
        splits=("train", "validation", "test"),
        unlabelled=("test",),
        cluster="source_id",
        tasks=("multiple-choice",),
        published="Accuracy of the likeliest ending; here of the letter read from the response.",
        licence="MIT",
        homepage="https://rowanzellers.com/hellaswag/",
        instruction="Which ending continues the text best?\n\n{question}",
        fields={
            "question": "ctx",
            "choices": "endings",
            "label": "label",
            "activity_label": "activity_label",
        },
    ),
    Benchmark(
        name="winogrande",
        summary="WinoGrande: which of two words fills the gap of a sentence.",
        path="allenai/winogrande",
        config="winogrande_xl",
        configs=(
            "winogrande_xs",
            "winogrande_s",
            "winogrande_m",
            "winogrande_l",
            "winogrande_xl",
            "winogrande_debiased",
        ),
        split="validation",
        splits=("train", "validation", "test"),
        unlabelled=("test",),
        tasks=("multiple-choice",),
        published="Accuracy; here of the letter read from the response.",
        licence="CC BY",
        homepage="https://winogrande.allenai.org/",
        instruction="What belongs in the place of the _?\n\n{question}",
        fields={"question": "sentence", "choices": ("option1", "option2"), "label": "answer"},
        first_label=1,
    ),
    Benchmark(
        name="longbench-v2",
        summary="LongBench v2: multiple choice over contexts of up to two million words.",
        path="zai-org/LongBench-v2",
        split="train",
        splits=("train",),
        cluster="context",
        tasks=("multiple-choice", "qa"),
        published="Accuracy; as here.",
        licence="Apache 2.0",
        homepage="https://github.com/THUDM/LongBench",
        fields={
            "id": "_id",
            "context": "context",
            "question": "question",
            "choices": ("choice_A", "choice_B", "choice_C", "choice_D"),
            "label": "answer",
            "domain": "domain",
            "difficulty": "difficulty",
            "length": "length",
        },
    ),
)
