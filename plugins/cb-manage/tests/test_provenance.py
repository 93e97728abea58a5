"""`cb provenance`: what made a result, down to its files, and what is different now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fake_distributions import SYSTEM, Workplace, write_distribution, write_system

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    """A run of a plugin that was installed from a commit, stored and saved."""
    info = write_system(workplace.site, "cb-one", "one")
    (info / "direct_url.json").write_text(
        json.dumps({"url": "https://example.org/one", "vcs_info": {"commit_id": COMMIT}})
    )
    workplace.write("data.jsonl", '{"id": 1, "context": "c", "answer": "word"}\n')
    workplace.write(
        "own.py", "class Own:\n    name = 'own'\n    def process(self, e): return {'response': ''}"
    )
    done = workplace.cb(
        *("run", "-s", "one", "-s", "identity | py:./own.py:Own", "-d", "data.jsonl"),
        *("-o", "json=result.json"),
    )
    assert done.returncode == 0, done.stderr
    return workplace


def info_of(place: Workplace) -> Path:
    return place.site / "cb_one-1.0.dist-info"


def test_a_result_names_files_and_commit_of_every_component(place: Workplace) -> None:
    """Of those a distribution supplied; the user's own code has neither."""
    config = json.loads((place.folder / "result.json").read_text())["config"]

    one, chain = config["systems"]
    assert one["source_commit"] == COMMIT
    assert one["record_digest"].startswith("sha256:")
    identity, own = chain["stages"]
    assert (identity["plugin"], identity["source_commit"]) == ("cb-baselines", None)
    assert own["plugin"] == "python"
    assert "record_digest" not in own
    for kind in ("datasets", "evaluators", "metrics", "tokenizers"):
        assert all(part["record_digest"] for part in config[kind])


def test_digests_of_parameters_do_not_depend_on_files(place: Workplace) -> None:
    """The digest of a component stays that of its name, version and parameters."""
    before = json.loads((place.folder / "result.json").read_text())["config"]["systems"][0]
    record = info_of(place) / "RECORD"
    record.write_text(record.read_text() + "another.py,sha256=x,1\n")
    place.cb("run", "-s", "one", "-d", "data.jsonl", "-o", "json=again.json")
    after = json.loads((place.folder / "again.json").read_text())["config"]["systems"][0]

    assert after["digest"] == before["digest"]
    assert after["record_digest"] != before["record_digest"]


@pytest.mark.parametrize("source", ["file", "store"])
def test_json_of_provenance(place: Workplace, source: str) -> None:
    """From a file and from the store alike; chains are taken apart."""
    (run,) = place.json("runs")
    asked = "result.json" if source == "file" else run["run_id"][:12]

    told = place.json("provenance", asked)

    assert list(told) == ["run_id", "started", "cbcore", "components", "changes"]
    assert told["run_id"] == run["run_id"]
    names = [(part["kind"], part["name"]) for part in told["components"]]
    assert names[:4] == [
        ("system", "one"),
        ("system", "identity"),
        ("system", "own"),
        ("dataset", "data"),
    ]
    assert told["changes"] == []


def test_provenance_for_people(place: Workplace) -> None:
    """Owner, digests, commit, parameters, and that nothing differs."""
    printed = place.cb("provenance", "result.json").stdout

    assert "system one (cb-one 1.0)" in printed
    assert COMMIT in printed
    assert "path = data.jsonl" in printed
    assert printed.endswith("the installed plugins are those that made it\n")


def change(place: Workplace) -> list[tuple[str, str, str | None, str | None]]:
    told = place.json("provenance", "result.json")["changes"]
    return [(c["plugin"], c["what"], c["then"], c["now"]) for c in told]


def test_another_version_and_other_files_are_told(place: Workplace) -> None:
    """Then and now."""
    for file in info_of(place).iterdir():
        file.unlink()
    info_of(place).rmdir()
    (place.site / "cb_one.py").unlink()
    info = write_system(place.site, "cb-one", "one", SYSTEM.format(name="one"))
    metadata = info / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))
    (info / "RECORD").write_text("cb_one.py,sha256=new,1\n")

    version, digest, commit = change(place)

    assert version == ("cb-one", "version", "1.0", "1.1")
    assert digest[:2] == ("cb-one", "record_digest")
    assert commit == ("cb-one", "source_commit", COMMIT, None)
    assert (
        "differs: cb-one: version was 1.0, is 1.1" in place.cb("provenance", "result.json").stdout
    )


def test_a_plugin_that_is_gone_is_told(place: Workplace) -> None:
    """By name and version."""
    for file in info_of(place).iterdir():
        file.unlink()
    info_of(place).rmdir()

    assert change(place) == [("cb-one", "missing", "1.0", None)]
    assert "cb-one 1.0 is not installed now" in place.cb("provenance", "result.json").stdout


def test_a_plugin_that_is_off_is_told(place: Workplace) -> None:
    """It is there, and would not be used."""
    told = place.json("provenance", "result.json", "--no-plugin", "cb-one")["changes"]
    assert told == [{"plugin": "cb-one", "what": "state", "then": None, "now": "disabled"}]


def test_another_core_is_told(place: Workplace) -> None:
    """The core counts although no component names it."""
    path = place.folder / "result.json"
    path.write_text(path.read_text().replace('"cbcore": "', '"cbcore": "9.'))

    assert change(place)[0][:2] == ("cbcore", "version")


@pytest.mark.parametrize(
    ("content", "code"),
    [("{", 5), ('{"schema": 2, "rows": [], "config": {}}', 5), (None, 5)],
)
def test_what_is_no_result(place: Workplace, content: str | None, code: int) -> None:
    """A file that is none, one that does not say what made it, and one that is not there."""
    if content is not None:
        place.write("odd.json", content)

    done = place.cb("provenance", "odd.json")

    assert (done.returncode, done.stdout) == (code, "")


def test_no_other_plugin_is_imported(place: Workplace) -> None:
    """It reads."""
    _, processes = place.traced("provenance", "result.json")

    (process,) = processes
    packages = {name.partition(".")[0] for name in process["modules"]}
    assert {name for name in packages if name.startswith("cb_")} == {"cb_manage"}


def test_the_plugins_of_suites_and_executors_are_named(workplace: Workplace) -> None:
    """They decide over a number too: one what is asked, the other who asks it."""
    suite = """
group: two
task:
  - {task: one-task, dataset: data.jsonl}
formats: generate
doc_to_text: question
doc_to_target: answer
"""
    module = """
from pathlib import Path

def folder():
    '''A suite.'''
    return Path(__file__).parent

def unused():
    '''Another.'''
    return Path(__file__).parent / "elsewhere"

from cbcore.builtin.processes import Processes

class InOrder(Processes):
    '''One by one.'''

    name = "in-order"

    def open(self, worker, *, workers):
        return super().open(worker, workers=1)
"""
    entries = {
        "cb.suites": {"two": "cb_two:folder", "unused": "cb_two:unused"},
        "cb.executors": {"in-order": "cb_two:InOrder"},
    }
    files = {
        "cb_two/__init__.py": module,
        "cb_two/suite.yaml": suite,
        "cb_two/data.jsonl": '{"question": "Where?", "answer": "here"}\n',
        "cb_two/elsewhere/other.yaml": "task: other\ndataset: none.jsonl\n",
    }
    write_distribution(workplace.site, "cb-two", entries, files)
    workplace.write("says.py", SYSTEM.format(name="says").replace("class System", "class Says"))
    done = workplace.cb(
        *("run", "-s", "py:./says.py:Says", "--suite", "two", "-e", "answer_quality"),
        *("--executor", "in-order", "-o", "json=result.json"),
    )
    assert done.returncode == 0, done.stderr

    told = workplace.json("provenance", "result.json")["components"]

    own = [(c["kind"], c["name"], c["version"]) for c in told if c["plugin"] == "cb-two"]
    assert own == [("suite", "two", "1.0"), ("executor", "in-order", "1.0")]
