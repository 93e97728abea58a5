"""`cb suite` and `cb list suites|tasks|groups|tags`, as a user types them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fake_distributions import Workplace, write_distribution

SHIPPED = {
    "cb_shipped/__init__.py": (
        "from pathlib import Path\n\n"
        'def path():\n    """A small benchmark."""\n    return Path(__file__).parent / "suites"\n'
    ),
    "cb_shipped/suites/small.yaml": "group: small\ntask: [one, two]\nmetadata: {version: 1}\n",
    "cb_shipped/suites/one.yaml": "task: one\ndataset: hotpotqa:sample\ntag: short\n",
    "cb_shipped/suites/two.yaml": "task: two\ndataset: file:/nowhere/two.jsonl\ntag: short\n",
}
ONLY = ("--only-plugin", "cb-shipped", "--only-plugin", "cb-suites")


def listed(place: Workplace, things: str, *arguments: str) -> dict[str, dict[str, Any]]:
    """What there is beside what cb-suites ships, by name."""
    records = place.json("list", things, *ONLY, *arguments)
    return {record["name"]: record for record in records if record.get("plugin") != "cb-suites"}


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    """A folder of suites, and a plugin that ships some."""
    write_distribution(
        workplace.site, "cb-shipped", {"cb.suites": {"small": "cb_shipped:path"}}, SHIPPED
    )
    (workplace.folder / "mine").mkdir()
    workplace.write("mine/data.jsonl", '{"question": "q", "answer": "a"}\n')
    workplace.write("mine/a.yaml", "task: a\ndataset: data.jsonl\ntag: [own, short]\n")
    workplace.write(
        "mine/bench.yaml",
        "group: bench\ngroup_alias: Bench\ntask:\n  - task: a\n    num_fewshot: 2\n"
        "aggregate_metric_list:\n  - metric: f1\n",
    )
    return workplace


def test_tasks_groups_and_tags_are_listed(place: Workplace) -> None:
    """Those of plugins, and those of folders that are named."""
    mine = ("--include-path", "mine")
    tasks = listed(place, "tasks", *mine)
    assert list(tasks) == ["a", "one", "two"]
    assert (tasks["a"]["plugin"], tasks["one"]["plugin"]) == (None, "cb-shipped")
    (need,) = tasks["one"]["needs"]
    assert "dataset 'hotpotqa'" in need
    assert "cb-hotpotqa" in need
    assert list(listed(place, "groups", *mine)) == ["bench", "small"]
    tags = {name: tag["n_tasks"] for name, tag in listed(place, "tags", *mine).items()}
    assert tags == {"own": 1, "short": 3}
    shown = place.cb("list", "tasks", *mine, *ONLY).stdout
    assert ["a", "mine/a.yaml", "data.jsonl"] in [x.split()[:3] for x in shown.splitlines()]
    assert list(listed(place, "tasks")) == ["one", "two"]


def test_tasks_that_are_defined_inside_a_group_are_listed_by_their_path(place: Workplace) -> None:
    """The shortest; a group beside them that cannot be read hides none."""
    inner = "group: inner\ntask:\n  - {task: inside, dataset: data.jsonl}\n"
    place.write("mine/inner.yaml", inner)
    place.write("mine/outer.yaml", "group: outer\ntask:\n  - task: inner\n    limit: 1\n")
    place.write("mine/torn.yaml", "group: torn\ntask:\n  - task: nowhere\n    limit: 1\n")
    tasks = listed(place, "tasks", "--include-path", "mine")
    assert list(tasks) == ["a", "one", "two", "inner::inside"]


def test_a_suite_that_lacks_something_is_listed_as_such(place: Workplace) -> None:
    """With the package that would supply it, beside the others."""
    records = listed(place, "suites", "--include-path", "mine")
    assert list(records) == ["small", "bench"]
    assert "cb-hotpotqa" in records["small"]["needs"][0]
    assert "there is no such file" in records["small"]["needs"][1]
    assert records["bench"]["needs"] == []
    shown = place.cb("list", "suites", *ONLY).stdout
    assert "A small benchmark. (not available: dataset 'hotpotqa': " in shown


def test_show_tells_where_every_value_came_from(place: Workplace) -> None:
    """The tree with its overrides, for people and for machines."""
    done = place.cb("suite", "show", "bench", "--include-path", "mine", *ONLY)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "bench (Bench)  group  mine/bench.yaml:1\n"
        "    f1: mean over leaves, weighted by size\n"
        "  a  task  mine/a.yaml:1\n"
        '      dataset      "data.jsonl"      mine/a.yaml:2\n'
        '      tag          ["own", "short"]  mine/a.yaml:3\n'
        "      num_fewshot  2                 mine/bench.yaml:5  override\n"
    )
    (tree,) = place.json("suite", "show", "bench::a@mcqa", "--include-path", "mine", *ONLY)
    assert (tree["key"], tree["path"], tree["format"]) == ("a@mcqa", "bench::a@mcqa", "mcqa")
    assert tree["settings"]["num_fewshot"]["overridden"] is True
    assert tree["settings"]["num_fewshot"]["line"] == 5


def test_show_takes_files_and_names_functions(place: Workplace) -> None:
    """Nothing a file names is run."""
    place.write("mine/utils.py", "raise SystemExit('it ran')\ndef f(doc): ...\n")
    place.write("mine/b.yaml", "task: b\ndataset: data.jsonl\ndoc_to_text: !function utils.f\n")
    done = place.cb("suite", "show", "mine/b.yaml", *ONLY)
    assert (done.returncode, "it ran" in done.stderr) == (0, False)
    assert '"!function utils.f"' in done.stdout


def test_validate_reports_everything_and_exits_with_two(place: Workplace) -> None:
    """Every finding with file and line; a good folder exits with none."""
    good = place.cb("suite", "validate", "mine", *ONLY)
    assert good.returncode == 2  # no evaluator is installed, so that nothing emits f1
    assert "no evaluator of 'bench' emits the metric 'f1'" in good.stdout
    place.write("mine/bench.yaml", "group: bench\ntask: [a]\n")
    good = place.cb("suite", "validate", "mine", *ONLY)
    assert (good.returncode, good.stdout) == (0, "2 files, 1 tasks, 1 groups: no errors\n")
    place.write("mine/bench.yaml", "group: bench\ntask:\n  - a\n  - aa\n  - one\n")
    bad = place.cb("suite", "validate", "mine", *ONLY)
    assert bad.returncode == 2
    assert "mine/bench.yaml:4: error: no task, group or tag is called 'aa'" in bad.stdout
    assert "hint: did you mean a" in bad.stdout
    assert "mine/bench.yaml" in bad.stdout
    report = json.loads(place.cb("suite", "validate", "mine", "--json", *ONLY).stdout)
    assert (report["ok"], report["n_groups"]) == (False, 1)
    assert {"place", "message", "hint", "level"} == set(report["findings"][0])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("suite", "show", "bnech", "--include-path", "mine"), "did you mean bench"),
        (("suite", "show", "bench", "--include-path", "nowhere"), "nowhere: does not exist"),
        (("suite", "show", "bench", "--include-path", "mine/a.yaml"), "is not a folder"),
        (("list", "tasks", "--include-path", "nowhere"), "nowhere: does not exist"),
        (("suite", "validate", "nowhere"), "no file or folder"),
        (("suite", "validate"), "PATH"),
    ],
)
def test_mistakes_on_the_command_line_are_usage_errors(place: Workplace, arguments, says) -> None:
    """One message, exit code 2, no traceback."""
    done = place.cb(*arguments, *ONLY)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_hostile_text_does_not_reach_the_terminal(place: Workplace) -> None:
    """Control characters of a suite file are made harmless."""
    place.write("mine/c.yaml", 'task: c\ndataset: data.jsonl\ntask_alias: "\\e[31mred\\a"\n')
    done = place.cb("suite", "show", "c", "--include-path", "mine", *ONLY)
    assert done.returncode == 0
    assert not {"\x1b", "\x07"} & set(done.stdout)
