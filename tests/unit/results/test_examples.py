"""Examples side by side: one for every system's rows, with texts that are read when asked for."""

from __future__ import annotations

from collections.abc import Sequence

from cbcore.results import EvalResult, EvalRow, Texts


class Counted(Sequence):
    """Texts that note which of them were read."""

    def __init__(self, texts):
        self.texts = texts
        self.read = []

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        self.read.append(index)
        return self.texts[index]


def result():
    rows = [
        EvalRow("a", 1, dataset="d", scores={"f1": 1.0}),
        EvalRow("a", 2, dataset="d", error="broken"),
        EvalRow("b", 1, dataset="d", scores={"f1": 0.5}),
        EvalRow("b", 2, dataset="d", scores={"f1": 0.0}),
    ]
    texts = [
        Texts({"question": "one?"}, {"response": "a1"}),
        Texts({"question": "two?"}, None),
        Texts({"question": "one?"}, {"response": "b1"}),
        Texts({"question": "two?"}, {"response": "b2"}),
    ]
    return EvalResult(rows=rows, texts=Counted(texts))


def test_an_example_has_the_rows_of_every_system():
    """Rows of the same example stand together, in the order in which systems ran."""
    first, second = result().examples()
    assert [row.system for row in first.rows.values()] == ["a", "b"]
    assert (first.example_id, second.example_id) == (1, 2)


def test_outputs_are_those_of_the_system():
    """Each system's output is found by its name; one that failed has none."""
    _, second = result().examples()
    assert second.given == {"question": "two?"}
    assert second.output("a") is None
    assert second.output("b") == {"response": "b2"}


def test_no_text_is_read_before_it_is_asked_for():
    """Going through examples reads nothing; one example reads its own texts only."""
    told = result()
    examples = list(told.examples())
    assert told.texts.read == []
    examples[1].output("b")
    assert told.texts.read == [3]


def test_repeats_are_examples_of_their_own():
    """The second try at an example does not hide the first."""
    rows = [EvalRow("a", 1, repeat=0), EvalRow("a", 1, repeat=1)]
    assert [example.repeat for example in EvalResult(rows=rows).examples()] == [0, 1]


def test_filtered_rows_keep_their_own_texts():
    """What is behind a row stays behind it when others are left out."""
    kept = result().filter(system="b", example_id=2)
    assert [one.output for one in kept.texts] == [{"response": "b2"}]


def test_without_texts_there_are_only_rows():
    """A result whose texts were not kept still shows its rows side by side."""
    (example,) = EvalResult(rows=[EvalRow("a", 1)]).examples()
    assert example.given is None
    assert example.output("a") is None
