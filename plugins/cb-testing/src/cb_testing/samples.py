"""What components are tried on: ordinary examples, hostile ones, rows and whole results."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, cast

from cbcore.results import EvalResult, EvalRow
from cbcore.runconfig import RunConfig

Pair: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
"""An example and an output, as an evaluator gets them."""

HUGE = " ".join(f"word{number}" for number in range(12_000))
"""About a hundred thousand characters: more than a prompt, little enough for a test."""
ODD = "Ünïcödé ☃ 漢字 😀 e\u0301 \u202egnp.exe \x00\x1b[31m \ud800"
"""Wide, combining, reordering, control and broken characters."""

_EXAMPLE: dict[str, Any] = {
    "id": "conformance-1",
    "context": "Paris: Paris is the capital of France. It lies on the Seine.\n\n"
    "Rome: Rome is the capital of Italy. It lies on the Tiber.",
    "question": "Which city is the capital of France?",
    "answer": "Paris",
    "answers": ["Paris"],
    "choices": ["Rome", "Paris"],
    "reference": "Paris is the capital of France.",
    "label": "entailment",
    "documents": [
        {
            "title": "Paris",
            "sentences": ["Paris is the capital of France.", "It lies on the Seine."],
        },
        {"title": "Rome", "sentences": ["Rome is the capital of Italy.", "It lies on the Tiber."]},
    ],
    "supporting_facts": [["Paris", 0]],
}

_OUTPUTS: tuple[dict[str, Any], ...] = (
    {"response": "Paris", "predicted_supporting_facts": [["Paris", 0]]},
    {"response": "The city of Paris, I think.", "context": "Paris is the capital of France."},
    {"response": "Rome", "contexts": ["Rome is the capital of Italy."]},
    {"response": "42", "usage": {"prompt_tokens": 12, "completion_tokens": 1}},
    {"response": "", "metadata": {"note": "nothing found"}},
)


def example(**changes: Any) -> dict[str, Any]:
    """A question with everything an example usually has; None takes a field out."""
    made = {**copy.deepcopy(_EXAMPLE), **changes}
    return {key: value for key, value in made.items() if value is not None}


def pairs() -> list[Pair]:
    """Outputs that are right, nearly right, wrong and empty."""
    return [(example(), {**example(), **copy.deepcopy(output)}) for output in _OUTPUTS]


def hostile_pairs(fields: Iterable[str] = ()) -> Iterator[tuple[str, Pair]]:
    """Pairs an evaluator has to cope with, each with what is special about it."""
    usual = ("answer", "context", "question")
    right: dict[str, Any] = {"response": "Paris"}
    for field in dict.fromkeys([*usual, *fields]):
        for what, changed in _spoilt(example(), field):
            yield f"an example whose {field!r} is {what}", (changed, right)
    for what, output in _spoilt({"response": "Paris", "context": "Paris."}, "response"):
        yield f"an output whose 'response' is {what}", (example(), output)
    yield "an empty output", (example(), {})
    yield "an empty example and output", ({}, {})


def hostile_examples() -> Iterator[tuple[str, dict[str, Any]]]:
    """Examples a system has to cope with, each with what is special about it."""
    for field in ("context", "question"):
        for what, changed in _spoilt(example(), field):
            yield f"an example whose {field!r} is {what}", changed
    yield "an example with an id and nothing else", {"id": 1}


def _spoilt(whole: dict[str, Any], field: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "missing", {key: value for key, value in whole.items() if key != field}
    for what, value in (("None", None), ("empty", ""), ("huge", HUGE), ("odd Unicode", ODD)):
        yield what, {**whole, field: value}


def rows(score_fields: Iterable[str] = ()) -> list[EvalRow]:
    """Rows of one system: scored, unscored and errored, on two datasets and twice each."""
    names = dict.fromkeys(["f1", "exact_match", "score", *score_fields])
    scores = [dict.fromkeys(names, value) for value in (1.0, 0.5, 0.0)]
    made = [
        EvalRow("a", number, score, 100, 40, {"cost_usd": 0.01}, 0.1 * number, f"set-{number % 2}")
        for number, score in enumerate(scores)
    ]
    made += [EvalRow("a", 0, dict(scores[1]), 100, 40, dataset="set-0", response="Paris", repeat=1)]
    return [*made, *unscored_rows(), *errored_rows()]


def unscored_rows() -> list[EvalRow]:
    """Rows that lack whatever a row may lack."""
    return [EvalRow("a", 8), EvalRow("a", "nine", missing={"f1": "the example has no gold answer"})]


def errored_rows() -> list[EvalRow]:
    """Rows that were not measured."""
    return [EvalRow("a", number, error="TimeoutError: no answer") for number in (5, 6)]


def result() -> EvalResult:
    """A result with two systems, every kind of row, and a metric without a finite value."""
    made = rows()
    others = [EvalRow("b", row.example_id, dict(row.scores), 90, 80, {}) for row in made]
    summary = {
        "a": {"mean_score": 0.5, "cost_of_pass": None, "dataset:set-0": 0.5},
        "b": {"mean_score": 0.5, "cost_of_pass": 12.5, "dataset:set-0": None},
    }
    config: RunConfig = {
        "run_id": "20260101-000000-abcdef",
        "started": "2026-01-01T00:00:00+00:00",
        "state": "finished",
        "systems": [{"name": n, "component": n, "plugin": "python", "params": {}} for n in "ab"],
        "datasets": [{"name": "set-0"}, {"name": "set-1"}],
        "score_field": "f1",
        "threshold": 0.7,
    }
    return EvalResult([*made, *others], summary, {"a": 1.0, "b": 2.0}, config)


HOSTILE_TAG = "cb-hostile"
HOSTILE_SCRIPT = "<script>cbHostile()"
_HOSTILE = (
    f"{HOSTILE_SCRIPT}</script>",
    f'"><{HOSTILE_TAG}>',
    f"'><{HOSTILE_TAG}>",
    f"</script></style></title></textarea>--><{HOSTILE_TAG}>",
    "\x1b[31mred\x07\x00\x9b2J",
    "a,b;c\td|e\\|f",
    'one\ntwo\r\nthree "quoted"',
    "=HYPERLINK(1)",
    ODD,
)


def hostile_result() -> EvalResult:
    """A result in which every name, text, key and reason means harm."""
    made = []
    for text in _HOSTILE:
        shared: dict[str, Any] = {"dataset": text, "metadata": {text: text}}
        made += [
            EvalRow(text, text, {"f1": 0.5, text: 1.0}, 10, 5, response=text, **shared),
            EvalRow(text, 2, {}, 10, 5, missing={text: text}, response=text, **shared),
            EvalRow(text, 3, error=text, **shared),
        ]
    summary: dict[str, dict[str, float | None]] = {
        text: {"mean_score": 0.5, text: 1.0, f"dataset:{text}": 0.5} for text in _HOSTILE
    }
    harm = _HOSTILE[0]
    config: dict[str, Any] = dict.fromkeys(("run_id", "started", "state", "state_reason"), harm)
    described = dict.fromkeys(("name", "component", "plugin", "version", "digest"), harm)
    config["systems"] = [{**described, "params": {text: text}} for text in _HOSTILE]
    config["score_field"] = "f1"
    return EvalResult(made, summary, {}, cast(RunConfig, config), list(_HOSTILE))
