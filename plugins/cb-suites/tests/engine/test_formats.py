"""Formats: what is asked, what an example shows, and what a response is read as."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_suites.engine.formats import Cloze, Cot, Format, Generate, Mcqa, make_format
from cb_suites.engine.prompts import Document
from cb_suites.engine.reading import read_choice, read_choice_text
from cb_suites.engine.scoring import ReadAnswer
from cb_testing import catalog_from
from cbcore.components import Component
from cbcore.exceptions import (
    DuplicateNameError,
    ParameterError,
    PluginContractError,
    UnknownComponentError,
)

CITIES = ("Rome", "Paris", "New York", "York")
DOC = Document({}, "Capital of France?", CITIES, ("Paris",))


@pytest.mark.parametrize(
    ("made", "asked", "shown"),
    [
        (
            Mcqa(),
            "Capital of France?\nA. Rome\nB. Paris\nC. New York\nD. York\nAnswer:",
            "B",
        ),
        (Cloze(), "Capital of France?\nAnswer:", "Paris"),
        (Generate(), "Capital of France?", "Paris"),
        (
            Cot(instruction="Think. {marker} …"),
            "Capital of France?\nA. Rome\nB. Paris\nC. New York\nD. York\nThink. The answer is …",
            "The answer is B.",
        ),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_format_decides_how_a_document_is_asked_and_shown(made, asked, shown):
    """Lettered choices, no choices, the bare question, or a request to think."""
    assert (made.ask(DOC), made.show(DOC)) == (asked, shown)


def test_letters_that_are_the_choices_are_not_listed_again():
    """Prompts that list their choices themselves, as MMLU's do, stay as they are."""
    document = Document({}, "Q?\nA. x\nB. y\nAnswer:", ("A", "B"), ("B",))
    assert Mcqa().ask(document) == "Q?\nA. x\nB. y\nAnswer:"
    assert Mcqa().read(" B", ("A", "B")).choice == "B"


@pytest.mark.parametrize(
    ("response", "choice"),
    [
        ("B", "Paris"),
        ("b", "Paris"),
        (" (B) ", "Paris"),
        ("B.", "Paris"),
        ("B. Rome", "Paris"),
        ("**B**", "Paris"),
        ("B)\nbecause it is", "Paris"),
        ("Paris", "Paris"),
        ("paris.", "Paris"),
        ("It is Paris, of course.", "Paris"),
        ("The answer is B", "Paris"),
        ("A tempting one, but the answer is (B).", "Paris"),
        ("The answer: Paris", "Paris"),
        ("New York", "New York"),
        ("I would say New York", "New York"),
        ("Not Rome. The answer is Paris.", "Paris"),
        ("Rome or Paris", None),
        ("A city in France", None),
        ("", None),
        ("E", None),
        ("I do not know", None),
        ("Plan B was bad.", None),
        ("ΔB = 12 kJ, so we continue", None),
        ("答案是B", "Paris"),
        ("We look at Paris" + ", and so on" * 10, None),
        ("(A) and (B)", None),
        ("A or B", None),
        ("A, B", None),
        ("So the answer is (A) and (B).", None),
        ("The answer is both A and B.", None),
        ("B\n\nQuestion: Which is next?\nAnswer: A", "Paris"),
        ("The answer is (B).\n\nQ: Which is next?\nThe answer is (A).", "Paris"),
        ("Question 1: x\nThe answer is A.\n\nQuestion 2: y\nThe answer is B.", "Paris"),
    ],
)
def test_mcqa_reads_a_letter_or_the_text_of_a_choice(response, choice):
    """Where a response names none, or more than one, nothing is read."""
    assert Mcqa().read(response, CITIES).choice == choice


@pytest.mark.parametrize(
    ("response", "choice"),
    [("Paris", "Paris"), ("It was Paris", "Paris"), ("B", None), ("York", "York"), ("x", None)],
)
def test_cloze_reads_the_text_of_a_choice_and_no_letter(response, choice):
    """Letters were never shown."""
    assert Cloze().read(response, CITIES).choice == choice


@pytest.mark.parametrize(
    ("response", "text", "choice"),
    [
        ("2+2… The answer is 4.", "4", None),
        ("The answer is 3? No. THE ANSWER IS: 4\nDone.", "4", None),
        ("no marker", "no marker", None),
        ("Maß, Fuß, Straße: the answer is 4.", "4", None),
        ("The answer is ] ) }", "] ) }", None),
        ("The answer is 4.\n\nQ: And 3 + 3?\nA: The answer is 6.", "4", None),
    ],
)
def test_cot_reads_the_line_after_the_last_marker(response, text, choice):
    """Without a marker, the whole response is the answer."""
    reading = Cot().read(response, ())
    assert (reading.text, reading.choice) == (text, choice)
    assert Cot().read("Rome? The answer is B.", CITIES).choice == "Paris"
    assert Cot().read("So the answer is (A) and (B).", ("A", "B")).choice is None


@given(st.lists(st.text("abcdef ", min_size=2).map(str.strip).filter(lambda t: len(t) > 1),
                min_size=2, max_size=6, unique=True), st.data())  # fmt: skip
def test_every_choice_reads_back_from_its_own_text_and_letter(choices, data):
    """Whatever the choices are, as long as they differ."""
    index = data.draw(st.integers(0, len(choices) - 1))
    assert read_choice("ABCDEF"[index], choices) == index
    assert read_choice_text(choices[index], choices) is not None


@given(st.text(), st.lists(st.text(max_size=8), max_size=6))
def test_reading_never_fails(response, choices):
    """Responses are hostile: any text is read as a choice or as none."""
    for read in (read_choice, read_choice_text):
        found = read(response, choices)
        assert found is None or 0 <= found < len(choices)


@pytest.mark.parametrize("response", ["answer: " * 20_000, f"a{' ' * 200_000}b"])
def test_reading_takes_long_repetitive_responses(response):
    """A model that never stops costs neither the stack nor minutes."""
    assert read_choice(response, CITIES) is None


def test_an_answer_that_is_all_marks_is_not_an_empty_one():
    """Closing brackets can be what was asked for."""
    original = {"answers": ["] ) }"]}
    acc = [ReadAnswer().score(original, {"response": r}).scores["acc"] for r in ("", "]  ) }", "]")]
    assert acc == [0.0, 1.0, 0.0]


def test_a_format_takes_parameters_and_refuses_others():
    """As any component does, with the parameter named."""
    assert make_format("cot", {"marker": "So:"}).marker == "So:"
    with pytest.raises(ParameterError, match="makrer"):
        make_format("cot", {"makrer": "So:"})
    with pytest.raises(UnknownComponentError) as caught:
        make_format("mcq")
    assert "mcqa" in str(caught.value)


def offering(**formats):
    """A host with a plugin for each list of formats."""
    return catalog_from(*([format_component(n, t) for n, t in named] for named in formats.values()))


def format_component(name, target):
    return Component(kind="format", name=name, target=target, summary="A format.")


def test_plugins_add_formats_under_names_of_their_own():
    """A name of the built-in ones, or of another plugin, is claimed twice."""
    assert isinstance(make_format("shout", {}, offering(x=[("shout", Mcqa)])), Format)
    for name, catalog in (
        ("mcqa", offering(x=[("mcqa", Mcqa)])),
        ("s", offering(x=[("s", Mcqa)], y=[("s", Mcqa)])),
    ):
        with pytest.raises(DuplicateNameError):
            make_format(name, {}, catalog)


def test_a_format_that_fails_is_its_plugins_fault():
    """The plugin is named."""

    def broken():
        raise ZeroDivisionError

    with pytest.raises(PluginContractError, match="'components'"):
        make_format("odd", {}, offering(x=[("odd", broken)]))
    with pytest.raises(PluginContractError, match="lacks"):
        make_format("odd", {}, offering(x=[("odd", object)]))
