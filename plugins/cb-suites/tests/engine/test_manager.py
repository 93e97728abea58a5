"""Asking for suites: names, paths, globs, formats, files, mappings, and what plugins ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from cb_suites.engine import SuiteManager
from cbcore.exceptions import ConfigError, PluginContractError, UnknownComponentError, UsageError
from cbcore.plugins import Catalog, read_distributions
from cbcore.plugins.policy import PluginPolicy
from cbcore.registry import registry
from tests.fake_distributions import write_distribution


@pytest.fixture
def mmlu(suites):
    """A benchmark with registered and inline subgroups, as deep as the real one."""
    suites.tasks("mmlu_anatomy", "mmlu_physics", "mmlu_law", more="tag: exam\n")
    suites.write(
        "stem.yaml", "group: mmlu_stem\ngroup_alias: stem\ntask: [mmlu_anatomy, mmlu_physics]\n"
    )
    suites.write(
        "mmlu.yaml",
        """
        group: mmlu
        task:
          - mmlu_stem
          - group: mmlu_humanities
            group_alias: humanities
            task:
              - mmlu_law
              - task: only_here
                dataset: qa
        """,
    )
    return suites


def paths(selection):
    return [root.path for root in selection.roots]


@pytest.mark.parametrize(
    ("request_", "found"),
    [
        ("mmlu", ["mmlu"]),
        ("mmlu_law", ["mmlu_law"]),
        ("exam", ["mmlu_anatomy", "mmlu_law", "mmlu_physics"]),
        ("mmlu::mmlu_anatomy", ["mmlu::mmlu_stem::mmlu_anatomy"]),
        ("mmlu::mmlu_stem", ["mmlu::mmlu_stem"]),
        ("mmlu::mmlu_stem::mmlu_anatomy", ["mmlu::mmlu_stem::mmlu_anatomy"]),
        ("mmlu::humanities", ["mmlu::mmlu_humanities"]),
        ("mmlu::mmlu_humanities::only_here", ["mmlu::mmlu_humanities::only_here"]),
        ("mmlu::only_here", ["mmlu::mmlu_humanities::only_here"]),
        ("mmlu_stem::mmlu_anatomy", ["mmlu_stem::mmlu_anatomy"]),
        ("mmlu::mmlu_stem::*", ["mmlu::mmlu_stem::mmlu_anatomy", "mmlu::mmlu_stem::mmlu_physics"]),
        ("mmlu_[al]*", ["mmlu_anatomy", "mmlu_law"]),
        ("ex?m", ["mmlu_anatomy", "mmlu_law", "mmlu_physics"]),
        ("MMLU-law", ["mmlu_law"]),
    ],
)
def test_a_request_finds_what_it_means(mmlu, request_, found):
    """Case 35 and the documentation's examples: registered and inline subgroups are walked alike."""
    assert paths(mmlu.load(request_)) == found


def test_a_glob_over_groups_and_their_tasks_takes_each_once(mmlu):
    """There, it was an error about duplicates."""
    selection = mmlu.load("mmlu*")
    assert paths(selection) == ["mmlu"]
    assert len(selection.leaves()) == 4


@pytest.mark.parametrize(
    ("request_", "keys", "formats"),
    [
        ("mmlu_law@mcqa", ["mmlu_law@mcqa"], ["mcqa"]),
        ("mmlu_stem@cot", ["mmlu_anatomy@cot", "mmlu_physics@cot"], ["cot", "cot"]),
        ("mmlu::mmlu_law@cloze", ["mmlu_law@cloze"], ["cloze"]),
        ("mmlu_[al]*@mcqa", ["mmlu_anatomy@mcqa", "mmlu_law@mcqa"], ["mcqa", "mcqa"]),
    ],
)
def test_a_format_is_asked_for_with_an_at(mmlu, request_, keys, formats):
    """Case 28: on tasks, groups, paths and globs."""
    leaves = mmlu.load(request_).leaves()
    assert [leaf.key for leaf in leaves] == keys
    assert [leaf.config.format for leaf in leaves] == formats


def test_two_formats_of_one_task_are_two_leaves(mmlu):
    """Side by side in one run."""
    keys = [leaf.key for leaf in mmlu.load("mmlu_law", "mmlu_law@mcqa", "mmlu_law@cot").leaves()]
    assert keys == ["mmlu_law", "mmlu_law@mcqa", "mmlu_law@cot"]


@pytest.mark.parametrize(
    ("request_", "hint"),
    [
        ("mmul", "did you mean mmlu"),
        ("mmlu::mmlu_anatmy", "did you mean mmlu_anatomy"),
        ("only_here", "did you mean mmlu::mmlu_humanities::only_here?"),
        ("mmlu_law::x", "mmlu_law is a task: nothing is below it"),
        ("zzz*", "`cb list tasks`"),
        ("cb-none/mmlu", "`cb list tasks`"),
    ],
)
def test_a_name_that_is_nowhere_is_an_error_with_a_suggestion(mmlu, request_, hint):
    """Never an empty run."""
    with pytest.raises(UnknownComponentError) as caught:
        mmlu.load(request_)
    assert repr(request_.partition("::")[0])[:-1] in caught.value.message
    assert hint in caught.value.hint


INNER = """
group: outer
task:
  - group: inner
    task:
      - task: deep
        dataset: qa
"""


def test_a_member_of_another_group_is_suggested_by_its_path_in_a_file_too(suites):
    """It is no name of its own; its path can be written in place of it, and then it is found."""
    suites.write("outer.yaml", INNER)
    mine = suites.write("mine.yaml", "group: mine\ntask:\n  - deep\n")
    with pytest.raises(ConfigError, match="no task, group or tag is called 'deep'") as caught:
        suites.load("mine")
    assert "did you mean outer::inner::deep?" in caught.value.hint
    mine.write_text("group: mine\ntask:\n  - outer::inner::deep\n", encoding="utf-8")
    assert [leaf.config.name for leaf in suites.load("mine").leaves()] == ["deep"]


def test_groups_that_lack_the_same_member_do_not_look_for_it_in_each_other(suites):
    """Nobody defines it: each is refused, and none because of the other."""
    for name, other in (("one", "two"), ("two", "one")):
        suites.write(f"{name}.yaml", f"group: {name}\ntask: [{other}, deep]\n")
    suites.write("three.yaml", "group: three\ntask: [deep]\n")
    with pytest.raises(ConfigError, match=r"three\.yaml:2: no task, group or tag is called 'deep'"):
        suites.load("three")


def test_a_path_that_means_two_things_is_an_error_that_names_both(suites):
    """The same name further below, with different overrides."""
    suites.tasks("a")
    suites.write("one.yaml", "group: one\ntask: [{task: a, limit: 1}]\n")
    suites.write("two.yaml", "group: two\ntask: [a]\n")
    suites.write("g.yaml", "group: g\ntask: [one, two]\n")
    with pytest.raises(UnknownComponentError, match="write g::one::a or g::two::a"):
        suites.load("g::a")
    assert paths(suites.load("g::two::a")) == ["g::two::a"]


# -- files and mappings --------------------------------------------------------------------------


def test_a_file_is_a_request(suites, monkeypatch):
    """With the files beside it, and none below; a step or a format may follow."""
    suites.tasks("a", more="limit: 1\n")
    path = suites.write("g.yaml", "group: g\ntask: [a]\n")
    suites.write("deep/b.yaml", "task: b\ndataset: qa\n")
    manager = SuiteManager(catalog=suites.catalog)
    assert paths(manager.load(str(path))) == ["g"]
    assert paths(manager.load(f"{path}::a")) == ["g::a"]
    assert manager.load(f"{path}@mcqa").leaves()[0].key == "a@mcqa"
    monkeypatch.chdir(suites.root)
    assert paths(manager.load("g.yaml")) == ["g"]
    suites.write("g.yaml", "group: g\ntask: [a, b]\n")
    with pytest.raises(ConfigError, match="'b'"):
        manager.load(str(path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "there is no suite file"),
        ("dataset: qa\n", "neither a task nor a group"),
        ("{", "YAML"),
    ],
)
def test_a_file_that_is_no_suite_is_refused(suites, text, says):
    """With the reason."""
    if text:
        suites.write("x.yaml", text)
    with pytest.raises(UsageError, match=says):
        suites.load(str(suites.root / "x.yaml"))


def test_a_mapping_is_a_request(suites):
    """As it would stand in a group; there, it was silently nothing."""
    suites.tasks("a", "b")
    suites.write("g.yaml", "group: g\ntask: [a, b]\n")
    assert suites.fewshot({"task": "g", "num_fewshot": 2}) == {"g::a": 2, "g::b": 2}
    own = {"group": "own", "task": ["a", {"task": "x", "dataset": "qa"}]}
    assert [leaf.path for leaf in suites.load(own).leaves()] == ["own::a", "own::x"]
    with pytest.raises(ConfigError, match="given in Python: a task has no key 'num_fewshots'"):
        suites.load({"task": "a", "num_fewshots": 2})


def test_overrides_of_the_whole_request_win(suites):
    """As flags of the command line do, whatever files say."""
    suites.tasks("a", more="num_fewshot: 1\n")
    suites.write("g.yaml", "group: g\nnum_fewshot: 2\ntask: [{task: a, num_fewshot: 3}]\n")
    selection = suites.load("g", "a", overrides={"num_fewshot": 4})
    assert [(leaf.key, leaf.config.num_fewshot) for leaf in selection.leaves()] == [("a", 4)]
    with pytest.raises(ConfigError, match="given in Python: num_fewshot must be"):
        suites.load("g", overrides={"num_fewshot": -4})


def test_nothing_asked_for_is_an_error(suites):
    """An empty list means nothing."""
    with pytest.raises(UsageError, match="no suite was asked for"):
        suites.load()


@pytest.mark.parametrize("what", ["missing", "file"])
def test_an_include_path_that_is_no_folder_is_an_error(suites, what):
    """There, it silently loaded nothing."""
    path = suites.root / what
    if what == "file":
        path.write_text("")
    with pytest.raises(ConfigError, match=r"does not exist|is not a folder"):
        suites.manager(suites.root, path)


def test_outlining_runs_nothing(suites):
    """Where loading runs the functions a file names, an outline names them."""
    suites.write("utils.py", "raise SystemExit('it ran')\ndef f(doc): ...\n")
    suites.write("a.yaml", "task: a\ndataset: qa\ndoc_to_text: !function utils.f\n")
    config = suites.manager().outline("a").leaves()[0].config
    assert str(config.doc_to_text) == "!function utils.f"
    (leaf,) = suites.load("a").leaves()
    assert "it ran" in leaf.config.problem


# -- plugins -------------------------------------------------------------------------------------


def ship(site: Path, distribution: str, files: dict[str, str], returns: str, name: str) -> None:
    """Write a plugin with suite files, whose target returns a path in its package."""
    module = distribution.replace("-", "_")
    source = f"from pathlib import Path\n\ndef path():\n    return {returns}\n"
    write_distribution(
        site,
        distribution,
        {"cb.suites": {name: f"{module}:path"}},
        {f"{module}/__init__.py": source, **{f"{module}/{k}": v for k, v in files.items()}},
    )


def manager_of(site: Path, *include_paths: Path) -> SuiteManager:
    return SuiteManager(
        include_paths,
        catalog=Catalog(
            read_distributions([str(site)]), PluginPolicy(), kinds_from=read_distributions()
        ),
    )


def test_plugins_ship_folders_and_files(site):
    """A folder with all below it; a file by the name its plugin gives it, whatever its group's."""
    here = "Path(__file__).parent"
    ship(
        site,
        "cb-folder",
        {"suites/sub/a.yaml": "task: a\ndataset: qa\n"},
        f"{here} / 'suites'",
        "f",
    )
    ship(site, "cb-file", {"s.yaml": "group: inside\ntask: [a]\n"}, f"{here} / 's.yaml'", "outside")
    manager = manager_of(site)
    assert [entry.name for entry in manager.tasks()] == ["a"]
    assert [entry.root.plugin for entry in manager.tasks()] == ["cb-folder"]
    assert paths(manager.load("inside")) == paths(manager.load("outside")) == ["inside"]


@pytest.mark.parametrize(
    ("returns", "says"),
    [
        ("'/nowhere'", "not the path of a file or folder"),
        ("3", "returned 3"),
        ("1 / 0", "ZeroDivision"),
    ],
)
def test_a_plugin_that_fails_spoils_only_its_own(site, returns, says):
    """It is an error for who asks for its suite."""
    here = "Path(__file__).parent"
    ship(site, "cb-good", {"a.yaml": "task: a\ndataset: qa\n"}, here, "good")
    ship(site, "cb-bad", {}, returns, "bad")
    manager = manager_of(site)
    assert paths(manager.load("a")) == ["a"]
    assert list(manager.problems) == ["bad"]
    with pytest.raises(PluginContractError, match=says):
        manager.load("bad")


def test_a_suite_can_be_registered_by_hand(suites):
    """As any component."""
    suites.tasks("a")
    registry.register("suite", "mine", lambda: suites.root)
    try:
        assert paths(SuiteManager(catalog=suites.catalog).load("a")) == ["a"]
    finally:
        registry.unregister("suite", "mine")
