"""Every check without running: what is wrong, where, and what is only not installed."""

from __future__ import annotations

import pytest

from cb_suites.engine import SuiteManager
from cb_suites.engine.availability import Catalogue
from cb_suites.engine.validation import validate
from cbcore.exceptions import UsageError
from cbcore.plugins import Catalog, read_distributions
from cbcore.plugins.policy import PluginPolicy
from tests.fake_distributions import write_distribution, write_hooks

PLUGIN = '''
from cbcore import Component

class Questions:
    """Questions."""
    tasks = ("qa",)
    def __iter__(self): return iter(())

class Quality:
    """Quality."""
    name = "quality"
    applies_to = ("*",)
    emits = ("f1", "exact_match")
    def score(self, original, processed): return {}

class Judge:
    """Judge."""
    name = "judge"
    emits = ("worth",)
    def score(self, original, processed): return {}

def cb_datasets():
    return [Component(kind="dataset", name="qa", target=Questions)]

def cb_evaluators():
    return [
        Component(kind="evaluator", name="quality", target=Quality),
        Component(kind="evaluator", name="judge", target=Judge),
    ]
'''

DIRECTORY = """
def find(kind, name):
    return ["cb-hotpotqa"] if name.startswith("hotpot") else []
"""


@pytest.fixture
def checked(suites, site):
    """Validate the folder, with a dataset, two evaluators and a directory of packages."""
    write_hooks(site, "cb-small", PLUGIN)
    entries = {"cb.directories": {"known": "known_packages:find"}}
    write_distribution(site, "cb-known", entries, {"known_packages.py": DIRECTORY})
    suites.catalog = Catalog(
        read_distributions([str(site)]), PluginPolicy(), kinds_from=read_distributions()
    )

    def check(*paths):
        return validate(paths or [suites.root], SuiteManager(catalog=suites.catalog))

    return check


def test_a_good_folder_has_no_findings(suites, checked):
    """And its files are counted."""
    suites.tasks("a", "b", more="doc_to_text: '{{question}}'\n")
    suites.write("g.yaml", "group: g\ntask: [a, b]\naggregate_metric_list: {metric: f1}\n")
    report = checked()
    assert report.findings == []
    assert report.ok
    assert (report.n_files, report.n_tasks, report.n_groups) == (3, 2, 1)


def test_tasks_that_are_written_in_place_are_counted(suites, checked):
    """With the file of their group; one that is only named there counts where it is defined."""
    suites.write("own.yaml", "task: own\ndataset: qa\n")
    members = "  - {task: first, dataset: qa}\n  - group: inner\n    task:\n"
    members += "      - {task: second, dataset: qa}\n  - {task: own, limit: 1}\n"
    suites.write("mine.yaml", f"group: mine\ntask:\n{members}")
    report = checked()
    assert report.findings == []
    assert (report.n_files, report.n_tasks, report.n_groups) == (2, 3, 1)


MISTAKES = {
    "syntax": ("task: [a\n", 2, "not valid YAML"),
    "key": ("task: x\ndataset: qa\nnum_shots: 1\n", 3, "a task has no key 'num_shots'"),
    "member": ("group: x\ntask: [a, aa_]\n", 2, "no task, group or tag is called 'aa_'"),
    "circle": ("group: x\ntask: [x]\n", 2, "x → x"),
    "include": ("task: x\ninclude: no.yaml\n", 2, "does not exist"),
    "dataset": ("task: x\ndataset: qaa\n", 2, "needs the dataset 'qaa', which nothing offers"),
    "file": ("task: x\ndataset: no.jsonl\n", 2, "there is no such file"),
    "evaluator": (
        "task: x\ndataset: qa\nevaluators: [qualty]\n",
        3,
        "needs the evaluator 'qualty'",
    ),
    "format": ("task: x\ndataset: qa\nformats: mcq\n", 3, "no format is called 'mcq'"),
    "asked format": ("group: x\ntask:\n  - a@mcq\n", 3, "no format is called 'mcq'"),
    "template": ("task: x\ndataset: qa\ndoc_to_text: '{{a'\n", 3, "doc_to_text"),
    "few-shot": (
        "task: x\ndataset: qa\nfewshot_config: {sampler: fist_n}\n",
        3,
        "there is no sampler 'fist_n'",
    ),
    "filter": (
        "task: x\ndataset: qa\nfilter_list: [{name: a, filter: [{function: regx}]}]\n",
        3,
        "there is no filter called 'regx'",
    ),
    "function": ("task: x\ndataset: qa\nprocess_docs: !function no.f\n", 3, "there is no file"),
    "primary score": ("task: x\ndataset: qa\nprimary_score: f2\n", 3, "'f2' is emitted by no"),
    "metric": (
        "group: x\ntask: [a]\naggregate_metric_list:\n  - aggregation: mean\n    metric: fl\n",
        5,
        "no evaluator of 'x' emits the metric 'fl'",
    ),
    "filter of an aggregate": (
        "group: x\ntask: [a]\naggregate_metric_list:\n  - {metric: f1, filter_list: strict}\n",
        4,
        "no member of 'x' has a filter called 'strict'",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_found_at_its_line(suites, checked, case):
    """One finding, and the other files are unharmed by it."""
    text, line, says = MISTAKES[case]
    suites.tasks("a")
    path = suites.write("x.yaml", text)
    (finding,) = checked().findings
    assert finding.place == f"{path}:{line}"
    assert says in finding.message
    assert finding.level == "error"
    assert not checked().ok


def test_all_mistakes_of_a_group_are_told_at_once(suites, checked):
    """Not one per run."""
    suites.tasks("a")
    suites.write("g.yaml", "group: g\ntask:\n  - b1\n  - a\n  - b2\n  - {task: a, limt: 1}\n")
    assert [finding.place.rpartition(":")[2] for finding in checked().findings] == ["3", "5", "6"]


def test_a_known_package_that_is_not_installed_is_only_noted(suites, checked):
    """It says what to install, and the suite is well formed."""
    suites.write("h.yaml", "task: h\ndataset: hotpotqa:sample\nevaluators: [hotpot_joint]\n")
    report = checked()
    assert report.ok
    assert {(f.level, f.hint) for f in report.findings} == {("note", "pip install cb-hotpotqa")}
    assert {f.place.rpartition(":")[2] for f in report.findings} == {"2", "3"}


def test_a_metric_that_some_members_lack_is_a_warning(suites, checked):
    """Case 13: it names them, and how many they are."""
    suites.tasks("a")
    suites.tasks("b", more="evaluators: [judge]\n")
    suites.write("g.yaml", "group: g\ntask: [a, b]\naggregate_metric_list: {metric: f1}\n")
    (finding,) = checked().findings
    assert finding.level == "warning"
    assert "lacking in 1/2 members: b" in finding.message


@pytest.mark.parametrize(
    ("asked", "metric", "ok"),
    [
        ("formats: mcqa", "acc", True),
        ("formats: mcqa", "f1", False),
        ("formats: generate", "f1", True),
        ("formats: generate", "acc", False),
        ("formats: generate\ndoc_to_choice: choices", "acc", True),
        ("formats: mcqa\nevaluators: [judge]", "acc", True),
    ],
)
def test_the_scores_of_a_task_are_those_a_run_gives_it(suites, checked, asked, metric, ok):
    """`acc` where an answer is read or chosen; automatic evaluators only where none is read."""
    suites.tasks("a", more=f"{asked}\n")
    suites.write("g.yaml", f"group: g\ntask: [a]\naggregate_metric_list: {{metric: {metric}}}\n")
    assert checked().ok is ok


def test_a_metric_of_code_that_does_not_say_is_let_pass(suites, checked):
    """What an own evaluator emits is known only by running it."""
    suites.write("utils.py", "def f(doc, results): return {'odd': 1}\n")
    suites.tasks("a", more="process_results: !function utils.f\n")
    suites.write("g.yaml", "group: g\ntask: [a]\naggregate_metric_list: {metric: odd}\n")
    assert checked().findings == []


def test_a_hidden_tag_and_keys_without_effect_are_told(suites, checked):
    """Neither is an error."""
    suites.tasks("a", more="tag: b\nunsafe_code: true\n")
    suites.tasks("b")
    report = checked()
    assert report.ok
    assert sorted((f.level, f.message.split(":")[0]) for f in report.findings) == [
        ("note", "unsafe_code has no effect"),
        ("warning", "the tag 'b' is hidden by the task of that name"),
    ]


def test_one_file_is_checked_with_its_neighbours_in_sight(suites, checked):
    """Names beside it are known; mistakes beside it are not its own."""
    suites.tasks("a")
    suites.write("bad.yaml", "task: bad\n")
    path = suites.write("g.yaml", "group: g\ntask: [a]\n")
    report = checked(path)
    assert (report.findings, report.n_files) == ([], 1)


@pytest.mark.parametrize(
    ("text", "says"), [(None, "no file or folder"), ("x: 1\n", "neither a task")]
)
def test_what_is_no_suite_is_told(suites, checked, text, says):
    """A path that is not there ends the command; a file without a name is a finding."""
    path = suites.root / "x.yaml"
    if text is None:
        with pytest.raises(UsageError, match=says):
            checked(path)
    else:
        path.write_text(text)
        assert says in checked(path).findings[0].message


def test_a_name_defined_twice_is_found(suites, checked):
    """With both places."""
    suites.write("one/a.yaml", "task: a\ndataset: qa\n")
    suites.write("two/a.yaml", "task: a\ndataset: qa\n")
    (finding,) = checked().findings
    assert "is defined here and in" in finding.message


def test_needs_are_told_in_words(suites, checked):
    """With what to install, or what was meant."""
    catalogue = Catalogue(suites.catalog)
    assert str(catalogue.dataset_need("hotpotqa")) == (
        "dataset 'hotpotqa': not installed (pip install cb-hotpotqa)"
    )
    assert str(catalogue.dataset_need("qaa")) == "dataset 'qaa': not installed (did you mean qa?)"
    assert catalogue.dataset_need("qa") is None
    assert "cannot read the spec" in str(catalogue.dataset_need("qa:"))
