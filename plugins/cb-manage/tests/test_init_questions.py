"""`cb init` asks at a terminal: a real one, with a person who makes mistakes."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.terminals import Terminal

CTRL_C, CTRL_D = "\x03", "\x04"
URL, MODEL, DATA = "Endpoint or proxy", "Its model", "Dataset, or the path"
STUB, CI = "system.py?", "GitHub?"


def files(place):
    found = (path.relative_to(place.folder) for path in place.folder.rglob("*") if path.is_file())
    return sorted(map(str, found))


def test_answers_become_files(workplace):
    """Data with odd names, a stub, and no workflow; what is written runs at once."""
    odd = {"no": 1, "Body Text": "Basel is on the Rhine.", "ask": "Where?", "gold": "Rhine"}
    workplace.write("odd.jsonl", json.dumps(odd))
    terminal = Terminal(workplace, "init", "bench")
    for question, text in ((URL, "\n"), (DATA, "odd.jsonl\n"), (STUB, "y\n"), (CI, "n\n")):
        terminal.answer(question, text)
    assert terminal.ended() == 0
    assert files(workplace) == ["bench/cb.yaml", "bench/system.py", "odd.jsonl"]
    done = workplace.cb("run", "bench", "-o", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"][-1]["system"] == "mine"


def test_answers_that_will_not_do_are_asked_for_again_with_the_reason(workplace):
    """An address without a scheme, no model, a misspelt dataset, a file that is not there."""
    terminal = Terminal(workplace, "init")
    terminal.answer(URL, "localhost:8000\n")
    terminal.said("'localhost:8000' is no URL: write one such as http://localhost:8000")
    terminal.answer(URL, "http://localhost:8000/v1\n")
    terminal.answer(MODEL, "   \n")
    terminal.said("a model has a name")
    terminal.answer(MODEL, "a model, 'quoted'\n")
    terminal.answer(DATA, "hotpotq:sample\n")
    terminal.said("no dataset is called 'hotpotq'; did you mean hotpotqa?")
    terminal.answer(DATA, "absent.jsonl\n")
    terminal.said("there is no data file 'absent.jsonl'")
    terminal.answer(DATA, "\n")
    terminal.answer(STUB, "perhaps\n")
    terminal.answer(STUB, "n\n")
    terminal.answer(CI, "\n")
    assert terminal.ended() == 0
    written = yaml.safe_load((workplace.folder / "benchmark/cb.yaml").read_text())
    (system,) = written["systems"]
    assert system == "openai:http://localhost:8000/v1,model=\"a model, 'quoted'\""
    assert written["datasets"] == ["hotpotqa:sample"]
    planned = workplace.cb("run", "benchmark", "--dry-run")
    assert planned.returncode == 0, planned.stderr


def test_what_was_given_is_not_asked_for(workplace):
    """The first question is the first that is open."""
    terminal = Terminal(workplace, "init", "-s", "extractive", "-d", "hotpotqa:sample", "--no-ci")
    terminal.answer(STUB, "\n")
    assert terminal.ended() == 0
    assert not {URL, DATA, CI} & {said for said in (URL, DATA, CI) if said in terminal.text}


@pytest.mark.parametrize("keys", [CTRL_C, CTRL_D])
@pytest.mark.parametrize("before", [[], [(URL, "\n")], [(URL, "\n"), (DATA, "\n"), (STUB, "\n")]])
def test_who_leaves_leaves_nothing_behind(workplace, keys, before):
    """At any question, by either key: one line, 130, and no file."""
    terminal = Terminal(workplace, "init")
    for question, text in before:
        terminal.answer(question, text)
    terminal.leave([URL, DATA, STUB, CI][len(before)], keys)
    assert terminal.ended() == 130
    assert "cb: error: interrupted" in terminal.text
    assert "Traceback" not in terminal.text
    assert files(workplace) == []


def test_a_folder_that_is_taken_is_told_before_anything_is_asked(workplace):
    """Nobody answers questions for nothing."""
    (workplace.folder / "benchmark").mkdir()
    workplace.write("benchmark/cb.yaml", "mine")
    terminal = Terminal(workplace, "init")
    assert terminal.ended() == 2
    assert "benchmark/cb.yaml exists already" in terminal.text
    assert URL not in terminal.text


def test_only_what_is_installed_is_offered(workplace):
    """An endpoint needs a plugin, and says so; data comes with what is written."""
    terminal = Terminal(workplace, "init", "--only-plugin", "cb-manage")
    terminal.answer(URL, "http://localhost:8000\n")
    terminal.said("offers the system 'openai' but is disabled")
    for question in (URL, DATA, STUB, CI):
        terminal.answer(question, "\n")
    assert terminal.ended() == 0
    assert files(workplace) == [
        f"benchmark/{name}" for name in ("cb.yaml", "data.jsonl", "system.py")
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-d", "hotpotq"), "no dataset is called 'hotpotq'"),
        (("-s", "bm26 | extractive"), "no system is called 'bm26'"),
        (("-s", "bm25:k=1,x"), "is not key=value"),
    ],
)
def test_flags_are_held_to_the_same(workplace, arguments, told):
    """What is written is to run at once."""
    done = workplace.cb("init", *arguments, "--no-input")
    assert done.returncode == 2
    assert told in done.stderr
    assert files(workplace) == []
