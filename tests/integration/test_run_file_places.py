"""Run files: paths from the file, folders that hold one, systems in the order they are named."""

from __future__ import annotations

import json

import pytest

from tests.fake_distributions import Workplace, write_distribution

SYSTEM = """
from pathlib import Path


class Says:
    def __init__(self, word: str = "", prompt: str = "", name: str = "says"):
        self.name = name
        self.word = Path(prompt).read_text() if prompt else word

    def process(self, example):
        return {"response": self.word}
"""
RUN_FILE = """
systems:
  - py:./mine.py:Says: {prompt: ./prompt.txt}
datasets: [data/rows.jsonl]
output: [json=out/result.json]
cache_dir: kept
"""


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    for folder in ("conf/data", "elsewhere"):
        (workplace.folder / folder).mkdir(parents=True)
    row = {"id": 1, "context": "c", "question": "q", "answer": "word"}
    workplace.write("conf/data/rows.jsonl", json.dumps(row))
    workplace.write("conf/prompt.txt", "word")
    workplace.write("conf/mine.py", SYSTEM)
    workplace.write("conf/bench.yaml", RUN_FILE)
    return workplace


def score(place: Workplace) -> float:
    path = place.folder / "conf/out/result.json"
    return json.loads(path.read_text())["rows"][0]["scores"]["f1"]


@pytest.mark.parametrize("named", ["conf/bench.yaml", "conf", "{folder}/conf/bench.yaml"])
def test_paths_are_relative_to_the_file(place, named):
    """Own code, data, parameters that begin with a dot, reports and the store."""
    done = place.cb("run", named.format(folder=place.folder))
    assert done.returncode == 0, done.stderr
    assert score(place) == 1.0
    assert (place.folder / "conf/kept").is_dir()
    assert not (place.folder / ".cb").exists()


def test_flags_are_relative_to_where_they_are_typed(place):
    """Beside a run file of another folder."""
    done = place.cb("run", "conf", "-o", "json=here.json", "--cache-dir", "mine")
    assert done.returncode == 0, done.stderr
    assert (place.folder / "here.json").is_file()
    assert (place.folder / "mine").is_dir()


def test_a_folder_has_one_run_file_or_one_that_is_called_so(place):
    """Else the error names those there are."""
    place.write("conf/other.yaml", RUN_FILE)
    done = place.cb("run", "conf")
    assert done.returncode == 2
    assert "conf/bench.yaml, conf/other.yaml" in done.stderr
    place.write("conf/cb.yaml", RUN_FILE)
    assert place.cb("run", "conf").returncode == 0
    done = place.cb("run", "elsewhere")
    assert done.returncode == 2
    assert "has no run file" in done.stderr


def planned(place: Workplace, *arguments: str) -> list[str]:
    done = place.cb("run", *arguments, "-d", "conf/data/rows.jsonl", "--dry-run")
    assert done.returncode == 0, done.stderr
    return [line.split("  ")[0] for line in done.stdout.splitlines()[1:] if "rows" in line]


PROXY = "http://127.0.0.1:9"


def test_systems_stay_in_the_order_typed(place):
    """Those that `--proxy` stands for among them."""
    proxies = [("--proxy", f"{PROXY}/{n}", "--name", f"p{n}") for n in "12"]
    typed = (*proxies[0], "-s", "identity", *proxies[1], "-s", "py:./conf/mine.py:Says")
    assert planned(place, *typed, "--model", "m") == ["p1", "identity", "p2", "says"]


def test_systems_of_a_run_file_stay_in_the_order_of_its_keys(place):
    """And before those that are typed beside it."""
    place.write(
        "b.yaml", f"proxy: [{PROXY}]\nname: [p]\nmodel: m\nsystems: [identity, extractive]\n"
    )
    assert planned(place, "b.yaml") == ["p", "identity", "extractive"]
    place.write("b.yaml", "systems: [identity, extractive]\n")
    flags = ("--proxy", PROXY, "--name", "p", "--model", "m")
    assert planned(place, "b.yaml", *flags) == ["identity", "extractive", "p"]


def test_names_that_are_secrets_are_refused_with_the_reason(place):
    """Two of them would both be shown as ***."""
    text = 'systems: ["extractive:name=${ONE}", "identity | extractive:name=${TWO}"]\n'
    place.write("conf/secret.yaml", f"{text}datasets: [data/rows.jsonl]\n")
    done = place.cb("run", "conf/secret.yaml", ONE="first-name", TWO="second-name")
    assert done.returncode == 2
    assert "what comes from ${…} is kept secret, and no name" in done.stderr
    assert "first-name" not in done.stderr


def test_a_run_file_that_was_not_named_is_pointed_at(place):
    """`cb run` alone does not guess; it says what stands here."""
    place.write("cb.yaml", "systems: [extractive]\ndatasets: [conf/data/rows.jsonl]\n")
    done = place.cb("run")
    assert done.returncode == 2
    assert "`cb run .` runs cb.yaml of this folder" in done.stderr
    assert place.cb("run", ".").returncode == 0


OFFERED = """
from pathlib import Path

from cbcore.settings.run_file import RunFile

QUICK = RunFile(Path(__file__).with_name("quick.yaml"), help="One row.")
BROKEN = "quick.yaml"
"""
QUICK = "systems: [identity]\ndatasets: [rows.jsonl]\noutput: [json=out/result.json]\n"


@pytest.fixture
def offering(place: Workplace) -> Workplace:
    """A plugin with the run file `quick`, which writes a report, and data in the current folder."""
    write_distribution(
        place.site,
        "cb-quick",
        {"cb.run_files": {"quick": "cb_quick:QUICK", "broken": "cb_quick:BROKEN"}},
        {"cb_quick.py": OFFERED, "quick.yaml": QUICK},
    )
    place.write("rows.jsonl", (place.folder / "conf/data/rows.jsonl").read_text())
    return place


def test_a_run_file_of_a_plugin_runs_by_its_name_in_the_current_folder(offering):
    """Its reports are written there, and flags replace its values."""
    listed = offering.cb("list", "run-files", "--json")
    assert "quick" in {one["name"] for one in json.loads(listed.stdout)}
    done = offering.cb("run", "quick", "-m", "compression_ratio")
    assert done.returncode == 0, done.stderr
    result = json.loads((offering.folder / "out/result.json").read_text())
    assert len(result["rows"]) == 1


def test_a_file_or_folder_wins_over_the_name_of_a_run_file(offering):
    """What is in the current folder is what the user sees."""
    (offering.folder / "conf").rename(offering.folder / "quick")
    assert offering.cb("run", "quick").returncode == 0
    assert (offering.folder / "quick/out/result.json").is_file()


def test_an_unknown_name_is_an_error_with_the_nearest_name(offering):
    """A path is never looked up."""
    done = offering.cb("run", "quik")
    assert (done.returncode, "quick" in done.stderr) == (2, True), done.stderr
    for path in ("quik.yaml", "./quick", "conf/quick"):
        assert offering.cb("run", path).returncode == 2


def test_a_target_that_is_not_a_run_file_is_the_fault_of_its_plugin(offering):
    """The error names the plugin."""
    done = offering.cb("run", "broken")
    assert (done.returncode, "cb-quick" in done.stderr) == (3, True), done.stderr
