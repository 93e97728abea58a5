"""The suites: what they hold, that they are sound, and that they run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cb_datasets
from cb_datasets import benchmark, dataset
from cb_suites import folders
from cb_suites.engine import GroupNode, SuiteManager
from cb_suites.engine.formats import make_format
from cb_suites.engine.scoring import ReadAnswer
from cb_suites.engine.task import Task
from cb_suites.engine.validation import validate

NAMES = (
    *("mmlu", "bbh", "longbench", "context-core", "demo"),
    *("mmlu-pro", "gpqa", "longbench-v2", "scrolls", "leaderboard", "ruler", "helmet"),
)
FOLDERS = {"helmet": "helmet_suite"}
"""Functions that are called otherwise than their suite."""
AREAS = {
    "mmlu_stem": 19,
    "mmlu_humanities": 13,
    "mmlu_social_sciences": 12,
    "mmlu_other": 13,
}
"""Subjects per area: Hendrycks et al., 2021, appendix, table of all 57 tasks."""

CATEGORIES = {
    "longbench_single_doc_qa": 4,
    "longbench_multi_doc_qa": 4,
    "longbench_summarization": 4,
    "longbench_few_shot": 4,
    "longbench_synthetic": 3,
    "longbench_code": 2,
}
"""Tasks per category: README of THUDM/LongBench."""

SYSTEM = """
class First:
    '''Takes the first choice.'''

    name = "first"

    def process(self, example):
        with open("asked.txt", "a") as asked:
            asked.write(example["question"] + "\\n====\\n")
        return {"response": "The answer is A."}


class Repeats:
    '''Says the end of the question.'''

    name = "repeats"

    def process(self, example):
        return {"response": example["question"].split()[-1]}
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def tree(name):
    (root,) = SuiteManager().load(name).roots
    return root


def sizes(group):
    return {child.name: len(list(child.leaves())) for child in group.children}


def configs(group):
    return [leaf.config.dataset.partition(":")[2] for leaf in group.leaves()]


@pytest.mark.parametrize("name", NAMES)
def test_a_suite_is_sound(name):
    """Validation finds nothing to say."""
    folder = getattr(folders, FOLDERS.get(name, name.replace("-", "_")))()
    assert validate([folder], SuiteManager()).findings == []


def test_mmlu_has_all_subjects_in_their_areas():
    """Every config of the dataset once, weighted by size in every area and overall."""
    root = tree("mmlu")
    assert sizes(root) == AREAS
    assert sorted(configs(root)) == sorted(set(benchmark("mmlu").configs) - {"all"})
    for group in (root, *root.children):
        assert [(a.metric, a.aggregation, a.weight_by_size) for a in group.aggregates] == [
            ("acc", "mean", True)
        ]


def test_bbh_has_all_tasks():
    """Every config of the dataset once, each task weighing the same."""
    root = tree("bbh")
    assert sorted(configs(root)) == sorted(benchmark("bbh").configs)
    assert [aggregate.weight_by_size for aggregate in root.aggregates] == [False]


def test_longbench_has_all_tasks_in_their_categories():
    """The whole is the mean of the categories, a category that of its tasks."""
    root = tree("longbench")
    assert sizes(root) == CATEGORIES
    published = [c for c in benchmark("longbench").configs if not c.endswith("_e")]
    assert sorted(configs(root)) == sorted(published)
    assert [(a.over, a.weight_by_size) for a in root.aggregates] == [("children", False)]
    for category in root.children:
        assert [(a.over, a.weight_by_size) for a in category.aggregates] == [("leaves", False)]


def test_context_core_has_one_score_per_family_and_none_overall():
    """Its scores are on different scales."""
    root = tree("context-core")
    assert root.aggregates == ()
    assert [[a.metric for a in family.aggregates] for family in root.children] == [
        ["f1"],
        ["f1"],
        ["f1"],
        ["rouge_l_f1"],
        ["tool_call_accuracy"],
    ]
    assert {leaf.config.limit for leaf in root.leaves()} == {200}


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_of_something_its_tasks_report(name):
    """Each task's primary score, where it has one, is what its family aggregates."""
    for group in [tree(name), *(c for c in tree(name).children if isinstance(c, GroupNode))]:
        for aggregate in group.aggregates:
            primary = {leaf.config.primary_score for leaf in group.leaves()} - {None}
            assert primary <= {aggregate.metric}


@pytest.mark.parametrize(
    ("name", "n_tasks"),
    [
        *(("mmlu-pro", 1), ("gpqa", 3), ("longbench-v2", 1), ("scrolls", 7), ("leaderboard", 33)),
        *(("ruler", 6 * 12), ("helmet", 5 * 9)),
    ],
)
def test_benchmarks_by_name_have_their_tasks(name, n_tasks):
    """As many as were published; a leaderboard those of its parts."""
    assert len(list(tree(name).leaves())) == n_tasks


@pytest.mark.parametrize("path", ["mmlu::mmlu_anatomy", "mmlu::mmlu_stem::mmlu_anatomy"])
def test_a_subject_is_found_by_its_path(path):
    """Straight, or through its area."""
    (leaf,) = SuiteManager().load(path).leaves()
    assert (leaf.key, leaf.config.dataset) == ("mmlu_anatomy", "mmlu:anatomy")


# -- runs --------------------------------------------------------------------------------------


def test_the_demo_runs_offline(lines_of):
    """Every task of it, to the end; a group's number is that of its members."""
    lines = lines_of("demo", "bm25:max_tokens=200 | extractive")
    assert {line["state"] for line in lines.values()} == {"ran"}
    values = {}
    for path, line in lines.items():
        (score,) = line["scores"]
        (values[path],) = (v["value"] for v in score["values"].values())
    families = [values[path] for path, line in lines.items() if line["depth"] == 1]
    assert values["demo"] == pytest.approx(sum(families) / 3)
    assert values["demo::demo_multi_hop::demo_hotpotqa"] > 0.5


def exam(n, right="A"):
    """Questions with four choices."""
    return [
        {
            "question": f"Question {i}\n\nA) in it?",
            "subject": "college_biology",
            "choices": ["one", "two", "three", "four"],
            "answer": "ABCD".index(right[i % len(right)]),
        }
        for i in range(n)
    ]


def test_mmlu_is_asked_and_weighted_as_published(lines_of, data_dir, tmp_path, monkeypatch):
    """Five worked examples of the dev split before each question; all questions count alike."""
    (tmp_path / "mine.py").write_text(SYSTEM)
    folder = data_dir(
        {
            "mmlu/college_biology_test.jsonl": exam(4, "AB"),
            "mmlu/college_biology_dev.jsonl": exam(5, "C"),
            "mmlu/virology_test.jsonl": exam(8, "A"),
            "mmlu/virology_dev.jsonl": exam(5, "C"),
        }
    )
    monkeypatch.setenv("CB_DATA_DIR", folder)
    lines = lines_of("mmlu", "py:./mine.py:First")
    (found,) = lines["mmlu"]["scores"][0]["values"].values()
    assert (found["value"], found["n"]) == (pytest.approx(10 / 12), 12)
    (stem,) = lines["mmlu::mmlu_stem"]["scores"][0]["values"].values()
    assert (stem["value"], stem["n"]) == (0.5, 4)
    prompt = (tmp_path / "asked.txt").read_text().partition("\n====\n")[0]
    shots = prompt.split("Answer:")
    assert shots[0].startswith(
        "The following are multiple choice questions (with answers) about college biology.\n\n"
        "Question 0\n\nA) in it?\nA. one\n"
    )
    assert [shot.split()[0] for shot in shots[1:-1]] == ["C"] * 5
    assert lines["mmlu::mmlu_other::mmlu_nutrition"]["state"] == "failed"


@pytest.mark.parametrize(
    ("suffix", "prompt"),
    [
        ("", "Question 0\n\nA) in it?\nA. one\nB. two\nC. three\nD. four\nAnswer:"),
        ("@cloze", "Question 0\n\nA) in it?\nAnswer:"),
    ],
)
def test_mmlu_can_be_asked_in_any_format(data_dir, monkeypatch, suffix, prompt):
    """The choices that the dataset shows are taken off, and left to the format."""
    folder = data_dir({"mmlu/anatomy_test.jsonl": exam(1)})
    monkeypatch.setenv("CB_DATA_DIR", folder)
    (leaf,) = SuiteManager().load(f"mmlu::mmlu_anatomy{suffix}").leaves()
    (document,) = (Task.of(leaf.config).values.read(d) for d in dataset("mmlu", "anatomy"))
    assert make_format(leaf.config.format).ask(document) == prompt
    assert document.answers == ("one",)


def test_bbh_reads_letters_and_free_answers(lines_of, data_dir, tmp_path, monkeypatch):
    """Options are shown once, as in the input; free answers follow the marker."""
    (tmp_path / "mine.py").write_text(SYSTEM)
    options = "Which day?\nOptions:\n(A) Monday\n(B) Tuesday"
    folder = data_dir(
        {
            "bbh/date_understanding_test.jsonl": [
                {"input": options, "target": "(A)"},
                {"input": options, "target": "(B)"},
            ],
            "bbh/object_counting_test.jsonl": [
                {"input": "How many?", "target": "a"},
                {"input": "How many?", "target": "7"},
                {"input": "How many?", "target": "8"},
                {"input": "How many?", "target": "9"},
            ],
        }
    )
    monkeypatch.setenv("CB_DATA_DIR", folder)
    lines = lines_of("bbh", "py:./mine.py:First")
    values = {
        path: next(iter(line["scores"][0]["values"].values()))["value"]
        for path, line in lines.items()
        if line["scores"]
    }
    assert values == {
        "bbh": pytest.approx((0.5 + 0.25) / 2),
        "bbh::bbh_date_understanding": 0.5,
        "bbh::bbh_object_counting": 0.25,
    }


@pytest.mark.parametrize(
    ("response", "right"),
    [("> }", 1.0), ('"> }".', 1.0), (">", 0.0), ("> } ]", 0.0), ("> )", 0.0), ("", 0.0)],
)
def test_bbh_compares_brackets_one_by_one(response, right):
    """The answers of dyck_languages are nothing but brackets."""
    (leaf,) = SuiteManager().load("bbh::bbh_dyck_languages").leaves()
    reading = make_format(leaf.config.format).read(f"So it goes.\nThe answer is {response}", ())
    scored = ReadAnswer().score(
        {"answers": ["> }"]}, {"response": reading.text, "reading": reading}
    )
    assert scored.scores == {"acc": right}


def test_longbench_is_the_mean_of_its_categories(lines_of, data_dir, tmp_path, monkeypatch):
    """Each task by its own metric, under one name."""
    (tmp_path / "mine.py").write_text(SYSTEM)

    def row(number, wanted, answers, **fields):
        more = {"context": "A text.", "language": "en", "_id": str(number), **fields}
        return {"input": wanted, "answers": answers, **more}

    folder = data_dir(
        {
            "longbench/hotpotqa_test.jsonl": [row(0, "Say kite", ["kite"])],
            "longbench/2wikimqa_test.jsonl": [row(0, "Say kite", ["kestrel"])],
            "longbench/trec_test.jsonl": [
                row(0, "Say Date", ["Date"], all_classes=["Date", "Place"])
            ],
        }
    )
    monkeypatch.setenv("CB_DATA_DIR", folder)
    lines = lines_of("longbench", "py:./mine.py:Repeats")
    values = {
        path: next(iter(line["scores"][0]["values"].values()))["value"]
        for path, line in lines.items()
        if line["scores"]
    }
    assert values == {
        "longbench": 0.75,
        "longbench::longbench_multi_doc_qa": 0.5,
        "longbench::longbench_multi_doc_qa::longbench_hotpotqa": 1.0,
        "longbench::longbench_multi_doc_qa::longbench_2wikimqa": 0.0,
        "longbench::longbench_few_shot": 1.0,
        "longbench::longbench_few_shot::longbench_trec": 1.0,
    }


def test_context_core_scores_each_family_by_its_own_metric(lines_of, monkeypatch):
    """On samples, which stand in for the parts of benchmarks that they are samples of."""
    samples = Path(cb_datasets.__file__).parent / "samples"
    monkeypatch.setenv("CB_DATA_DIR", str(samples))
    lines = lines_of("context-core", "identity | extractive")
    families = {
        line["name"]: [(s["metric"], s["higher_is_better"]) for s in line["scores"]]
        for line in lines.values()
        if line["depth"] == 1
    }
    assert families == {
        "context-core_qa": [("f1", True)],
        "context-core_multi_hop": [("f1", True)],
        "context-core_long_context": [("f1", True)],
        "context-core_summarization": [("rouge_l_f1", True)],
        "context-core_tool_use": [("tool_call_accuracy", True)],
    }
    ran = [line["name"] for line in lines.values() if line["key"] and line["state"] == "ran"]
    assert len(ran) == 10  # three tasks have no sample of their own


# -- without the plugin that has the data ------------------------------------------------------


def test_without_its_datasets_a_suite_is_listed_as_such(cb):
    """With the plugin that was switched off."""
    done = cb("list", "suites", "--no-plugin", "cb-datasets", "--json")
    needs = {record["name"]: record["needs"] for record in json.loads(done.stdout)}
    assert list(needs) == sorted(NAMES)
    (need,) = needs["mmlu"]
    assert "dataset 'mmlu'" in need
    assert "'cb-datasets'" in need
    assert "--no-plugin" in need
    assert not any("hotpotqa" in need for need in needs["demo"])


def test_without_its_datasets_the_rest_of_a_suite_runs(cb):
    """A task that cannot run names the plugin that was switched off."""
    chosen = ("--suite", "demo", "--system", "identity | extractive", "--output", "json")
    done = cb("run", *chosen, "--no-plugin", "cb-datasets")
    table = json.loads(done.stdout)["sections"]["suites"]["lines"]
    lines = {line["path"]: line for line in table}
    states = {line["name"]: line["state"] for line in table if line["kind"] == "task"}
    assert {name for name, state in states.items() if state == "ran"} == {"demo_hotpotqa"}
    reason = lines["demo::demo_qa::demo_drop"]["reason"]
    assert "'drop'" in reason
    assert "'cb-datasets'" in reason


def test_without_its_datasets_a_whole_suite_fails_in_one_error(cb):
    """The error names the file, the line and the plugin."""
    done = cb("run", "--suite", "mmlu", "--system", "identity", "--no-plugin", "cb-datasets")
    assert (done.returncode, done.stdout) == (2, "")
    assert "none of the 57 tasks can run" in done.stderr
    assert "stem.yaml:5" in done.stderr
    assert "'cb-datasets'" in done.stderr


def test_a_task_manager_loads_what_can_be_iterated():
    """The name and the call of lm-evaluation-harness."""
    from cb_suites import TaskManager

    loaded = TaskManager().load(["mmlu::mmlu_anatomy"])
    assert [leaf.label for leaf in loaded] == ["mmlu_anatomy"]
    assert len(loaded) == 1
