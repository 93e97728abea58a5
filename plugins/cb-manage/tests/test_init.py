"""`cb init`: what it writes runs at once, whatever is installed."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.fake_distributions import Workplace

ODD = {"no": 1, "Body Text": "Basel lies on the Rhine.", "ask": "Where is Basel?", "gold": "Rhine"}


def written(place: Workplace, *arguments: str) -> list[str]:
    done = place.cb("init", *arguments, "--no-input")
    assert done.returncode == 0, done.stderr
    return [line.removeprefix("wrote ") for line in done.stdout.splitlines() if "wrote" in line]


def ran(place: Workplace, *arguments: str) -> list[dict]:
    done = place.cb("run", *arguments, "-o", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def test_without_a_word_it_compares_what_is_installed(workplace):
    """On the sample, and the whole of it is explained."""
    assert written(workplace) == ["benchmark/cb.yaml"]
    rows = ran(workplace, "benchmark", "-n", "2")
    assert {row["system"] for row in rows} == {"full context", "bm25:max_tokens=150 | extractive"}
    text = (workplace.folder / "benchmark/cb.yaml").read_text(encoding="utf-8")
    assert text.count("# ") > 5


def test_own_data_gets_its_mapping_and_own_code_its_stub(workplace):
    """The path is that from the run file; the workflow stands where it is looked for."""
    workplace.write("odd.jsonl", json.dumps(ODD))
    files = written(workplace, "bench", "-d", "odd.jsonl", "--stub", "--ci")
    assert files == ["bench/cb.yaml", "bench/system.py", ".github/workflows/benchmark.yml"]
    settings = yaml.safe_load((workplace.folder / "bench/cb.yaml").read_text())
    assert settings["datasets"] == ["../odd.jsonl"]
    assert settings["fields"]["context"] == "Body Text"
    assert [row["system"] for row in ran(workplace, "bench")][-1] == "mine"
    steps = yaml.safe_load((workplace.folder / files[2]).read_text())["jobs"]["benchmark"]["steps"]
    assert {"run": "cb run bench"} in steps


def test_systems_that_were_named_are_those_compared(workplace):
    """In their order, with whatever is in them."""
    systems = ("identity | extractive:name='a \"b\": c'", "extractive")
    written(workplace, "bench", *(part for s in systems for part in ("-s", s)))
    assert [row["system"] for row in ran(workplace, "bench", "-n", "1")] == [
        'a "b": c',
        "extractive",
    ]


def test_without_other_plugins_it_brings_data_and_code(workplace):
    """So that there is something to look at."""
    only = ("--only-plugin", "cb-manage")
    files = written(workplace, "bench", *only)
    assert files == ["bench/cb.yaml", "bench/data.jsonl", "bench/system.py"]
    done = workplace.cb("run", "bench", *only)
    assert done.returncode == 0, done.stderr
    assert "mean mentions" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("bench",), "bench/cb.yaml exists already"),
        (("other", "-d", "absent.jsonl"), "there is no data file 'absent.jsonl'"),
    ],
)
def test_nothing_is_replaced_or_made_up(workplace, arguments, told):
    """One message, and no file."""
    (workplace.folder / "bench").mkdir()
    workplace.write("bench/cb.yaml", "mine")
    done = workplace.cb("init", *arguments, "--no-input")
    assert done.returncode == 2
    assert told in done.stderr
    assert (workplace.folder / "bench/cb.yaml").read_text() == "mine"
    assert not (workplace.folder / "other").exists()
