"""The index: what is defined where, remembered until it changes, and who wins."""

from __future__ import annotations

import os

import pytest

from cb_suites.engine import index as index_module
from cb_suites.engine.index import Index, Root
from cbcore.exceptions import ConfigError


@pytest.fixture
def glances(monkeypatch):
    """Every file that is looked at, rather than remembered."""
    seen = []
    look = index_module.glance

    def counted(path):
        seen.append(path.name)
        return look(path)

    monkeypatch.setattr(index_module, "glance", counted)
    return seen


def test_only_suite_files_are_looked_at(suites):
    """`.yaml` and `.yml` at any depth; not what is hidden, compiled or without a name."""
    for name in ("a.yaml", "deep/er/b.yml", ".hidden/c.yaml", "__pycache__/d.yaml", "e.txt"):
        suites.write(name, f"task: {name.split('/')[-1][0]}\n")
    suites.write("template.yaml", "dataset: qa\n")
    assert Index([Root(suites.root)]).names() == ["a", "b"]


def test_the_second_time_nothing_is_looked_at(suites, glances):
    """Another object, as in another process: what is remembered is enough."""
    suites.tasks("a", "b")
    suites.write("g.yaml", "group: g\ntask: [a, b]\n")
    first = Index([Root(suites.root)])
    assert sorted(glances) == ["a.yaml", "b.yaml", "g.yaml"]
    glances.clear()
    second = Index([Root(suites.root)])
    assert glances == []
    assert second.entries == first.entries


def test_a_large_collection_is_remembered_whole(suites, glances):
    """However many files there are, one of them changed is one of them looked at."""
    for number in range(1500):
        suites.write(f"{number % 15}/t{number}.yaml", f"task: t{number}\ntag: big\n")
    assert Index([Root(suites.root)]).tags() == {"big": 1500}
    suites.write("7/t7.yaml", "task: seven\n")
    glances.clear()
    assert Index([Root(suites.root)]).tags() == {"big": 1499}
    assert glances == ["t7.yaml"]


@pytest.mark.parametrize("keep_time", [False, True], ids=["", "same time"])
def test_a_change_is_noticed(suites, glances, keep_time):
    """A new name, the same size, even with the old modification time: only that file is read."""
    suites.tasks("a", "b")
    Index([Root(suites.root)])
    path = suites.root / "a.yaml"
    before = path.stat()
    path.write_text(path.read_text().replace("task: a", "task: z"))
    if keep_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    glances.clear()
    assert Index([Root(suites.root)]).names() == ["b", "z"]
    assert glances == ["a.yaml"]
    path.unlink()
    assert Index([Root(suites.root)]).names() == ["b"]


def test_one_manager_notices_changes_too(suites):
    """It lives as long as a notebook does."""
    manager = suites.manager()
    suites.tasks("a", more="limit: 1\n")
    assert manager.load("a").leaves()[0].config.limit == 1
    suites.tasks("a", more="limit: 22\n")
    assert manager.load("a").leaves()[0].config.limit == 22


@pytest.mark.parametrize("damage", [b"", b"{", b'{"version": 1, "files": {"a": 3}}', b"[]"])
def test_a_damaged_memory_only_costs_time(suites, tmp_path, damage):
    """It is written anew."""
    suites.tasks("a")
    Index([Root(suites.root)])
    (memory,) = (tmp_path / "cache" / "cb").glob("suites-*.json")
    good = memory.read_bytes()
    memory.write_bytes(damage)
    assert Index([Root(suites.root)]).names() == ["a"]
    assert memory.read_bytes() == good


def test_a_cache_that_cannot_be_written_only_costs_time(suites, tmp_path, monkeypatch):
    """No home, or a read-only one."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    suites.tasks("a")
    assert Index([Root(suites.root)]).names() == ["a"]


def test_a_broken_file_spoils_only_itself(suites):
    """It is told apart, and looked at again every time."""
    suites.tasks("a")
    broken = suites.write("b.yaml", "{task: [")
    index = Index([Root(suites.root)])
    assert index.names() == ["a"]
    assert list(index.unreadable) == [broken]
    assert list(Index([Root(suites.root)]).unreadable) == [broken]


def test_tags_and_datasets_come_from_includes(suites):
    """As keys do: one's own wins, a template without suffix counts, a circle ends."""
    suites.write("_base", "tag: [x, y]\ndataset: mmlu:a\n")
    suites.write("a.yaml", "task: a\ninclude: _base\n")
    suites.write("b.yaml", "task: b\ninclude: a.yaml\ntag: z\n")
    suites.write("c.yaml", "task: c\ninclude: c.yaml\n")
    entries = {entry.name: entry for entry in Index([Root(suites.root)]).entries}
    assert entries["a"].tags == ("x", "y")
    assert (entries["b"].tags, entries["b"].dataset) == (("z",), "mmlu:a")
    assert entries["c"].tags == ()


def test_a_changed_template_changes_the_tags(suites):
    """Although the task's own file is as it was."""
    suites.write("_base", "tag: old\n")
    suites.write("a.yaml", "task: a\ninclude: _base\n")
    assert Index([Root(suites.root)]).tags() == {"old": 1}
    suites.write("_base", "tag: new\n")
    assert Index([Root(suites.root)]).tags() == {"new": 1}


# -- who wins ------------------------------------------------------------------------------------


def test_a_later_root_wins_and_tags_add_up(suites):
    """A task of one's own replaces one of the same name; a tag gains members."""
    suites.write("one/a.yaml", "task: a\ntag: t\n")
    suites.write("one/b.yaml", "task: b\ntag: t\n")
    suites.write("two/a.yaml", "task: a\ntag: t\n")
    suites.write("two/c.yaml", "task: c\ntag: t\n")
    index = Index([Root(suites.root / "one"), Root(suites.root / "two")])
    assert index.find("a").path == suites.root / "two/a.yaml"
    assert [str(e.path.parent.name) + e.name for e in index.tagged("t")] == ["twoa", "oneb", "twoc"]


def test_the_users_files_win_over_plugins(suites):
    """In whatever order the roots come."""
    suites.write("plugin/a.yaml", "task: a\n")
    suites.write("mine/a.yaml", "task: a\n")
    roots = [Root(suites.root / "mine"), Root(suites.root / "plugin", "cb-x")]
    assert Index(roots).find("a").root.plugin == ""
    assert Index(roots).find("cb-x/a").root.plugin == "cb-x"
    assert Index(roots).find("cb-y/a") is None


@pytest.mark.parametrize(
    ("plugins", "hint"),
    [(("", ""), "rename one"), (("cb-x", "cb-y"), "write cb-x/a or cb-y/a")],
    ids=["one root", "two plugins"],
)
def test_a_name_defined_twice_is_an_error_that_names_both(suites, plugins, hint):
    """Only for who asks for it."""
    one = suites.write("one/a.yaml", "# comment\ntask: a\n")
    two = suites.write("two/a.yaml", "task: a\n")
    suites.write("two/b.yaml", "task: b\n")
    same = not plugins[0]
    roots = (
        [Root(suites.root)]
        if same
        else [Root(p.parent, n) for p, n in zip((one, two), plugins, strict=True)]
    )
    index = Index(roots)
    assert index.find("b")
    with pytest.raises(ConfigError) as caught:
        index.find("a")
    assert caught.value.source == f"{one}:2"
    assert f"{two}:1" in caught.value.reason
    assert hint in caught.value.hint


def test_names_are_compared_as_everywhere(suites):
    """Case, hyphens and underscores do not matter, unless two names differ by them."""
    suites.tasks("my-task", "other_one", "other-one")
    index = Index([Root(suites.root)])
    assert index.find("My_Task").name == "my-task"
    assert index.find("other_one").name == "other_one"
    assert index.find("other-one").name == "other-one"
