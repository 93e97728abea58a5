"""The package as a whole: its contract with cb, its names, imports and extras."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from typing import Any

import pytest

from cb_testing import check_plugin
from cbcore import evaluate
from cbcore.exceptions import MissingExtraError

PUBLIC = {
    "ifeval": "IFEval INSTRUCTIONS Instruction UnknownInstructionError loose_variants",
    "math": "MathEquivalence final_answer",
    "multiple_choice": "Extracted MultipleChoiceAccuracy NoAnswerError extract_choice",
    "nli": "LabelSet NLILabelMatch Verdict read_verdict",
    "rouge": "Overlap SummarizationQuality rouge_l rouge_lsum rouge_n tokenize",
    "tool_use": "Call ToolCallMatch calls_of",
}
HEAVY = {"datasets", "pandas", "numpy", "rich", "pyarrow", "nltk", "rapidfuzz"}
HEAVY |= {"langdetect", "math_verify", "sympy"}
EXTRAS = {
    "math_verify": ("math", "math_equivalence"),
    "antlr4": ("math", "math_equivalence"),
    "langdetect": ("ifeval", "ifeval"),
}
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ifeval": (
        {
            "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
            "kwargs": [{}, {"num_words": 3, "relation": "at least"}],
        },
        {"response": "one, two"},
    ),
    "math_equivalence": (
        {"id": 1, "question": "6 × 7?", "answer": "42"},
        {"response": "It is 42."},
    ),
    "multiple_choice": (
        {"choices": ["Paris", "Rome"], "answer": "B"},
        {"response": "The answer is B."},
    ),
    "nli_label": ({"label": "entailment"}, {"response": "The label is entailment."}),
    "summarization_quality": ({"answer": "the cat sat"}, {"response": "the cat ran"}),
    "tool_call_match": (
        {"id": 1, "question": "q", "answer_calls": [{"name": "f", "arguments": {"a": 1}}]},
        {"tool_calls": [{"name": "f", "arguments": {"a": 1}}]},
    ),
}


def imported_by(module: str) -> set[str]:
    """The modules that a fresh interpreter has after it imports `module`."""
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_conformance() -> None:
    """Every rule of the kit holds for every component."""
    examples = {name: {"examples": [pair]} for name, pair in PAIRS.items()}
    check_plugin("cb-scorers", examples=examples).assert_ok()


def test_the_public_names_are_pinned() -> None:
    """Each subpackage exports these names, and has them."""
    for part, names in PUBLIC.items():
        module = importlib.import_module(f"cb_scorers.{part}")
        assert sorted(module.__all__) == names.split()
        assert all(hasattr(module, name) for name in module.__all__)


def test_importing_the_package_imports_none_of_its_parts() -> None:
    """A run that uses one scorer does not pay for the other five."""
    assert {name for name in imported_by("cb_scorers") if name.startswith("cb")} == {"cb_scorers"}


def test_importing_a_scorer_is_light_and_leaves_the_others_alone() -> None:
    """No heavy library is imported before a response is scored."""
    for part in PUBLIC:
        modules = imported_by(f"cb_scorers.{part}")
        assert modules & HEAVY == set(), part
        others = {f"cb_scorers.{other}" for other in PUBLIC.keys() - {part}}
        assert modules & others == set(), part


class Recorder:
    """Returns the same output for every example, and keeps the examples."""

    name = "recorder"

    def __init__(self, output: dict[str, Any]) -> None:
        self.output = output
        self.examples: list[dict[str, Any]] = []

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self.examples.append(example)
        return {**example, **self.output}


@pytest.mark.parametrize("module", EXTRAS)
def test_without_an_extra_only_its_own_scorer_fails(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    """The run stops before it calls the system. The other scorers work."""
    monkeypatch.setitem(sys.modules, module, None)
    extra, blocked = EXTRAS[module]
    for evaluator, (example, output) in PAIRS.items():
        system, data = Recorder(output), [{"context": "c", **example}]
        if evaluator == blocked:
            with pytest.raises(MissingExtraError) as caught:
                evaluate(system, data, [evaluator], progress=False)
            assert caught.value.hint == f"pip install 'cb-scorers[{extra}]'"
            assert system.examples == []
        else:
            (row,) = evaluate(system, data, [evaluator], progress=False).rows
            assert row.error is None
            assert row.scores
