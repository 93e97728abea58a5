"""Small documents of our own for public datasets, in the shape that their tasks read.

They say nothing: what is compared is the number that two programs make of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.harness import programs

N_DOCUMENTS = 6
_MANY = {"SetFit/20_newsgroups": 60}
"""Those of which unitxt takes a tenth for another split, by chance."""
SPLITS = (
    *("train", "validation", "test", "dev", "val", "eval", "validation_matched"),
    *("validation_mismatched", "train_r1", "dev_r1", "test_r1", "train_r2", "dev_r2", "test_r2"),
    *("train_r3", "dev_r3", "test_r3", "murder_mysteries", "object_placements", "team_allocation"),
)
_ANIMALS = ("cat", "dog", "owl", "fox", "hen", "bee", "ant", "cow", "elk", "yak", "ram", "emu")
_PLACES = ("barn", "lake", "hill", "cave", "town", "wood", "farm", "port", "road", "hall")
_VERBS = ("sees", "likes", "finds", "hears", "meets", "helps", "calls")
LETTERS = "ABCDEFGHIJ"

Document = dict[str, Any]


def _pick(words: tuple[str, ...], i: int, salt: str) -> str:
    return words[(i + int(hashlib.sha256(salt.encode()).hexdigest()[:6], 16)) % len(words)]


def sentence(i: int, salt: str = "") -> str:
    """One plain sentence; another for another number."""
    who, does = _pick(_ANIMALS, i, f"w{salt}"), _pick(_VERBS, i * 3, f"v{salt}")
    return f"The {who} {does} the {_pick(_ANIMALS, i * 5, f'x{salt}')} at the {_pick(_PLACES, i, salt)}."


def options(i: int, n: int = 4) -> list[str]:
    """Different answers to choose from."""
    start = (i * 7) % len(_ANIMALS)
    return [f"{_ANIMALS[(start + k) % len(_ANIMALS)]} {i}{'x' * (k % 3)}" for k in range(n)]


def question(i: int) -> str:
    """One plain question."""
    return f"Which animal is number {i} of the {_PLACES[i % len(_PLACES)]}?"


def _mmlu(i: int, config: str | None) -> Document:
    return {
        "question": question(i),
        "subject": str(config),
        "choices": options(i),
        "answer": i % 4,
    }


def _bbh(i: int, config: str | None) -> Document:
    listed = "\n".join(f"({LETTERS[k]}) {one}" for k, one in enumerate(options(i, 4)))
    yes_no = ("causal", "navigate", "sports", "web")
    target = f"({LETTERS[i % 3]})"
    if "boolean" in str(config):
        target = ("True", "False")[i % 2]
    elif any(word in str(config) for word in yes_no):
        target = ("Yes", "No")[i % 2]
    elif "formal" in str(config):
        target = ("valid", "invalid")[i % 2]
    elif any(word in str(config) for word in ("arithmetic", "counting")):
        target = str(i % 10)
    elif any(word in str(config) for word in ("dyck", "sorting")):
        target = "] )" if "dyck" in str(config) else "ant bee"
    return {"input": f"{question(i)}\nOptions:\n{listed}", "target": target}


def _gsm8k(i: int, _: str | None) -> Document:
    return {
        "question": f"{sentence(i)} How many is {i} and 2?",
        "answer": f"It is so.\n#### {i + 2}",
    }


def _arc(i: int, config: str | None) -> Document:
    labels = list("ABCD") if i % 3 else list("1234")
    return {
        "id": f"q{i}",
        "question": question(i),
        "choices": {"text": options(i), "label": labels},
        "answerKey": labels[i % 4],
    }


def _hellaswag(i: int, _: str | None) -> Document:
    return {
        "activity_label": "Farming",
        "ctx_a": sentence(i),
        "ctx_b": "then the animal",
        "endings": options(i),
        "label": str(i % 4),
    }


def _super_glue(i: int, config: str | None) -> Document:
    documents: dict[str, Document] = {
        "boolq": {"passage": sentence(i), "question": "is it so"},
        "cb": {"premise": sentence(i), "hypothesis": sentence(i + 1)},
        "copa": {
            "premise": sentence(i),
            "question": ("cause", "effect")[i % 2],
            "choice1": sentence(i + 1),
            "choice2": sentence(i + 2),
        },
        "multirc": {
            "paragraph": sentence(i),
            "question": question(i),
            "answer": options(i)[0],
            "idx": {"paragraph": i // 3, "question": i // 2, "answer": i},
        },
        "record": {
            "passage": f"{sentence(i)}\n@highlight\n{sentence(i + 1)}",
            "query": "The @placeholder is there.",
            "entities": options(i, 3),
            "answers": options(i, 2)[:1],
            "idx": {"passage": i, "query": i},
        },
        "wic": {
            "word": "cat",
            "sentence1": "The cat runs.",
            "sentence2": f"A cat of {i}.",
            "start1": 4,
            "end1": 7,
            "start2": 2,
            "end2": 5,
        },
        "wsc.fixed": {
            "text": f"Ann met Eve because she was {i} late.",
            "span1_text": "Ann",
            "span2_text": "she",
            "span1_index": 0,
            "span2_index": 4,
        },
        "rte": {"premise": sentence(i), "hypothesis": sentence(i + 1)},
    }
    n_classes = 3 if config == "cb" else 2
    return {"idx": i, **documents[str(config)], "label": (i * 5 // 3) % n_classes}


def _anli(i: int, _: str | None) -> Document:
    return {"uid": f"u{i}", "premise": sentence(i), "hypothesis": sentence(i + 1), "label": i % 3}


def _drop(i: int, _: str | None) -> Document:
    nothing = {"day": "", "month": "", "year": ""}
    answer = {"number": str(i), "date": nothing, "spans": [], "worker_id": "", "hit_id": ""}
    if i % 2:
        answer = {**answer, "number": "", "spans": ["the cat", "dog"]}
    validated = {
        key: [answer[key], answer[key]]
        for key in ("number", "date", "spans", "worker_id", "hit_id")
    }
    return {
        "section_id": "s",
        "query_id": f"q{i}",
        "passage": sentence(i),
        "question": question(i),
        "answer": answer,
        "validated_answers": validated,
    }


def _squad(i: int, config: str | None) -> Document:
    return {
        "id": f"q{i}",
        "title": "Farm",
        "context": sentence(i),
        "question": question(i),
        "answers": {"text": ["the cat", f"cat {i}"], "answer_start": [0, 1]},
    }


def _truthful(i: int, config: str | None) -> Document:
    if config == "generation":
        return {
            "type": "x",
            "category": "y",
            "question": question(i),
            "best_answer": "The cat.",
            "correct_answers": [f"The cat {i}.", "A cat."],
            "incorrect_answers": ["The dog.", f"No dog {i}."],
            "source": "s",
        }
    return {
        "question": question(i),
        "mc1_targets": {"choices": options(i), "labels": [1, 0, 0, 0]},
        "mc2_targets": {"choices": options(i, 5), "labels": [1, 1, 0, 0, 0]},
    }


def _winograd(i: int, _: str | None) -> Document:
    return {
        "sentence": f"Ann told Eve because _ was {i} kind.",
        "option1": "Ann",
        "option2": "Eve",
        "answer": str(1 + i % 2),
    }


def _glue(i: int, config: str | None) -> Document:
    n_classes = 3 if str(config).startswith("mnli") else 2
    return {
        "sentence": sentence(i),
        "sentence1": sentence(i),
        "sentence2": sentence(i + 1),
        "question": question(i),
        "question1": question(i),
        "question2": question(i + 1),
        "premise": sentence(i),
        "hypothesis": sentence(i + 2),
        "label": (i * 5 // 3) % n_classes,
        "idx": i,
    }


def _translation(i: int, config: str | None) -> Document:
    one, other = str(config).split("-")
    return {"translation": {one: sentence(i, "a"), other: sentence(i, "b")}}


def _aqua(i: int, _: str | None) -> Document:
    return {"query": f"{question(i)}\nA:", "choices": options(i, 5), "gold": [i % 5]}


def _gpqa(i: int, _: str | None) -> Document:
    right, *wrong = options(i)
    return {
        "Question": question(i),
        "Correct Answer": right,
        **{f"Incorrect Answer {k + 1}": one for k, one in enumerate(wrong)},
    }


def _math(i: int, config: str | None) -> Document:
    return {
        "problem": f"What is {i} + 1?",
        "level": "Level 5",
        "type": "Algebra",
        "solution": f"It is $\\boxed{{{i + 1}}}$.",
    }


def _mmlu_pro(i: int, _: str | None) -> Document:
    return {
        "question_id": i,
        "question": question(i),
        "options": options(i, 10),
        "answer": LETTERS[i % 10],
        "answer_index": i % 10,
        "cot_content": f"A: Let's think step by step. The answer is ({LETTERS[i % 10]}).",
        "category": "biology",
        "src": "x",
    }


def _global_mmlu(i: int, _: str | None) -> Document:
    named = dict(zip(("option_a", "option_b", "option_c", "option_d"), options(i), strict=True))
    return {
        "question": question(i),
        "subject": ("anatomy", "virology")[i % 2],
        "subject_category": "x",
        **named,
        "answer": LETTERS[i % 4],
    }


def _lettered(answer: Callable[[int], Any], **names: str) -> Callable[[int, str | None], Document]:
    asked, right = names.get("asked", "question"), names.get("right", "answer")

    def document(i: int, _: str | None) -> Document:
        return {
            asked: question(i),
            **dict(zip("ABCD", options(i), strict=True)),
            right: answer(i),
        }

    return document


def _ifeval(i: int, _: str | None) -> Document:
    kinds = [["punctuation:no_comma"], ["change_case:english_lowercase", "punctuation:no_comma"]]
    chosen = kinds[i % 2]
    return {
        "key": i,
        "prompt": f"Write of number {i} without a comma.",
        "instruction_id_list": chosen,
        "kwargs": [{} for _ in chosen],
    }


def _race(i: int, _: str | None) -> Document:
    problems = [
        {"question": "It is  _  .", "answer": "B", "options": options(i)},
        {"question": question(i), "answer": LETTERS[i % 4], "options": options(i)},
    ]
    return {"article": sentence(i), "problems": str(problems)}


def _medqa(i: int, _: str | None) -> Document:
    named = {f"ending{k}": one for k, one in enumerate(options(i))}
    return {"sent1": question(i), **named, "label": i % 4}


def _mathqa(i: int, _: str | None) -> Document:
    listed = " , ".join(f"{'abcde'[k]} ) {one}" for k, one in enumerate(options(i, 5)))
    return {"Problem": question(i), "options": listed, "correct": "abcde"[i % 5]}


def _coqa(i: int, _: str | None) -> Document:
    return {
        "id": f"c{i}",
        "story": sentence(i),
        "questions": {"input_text": [question(i), question(i + 1)]},
        "answers": {"input_text": ["the cat", f"cat {i}"], "turn_id": [1, 2]},
        "additional_answers": {
            str(k): {"input_text": ["a cat", f"the cat {i}"], "turn_id": [1, 2]} for k in range(3)
        },
    }


def _longbench(i: int, config: str | None) -> Document:
    return {
        "input": question(i),
        "question": question(i),
        "context": sentence(i),
        "answers": ["the cat", f"cat {i}"],
        "all_classes": ["cat", "dog", "Food"] if config == "trec" else [],
        "_id": f"l{i}",
    }


def _eq(i: int, _: str | None) -> Document:
    said = {f"emotion{k}": name for k, name in enumerate(("Sad", "Calm", "Glad", "Angry"), 1)}
    scores = {f"emotion{k}_score": (i + k) % 10 for k in range(1, 5)}
    return {"prompt": f"Rate {i}.", "reference_answer_fullscale": str({**said, **scores})}


def _scrolls(i: int, config: str | None) -> Document:
    return {
        "id": f"s{i // 2}",
        "pid": f"s{i}_0",
        "input": f"{question(i)}\n\n{sentence(i)}",
        "output": ("Yes", "the cat")[i % 2],
    }


def _crows(i: int, _: str | None) -> Document:
    kinds = ("race-color", "gender", "religion")
    return {"sent_more": sentence(i), "sent_less": sentence(i + 1), "bias_type": kinds[i % 3]}


def _choices_of(**fields: Callable[[int], Any]) -> Callable[[int, str | None], Document]:
    return lambda i, _: {name: make(i) for name, make in fields.items()}


def _headqa(i: int, _: str | None) -> Document:
    listed = [{"aid": k + 1, "atext": one} for k, one in enumerate(options(i))]
    return {"qtext": question(i), "ra": 1 + i % 4, "answers": listed}


_GROUPS = ("sci.space", "rec.autos", "sci.med")


def _sentences(
    *names: str, **others: Callable[[int], Any]
) -> Callable[[int, str | None], Document]:
    def document(i: int, _: str | None) -> Document:
        texts = {name: sentence(i + k, name) for k, name in enumerate(names)}
        return {**texts, **{name: make(i) for name, make in others.items()}}

    return document


DATASETS: dict[str, Callable[[int, str | None], Document]] = {
    "cais/mmlu": _mmlu,
    "hails/mmlu_no_train": _mmlu,
    "SaylorTwift/bbh": _bbh,
    "openai/gsm8k": _gsm8k,
    "madrylab/gsm8k-platinum": _gsm8k,
    "allenai/ai2_arc": _arc,
    "Rowan/hellaswag": _hellaswag,
    "aps/super_glue": _super_glue,
    "facebook/anli": _anli,
    "EleutherAI/drop": _drop,
    "google/xquad": _squad,
    "facebook/mlqa": _squad,
    "truthfulqa/truthful_qa": _truthful,
    "allenai/winogrande": _winograd,
    "Muennighoff/xwinograd": _winograd,
    "nyu-mll/glue": _glue,
    "wmt/wmt14": _translation,
    "wmt/wmt16": _translation,
    "hails/agieval-aqua-rat": _aqua,
    "hails/agieval-lsat-ar": _aqua,
    "hails/agieval-logiqa-en": _aqua,
    "Idavidrein/gpqa": _gpqa,
    "EleutherAI/hendrycks_math": _math,
    "DigitalLearningGmbH/MATH-lighteval": _math,
    "TIGER-Lab/MMLU-Pro": _mmlu_pro,
    "CohereForAI/Global-MMLU": _global_mmlu,
    "ceval/ceval-exam": _lettered(lambda i: LETTERS[i % 4]),
    "haonan-li/cmmlu": _lettered(lambda i: LETTERS[i % 4], asked="Question", right="Answer"),
    "HAERAE-HUB/KMMLU-HARD": _lettered(lambda i: 1 + i % 4),
    "HAERAE-HUB/KMMLU": _lettered(lambda i: 1 + i % 4),
    "google/IFEval": _ifeval,
    "wis-k/instruction-following-eval": _ifeval,
    "EleutherAI/race": _race,
    "GBaker/MedQA-USMLE-4-options-hf": _medqa,
    "regisss/math_qa": _mathqa,
    "EleutherAI/coqa": _coqa,
    "pbevan11/EQ-Bench": _eq,
    "EleutherAI/headqa": _headqa,
    "jannalu/crows_pairs_multilingual": _crows,
    **programs.DOCUMENTS,
    "SetFit/20_newsgroups": _choices_of(
        text=sentence, label=lambda i: i % 3, label_text=lambda i: _GROUPS[i % 3]
    ),
    "hazyresearch/based-fda": _choices_of(text=sentence, value=lambda i: f"cat {i}"),
    "hazyresearch/based-swde-v2": _choices_of(text=sentence, value=lambda i: f"cat {i}"),
    "hazyresearch/based-squad": _choices_of(text=sentence, value=lambda i: f"cat {i}"),
    "lighteval/squad_v2": _squad,
    "mandarjoshi/trivia_qa": _choices_of(
        question=question,
        answer=lambda i: {"value": "cat", "aliases": ["cat", f"cat {i}", "the cat"]},
    ),
    "juletxara/mgsm": _choices_of(
        question=question,
        answer=lambda i: f"Step-by-Step Answer: It is {i}.",
        answer_number=lambda i: i,
    ),
    "baber/piqa": _sentences("goal", "sol1", "sol2", label=lambda i: i % 2),
    "allenai/openbookqa": _choices_of(
        question_stem=question,
        choices=lambda i: {"text": options(i), "label": list("ABCD")},
        answerKey=lambda i: LETTERS[i % 4],
    ),
    "allenai/sciq": _choices_of(
        support=sentence,
        question=question,
        distractor1=lambda i: options(i)[0],
        distractor2=lambda i: options(i)[1],
        distractor3=lambda i: options(i)[2],
        correct_answer=lambda i: options(i)[3],
    ),
    "EleutherAI/lambada_openai": _choices_of(text=lambda i: sentence(i).rstrip(".")),
    "cimec/lambada": _choices_of(text=lambda i: sentence(i).rstrip(".")),
    "EleutherAI/wikitext_document_level": _choices_of(
        page=lambda i: f" = Farm {i} = \n {sentence(i)}"
    ),
    "EleutherAI/pile": _choices_of(text=sentence),
    "google-research-datasets/nq_open": _choices_of(
        question=question, answer=lambda i: ["the cat", f"cat {i}"]
    ),
    "tau/commonsense_qa": _choices_of(
        question=question,
        choices=lambda i: {"text": options(i, 5), "label": list("ABCDE")},
        answerKey=lambda i: LETTERS[i % 5],
    ),
    "bigbio/pubmed_qa": _choices_of(
        CONTEXTS=lambda i: [sentence(i), sentence(i + 1)],
        QUESTION=question,
        final_decision=lambda i: ("yes", "no", "maybe")[i % 3],
    ),
    "TAUR-Lab/MuSR": _choices_of(
        narrative=sentence,
        question=question,
        choices=lambda i: str(options(i, 3)),
        answer_choice=lambda i: options(i, 3)[i % 3],
        answer_index=lambda i: i % 3,
    ),
    "facebook/belebele": _choices_of(
        flores_passage=sentence,
        question=question,
        **{f"mc_answer{k + 1}": lambda i, k=k: options(i)[k] for k in range(4)},
        correct_answer_num=lambda i: str(1 + i % 4),
    ),
    "facebook/xnli": _sentences("premise", "hypothesis", label=lambda i: i % 3),
    "cambridgeltl/xcopa": _sentences(
        *("premise", "choice1", "choice2"),
        question=lambda i: ("cause", "effect")[i % 2],
        label=lambda i: i % 2,
    ),
    "juletxara/xstory_cloze": _sentences(
        *(f"input_sentence_{k}" for k in range(1, 5)),
        *("sentence_quiz1", "sentence_quiz2"),
        answer_right_ending=lambda i: 1 + i % 2,
    ),
    "google-research-datasets/paws-x": _sentences(
        "sentence1", "sentence2", id=lambda i: i, label=lambda i: i % 2
    ),
    "skg/toxigen-data": _choices_of(
        text=sentence, toxicity_ai=float, toxicity_human=lambda i: 1.0 + i % 3
    ),
    "nyu-mll/blimp": _sentences("sentence_good", "sentence_bad"),
    "EleutherAI/logiqa": _choices_of(
        context=sentence, question=question, options=options, label=lambda i: "abcd"[i % 4]
    ),
    "allenai/swag": _sentences(
        *("startphrase", "ending0", "ending1", "ending2", "ending3"), label=lambda i: i % 4
    ),
    "lighteval/siqa": _sentences(
        *("context", "question", "answerA", "answerB", "answerC"), label=lambda i: str(1 + i % 3)
    ),
    "stanfordnlp/web_questions": _choices_of(
        question=question, answers=lambda i: ["cat", f"dog {i}", "cat of the barn"]
    ),
    "EleutherAI/asdiv": _choices_of(
        body=sentence, question=question, answer=lambda i: f"{i + 1} (cats)"
    ),
    "EleutherAI/arithmetic": _choices_of(
        context=lambda i: f"Question: What is {i} + 1?\nAnswer:", completion=lambda i: f" {i + 1}"
    ),
    "EleutherAI/unscramble": _choices_of(
        context=lambda i: f"Please unscramble tca{i}:", completion=lambda i: f"cat{i}"
    ),
    "recursal/longbench-v2": _choices_of(
        context=sentence, question=question, choices=options, answer=lambda i: i % 4
    ),
    "Maxwell-Jia/AIME_2024": _choices_of(Problem=question, Answer=lambda i: i + 10),
    "Xnhyacinth/LongBench": _longbench,
    "tau/scrolls": _scrolls,
    "corypaik/prost": _choices_of(
        context=sentence,
        ex_question=question,
        **{letter: lambda i, k=k: options(i)[k] for k, letter in enumerate("ABCD")},
        label=lambda i: i % 4,
    ),
}
"""What stands in for each dataset: a document of a number and a config."""


def documents(path: str, config: str | None, split: str) -> list[Document]:
    """The documents of one split, the same each time."""
    offset = 100 * SPLITS.index(split)
    make = DATASETS[path]
    found = [make(offset + i, config) for i in range(_MANY.get(path, N_DOCUMENTS))]
    return [json.loads(json.dumps(document)) for document in found]


def folder_of(path: str) -> str:
    """The folder of a dataset among local copies."""
    return path.rstrip("/").rpartition("/")[2]


def files(path: str, config: str | None) -> Iterator[tuple[str, str]]:
    """Where the splits of a dataset lie below a folder of local copies, and what is in them."""
    for split in SPLITS:
        lines = "\n".join(map(json.dumps, documents(path, config, split)))
        yield f"{folder_of(path)}/{config or 'default'}/{split}.jsonl", lines
