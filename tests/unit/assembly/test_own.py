"""Own code as components: functions in their roles, objects without a name."""

from __future__ import annotations

import asyncio
import pickle

import pytest

from cbcore import evaluate
from cbcore.assembly.user_functions import (
    FromFunction,
    as_component,
    from_function,
    give_name,
    guess_kind,
)
from cbcore.components import KINDS
from cbcore.exceptions import ParameterError
from cbcore.specs import Spec
from cbcore.store.identity import Identities

EXAMPLES = [{"id": 1, "context": "a b c d", "question": "q", "answer": "a"}]


def first_words(example, n: int = 1):
    """Keeps the first words."""
    return {"response": " ".join(example["context"].split()[:n])}


async def awaited(example):
    return {"response": "a"}


def likeness(original, processed) -> float:
    return float(original["answer"] == processed["response"])


def scores(original, processed):
    return {"one": 1.0}


def factory(n: int):
    return Unnamed(n)


def examples():
    yield from EXAMPLES


class Unnamed:
    def __init__(self, n: int = 1) -> None:
        self.n = n

    def process(self, example):
        return first_words(example, self.n)


def made(kind, function, **params):
    component = from_function(kind, Spec("py:f", params=params), function)
    assert component is not None
    return component[0]


def test_a_function_of_an_example_is_a_system():
    """Called like itself, or as its spec says, with parameters of their types."""
    assert made("system", first_words).process(EXAMPLES[0]) == {"response": "a"}
    system = made("system", first_words, n="2", name="two")
    assert (system.name, system.process(EXAMPLES[0])) == ("two", {"response": "a b"})


def test_one_that_is_awaited_is_awaited():
    """It has no `process`."""
    system = made("system", awaited)
    assert not hasattr(system, "process")
    assert asyncio.run(system.aprocess(EXAMPLES[0])) == {"response": "a"}


def test_a_function_of_an_example_and_an_output_is_an_evaluator():
    """A number is the score that is called like it; one that says so declares it."""
    evaluator = made("evaluator", likeness)
    assert evaluator.score({"answer": "a"}, {"response": "a"}) == {"likeness": 1.0}
    assert evaluator.emits == ("likeness",)
    other = made("evaluator", scores)
    assert other.score({}, {}) == {"one": 1.0}
    assert not hasattr(other, "emits")


def test_attributes_of_the_function_are_those_of_the_component():
    """So that a function can say what a class would."""

    def score(original, processed):
        return 1.0

    score.emits = ("score",)
    score.applies_to = ("qa",)
    assert made("evaluator", score).applies_to == ("qa",)


@pytest.mark.parametrize(
    ("kind", "function", "params"),
    [
        ("system", factory, {"n": "2"}),
        ("dataset", examples, {}),
        ("evaluator", first_words, {}),
        ("system", Unnamed, {}),
    ],
)
def test_what_makes_a_component_when_called_is_no_component(kind, function, params):
    """Nor is a class, nor a function that is handed something else."""
    assert from_function(kind, Spec("py:f", params=params), function) is None


def test_a_parameter_it_does_not_take_is_refused():
    """As for a class."""
    with pytest.raises(ParameterError, match="has no parameter 'm'"):
        made("system", first_words, m="2")


def test_an_object_without_a_name_gets_one():
    """One that has a name keeps it, and what cannot act stays as it is."""
    system = Unnamed(2)
    assert give_name(KINDS["system"], system, "Unnamed").name == "Unnamed"
    assert give_name(KINDS["system"], object(), "x").__class__ is object
    assert give_name(KINDS["dataset"], EXAMPLES, "x") is EXAMPLES


def test_from_python_too():
    """Functions and objects without a name stand beside others."""
    result = evaluate(
        [first_words, Unnamed(2), lambda example: {"response": "a"}],
        EXAMPLES,
        evaluators=[likeness],
        progress=False,
    )
    assert result.systems == ["first_words", "Unnamed", "<lambda>"]
    assert [row.scores["likeness"] for row in result.rows] == [1.0, 0.0, 1.0]


def test_its_parameters_and_its_code_tell_it_from_another():
    """The store must not take one for the other."""
    keys = {
        Identities().key_of(component)
        for component in (
            made("system", first_words),
            made("system", first_words, n="2"),
            made("system", awaited),
        )
    }
    assert len(keys) == 3
    assert Identities().key_of(made("system", first_words)) == Identities().key_of(
        made("system", first_words)
    )


def test_files_it_says_it_reads_count(tmp_path, monkeypatch):
    """They are looked for beside the function."""
    (tmp_path / "mine.py").write_text(
        "def ask(example):\n    return {}\n\nask.identity_files = ['prompt.txt']\n"
    )
    monkeypatch.chdir(tmp_path)
    from cbcore.usercode import import_attribute

    ask = import_attribute("./mine.py:ask")
    keys = []
    for text in ("one", "another"):
        (tmp_path / "prompt.txt").write_text(text)
        keys.append(Identities().key_of(made("system", ask)))
    assert keys[0] != keys[1]


def test_it_can_be_sent_to_another_process():
    """For executors."""
    sent = pickle.loads(pickle.dumps(made("evaluator", likeness)))
    assert sent.score({"answer": "a"}, {"response": "b"}) == {"likeness": 0.0}
    assert isinstance(as_component("system", first_words), FromFunction)


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        (first_words, "system"),
        (awaited, "system"),
        (likeness, "evaluator"),
        (examples, "dataset"),
        (Unnamed, "system"),
        (EXAMPLES, "dataset"),
        (asyncio, None),
    ],
)
def test_what_it_most_likely_is(target, kind):
    """By its methods, or by what a function is handed."""
    assert guess_kind(target) == kind
