"""`py:`: files with modules beside them, plain functions, parameters, `cb info`."""

from __future__ import annotations

import json

import pytest

from tests.fake_distributions import Workplace

FILES = {
    "code/helper.py": "WORD = 'one'\n",
    "code/mine.py": """
from helper import WORD


def says(example, word: str = WORD):
    '''Says one word.'''
    return {"response": word}


class Says:
    def __init__(self, word: str):
        self.word = word

    def process(self, example):
        return {"response": self.word}


def right(original, processed) -> float:
    return float(processed["response"] == original["answer"])


def data(answer: str = "one"):
    yield {"id": 1, "context": "c", "question": "q", "answer": answer}
""",
}


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    (workplace.folder / "code").mkdir()
    for name, text in FILES.items():
        workplace.write(name, text)
    return workplace


def run(place, *systems, data="py:./code/mine.py:data"):
    flags = [part for system in systems for part in ("-s", f"py:./code/mine.py:{system}")]
    done = place.cb("run", *flags, "-d", data, "-e", "py:./code/mine.py:right", "-o", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    return {row["system"]: (row["response"], row["scores"]["right"]) for row in rows}


def test_functions_are_system_evaluator_and_dataset(place):
    """Parameters stand after a colon, as for named components, or after a comma."""
    assert run(place, "says", "says:word=two,name=b", "says,word=one,name=c") == {
        "says": ("one", 1.0),
        "b": ("two", 0.0),
        "c": ("one", 1.0),
    }
    assert run(place, "says", data="py:./code/mine.py:data:answer=x")["says"] == ("one", 0.0)


def test_a_class_without_a_name_is_called_like_itself(place):
    """Its first parameter may stand right after the colon."""
    assert run(place, "Says:one", "Says:word=two,name=b") == {
        "Says": ("one", 1.0),
        "b": ("two", 0.0),
    }


def test_columns_of_own_functions_are_mapped_as_any(place):
    """Those that an evaluator reads, and those of a dataset's rows."""
    (place.folder / "code/odd.py").write_text(
        "def data():\n    yield {'no': 7, 'body': 'c', 'gold': 'one'}\n"
    )
    flags = ("-s", "py:./code/mine.py:says", "-e", "py:./code/mine.py:right:answer_column=gold")
    data = "py:./code/odd.py:data:context_column=body,id_column=no"
    done = place.cb("run", *flags, "-d", data, "-o", "json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["example_id"], row["scores"]) == (7, {"right": 1.0})


def test_a_changed_module_beside_it_is_asked_again(place):
    """What it imports from the same tree is part of what it is."""
    assert run(place, "says")["says"] == ("one", 1.0)
    place.write("code/helper.py", "WORD = 'changed'\n")
    assert run(place, "says")["says"] == ("changed", 0.0)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("says", ["(system)", "Says one word.", "word  str, default 'one'", "--system py:./code"]),
        ("Says", ["(system)", "word  str, required", "py:./code/mine.py:Says:WORD"]),
        ("right", ["(evaluator)", "parameters  none", "--evaluator py:./code/mine.py:right"]),
        ("data", ["(dataset)", "answer  str, default 'one'"]),
    ],
)
def test_cb_info_shows_own_code(place, code, shown):
    """Its kind, its parameters and a command that uses it."""
    done = place.cb("info", f"py:./code/mine.py:{code}")
    assert done.returncode == 0, done.stderr
    for text in shown:
        assert text in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", "-s", "./code/mine.py:Says"), "py:FILE:NAME, as in py:./code/mine.py:Says"),
        (("run", "-s", "py:./code/mine.py:Says"), "`cb info py:./code/mine.py:Says` shows"),
        (("run", "-s", "py:./code/mine.py:data"), "give it the method `process`"),
        (("run", "-s", "identity", "-e", "py:./code/mine.py:data"), "give it the method"),
        (("info", "py:./code/mine.py:WORD"), "which is not a component"),
        (("info", "py:./code/mine.py:Sais"), "did you mean Says?"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_write(place, arguments, told):
    """One message each."""
    data = ("-d", "py:./code/mine.py:data") if arguments[0] == "run" else ()
    done = place.cb(*arguments, *data)
    assert done.returncode == 2
    assert told in done.stderr
