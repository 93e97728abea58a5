"""Suite files that double with every line come to an end, with a message."""

from __future__ import annotations

import os

import pytest

from cb_suites.engine import building
from cb_suites.engine.validation import validate
from cbcore.exceptions import ConfigError


def fan(suites, kind, n_levels=9, n_names=8):
    """Files each of which names the next one several times."""
    for n in range(n_levels):
        suites.write(f"f{n}.yaml", kind(n, ", ".join([f"f{n + 1}.yaml"] * n_names)))
    suites.write(f"f{n_levels}.yaml", f"task: f{n_levels}\ndataset: qa\ntag: far\nlimit: 2\n")


def test_a_file_that_is_included_in_many_ways_is_read_once(suites):
    """8^9 ways lead to the last one, and its keys hold."""
    fan(suites, lambda n, names: f"task: f{n}\ninclude: [{names}]\n")
    manager = suites.manager()
    assert manager.tags() == {"far": 10}
    (leaf,) = manager.load("f0").leaves()
    assert (leaf.config.limit, leaf.config.dataset) == (2, "qa")


def test_a_file_without_a_value_is_looked_at_once(suites):
    """The index looks for tags along all includes, and finds none."""
    fan(suites, lambda n, names: f"task: f{n}\ninclude: [{names}]\n")
    suites.write("f9.yaml", "task: f9\nlimit: 2\n")
    assert suites.manager().tags() == {}
    assert [entry.dataset for entry in suites.manager().tasks()] == [None] * 10


def test_the_later_include_still_wins_in_the_index(suites):
    """Also where a file is included twice, the last of them nearer."""
    suites.write("a.yaml", "task: a\ninclude: [x, y]\n")
    suites.write("y", "include: [z, x]\n")
    suites.write("x", "tag: of-x\n")
    suites.write("z", "tag: of-z\n")
    assert suites.manager().tags() == {"of-x": 1}


def test_includes_written_in_place_have_an_end(suites):
    """Thousands of small mappings laid over each other would take as many steps for each."""
    items = "".join(f"  - {{k{n}: 1}}\n" for n in range(2_000))
    suites.write("a.yaml", f"task: a\ndataset: qa\ninclude:\n{items}")
    with pytest.raises(ConfigError, match="more than 1,000 includes"):
        suites.load("a")


def test_groups_that_double_have_an_end(suites, monkeypatch):
    """For who loads them, for who looks at them, and for who checks them."""
    monkeypatch.setattr(building, "MOST_NODES", 1_000)
    for n in range(7):
        suites.write(f"g{n}.yaml", f"group: g{n}\ntask: [{', '.join([f'g{n + 1}'] * 8)}]\n")
    suites.tasks("g7")
    says = "more than 1,000 tasks and groups"
    for load in (suites.manager().load, suites.manager().outline):
        with pytest.raises(ConfigError, match=says):
            load("g0")
    report = validate([suites.root / "g0.yaml"], suites.manager())
    assert any(says in remark.message for remark in report.findings)
    assert len(suites.manager().outline("g5").roots[0].children) == 8


def test_a_task_asked_for_in_ever_other_ways_has_an_end(suites):
    """Each way has a key of its own, and is compared with the others."""
    members = [f"{{task: t, limit: {n + 1}}}" for n in range(400)]
    suites.tasks("t")
    suites.write("g.yaml", f"group: g\ntask: [{', '.join(members)}]\n")
    with pytest.raises(ConfigError, match="'t' is asked for in more than 300 different ways"):
        suites.load("g")


def test_what_is_no_file_holds_up_nobody(suites):
    """A pipe, a device, and a file that would not fit, in the folder and as an include."""
    os.mkfifo(suites.root / "pipe.yaml")
    (suites.root / "zero.yaml").symlink_to("/dev/zero")
    with (suites.root / "huge.yaml").open("wb") as file:
        file.truncate(50_000_000_000)
    suites.tasks("fine")
    manager = suites.manager()
    assert [entry.name for entry in manager.tasks()] == ["fine"]
    for name, says in {
        "pipe.yaml": "is no file",
        "/dev/zero": "is no file",
        "huge.yaml": "more than 1,000,000 bytes",
    }.items():
        suites.write("a.yaml", f"task: a\ndataset: qa\ninclude: {name}\n")
        with pytest.raises(ConfigError, match=says):
            manager.load("a")


@pytest.mark.parametrize("key", ["regex_pattern", "regexes_to_ignore"])
def test_a_pattern_that_cannot_be_read_is_told_with_its_line(suites, key):
    """In a filter, and in what a comparison ignores."""
    texts = {
        "regex_pattern": "filter_list: [{name: x, filter: [{function: regex, regex_pattern: '('}]}]",
        "regexes_to_ignore": "metric_list: [{metric: exact_match, regexes_to_ignore: ['(']}]",
    }
    suites.write("a.yaml", f"task: a\ndataset: qa\n{texts[key]}\n")
    report = validate([suites.root / "a.yaml"], suites.manager())
    (remark,) = [one for one in report.findings if "regular expression" in one.message]
    assert remark.place == f"{suites.root / 'a.yaml'}:3"
