"""The table: which benchmarks there are, what it says of each, and how configs are chosen."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

import pytest

from cb_datasets import BENCHMARKS, benchmark, components, dataset
from cbcore.components import TASKS, Component
from cbcore.exceptions import UnknownComponentError
from tests.tables import check_each

_NAMES = """
    natural-questions musique narrativeqa triviaqa frames quality qasper
    mmlu mmlu-pro arc-challenge truthfulqa gpqa hellaswag winogrande
    gsm8k drop math mgsm bbh humaneval mbpp
    multi-news dialogsum qmsum summscreenfd meetingbank govreport contract-nli scifact
    ifeval alpaca-eval mt-bench longbench longbench-v2 infinitebench nolima
    bfcl apigen swebench swebench-verified swebench-lite
"""
NAMES = _NAMES.split()


def test_the_table_has_the_forty_one_benchmarks():
    """All that context-bench has but hotpotqa, under the same names."""
    assert sorted(BENCHMARKS) == sorted(NAMES)
    assert len(NAMES) == 41


def test_the_entry_points_are_those_of_the_table():
    """`pyproject.toml` lists each benchmark, and each entry point makes the dataset it names."""
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    section = project.partition('[project.entry-points."cb.datasets"]\n')[2].partition("\n\n")[0]
    listed = dict(line.replace('"', "").split(" = ") for line in section.splitlines())
    assert listed == {
        **{name: f"cb_datasets.components:{name.replace('-', '_')}" for name in BENCHMARKS},
        "needle": "cb_datasets.needle:Needle",
    }
    del listed["needle"]  # it has no row in the table
    for name, target in listed.items():
        described = Component("dataset", name, target).describe()
        assert described.load()(config="sample").benchmark.name == name
        assert described.summary == BENCHMARKS[name].summary
        assert described.tasks == BENCHMARKS[name].tasks
        assert described.configs == (*BENCHMARKS[name].configs, "sample")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = components.nonsense


def test_a_cold_start_imports_no_hook_module():
    """Hook modules are imported in another interpreter, which every first run would wait for."""
    groups = {entry.group for entry in distribution("cb-datasets").entry_points}
    assert groups == {"cb.commands", "cb.datasets", "cb.evaluators", "cb.metrics"}


@check_each("name", NAMES)
def test_every_entry_is_complete(name):
    """Source, tasks, licence and homepage are said, and the defaults are among the choices."""
    entry = BENCHMARKS[name]
    assert entry.path.count("/") == 1
    assert entry.licence
    assert entry.homepage.startswith("https://")
    assert entry.summary.endswith(".")
    assert entry.split in entry.splits
    assert entry.config is None or entry.config in entry.configs
    assert set(entry.unlabelled) < set(entry.splits)
    every_task = {*entry.tasks, *(t for tasks in entry.tasks_by_config.values() for t in tasks)}
    assert every_task <= {*TASKS, name}, "a task of its own is called as the benchmark is"
    assert entry.published.endswith(".")
    assert set(entry.tasks_by_config) <= set(entry.configs)
    assert entry.source_fields()


@pytest.mark.parametrize(
    ("name", "n_configs", "some"),
    [
        ("mmlu", 57 + 1, ["all", "abstract_algebra", "anatomy", "world_religions"]),
        ("bbh", 27, ["boolean_expressions", "date_understanding", "word_sorting"]),
        ("mgsm", 11, ["de", "sw", "zh"]),
        ("longbench", 21 + 13, ["narrativeqa", "repobench-p", "vcsum", "hotpotqa_e"]),
        ("infinitebench", 12, ["longbook_qa_eng", "longbook_choice_eng", "passkey"]),
        ("arc-challenge", 2, ["ARC-Challenge", "ARC-Easy"]),
    ],
)
def test_every_part_of_a_benchmark_is_listed(name, n_configs, some):
    """57 subjects, 27 and 21 tasks, 11 languages: as their publishers count them."""
    configs = BENCHMARKS[name].configs
    assert len(set(configs)) == n_configs
    assert set(some) <= set(configs)


def test_hyphens_and_underscores_are_equal():
    """In the names of benchmarks and of their configs."""
    assert benchmark("arc_challenge") is benchmark("arc-challenge")
    assert dataset("mmlu", "high-school-physics").config == "high_school_physics"
    assert dataset("longbench", "repobench_p").config == "repobench-p"
    assert dataset("triviaqa", "rc-nocontext").config == "rc.nocontext"


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("mmlu", "anatmy", "no config 'anatmy'; did you mean anatomy?"),
        ("bbh", "navigat", "did you mean navigate?"),
        ("infinitebench", "longbook_qa_en", "did you mean longbook_qa_eng"),
        ("infinitebench", "x", "there are passkey, kv_retrieval, .*sample"),
        ("gsm8k", "zzz", "there are main, socratic, sample"),
        ("mmlu", "q", "there are 59"),
        ("frames", "wide", "no config 'wide'; there are sample"),
    ],
)
def test_an_unknown_config_is_refused_with_the_nearest_ones(name, config, message):
    """The peer raised TypeError for `infinitebench:x`; a typo gets a suggestion here."""
    with pytest.raises(ValueError, match=message):
        dataset(name, config)


def test_an_unknown_benchmark_is_refused_with_the_nearest_ones():
    """As `cb run` does it."""
    with pytest.raises(UnknownComponentError, match="gsm9k") as caught:
        dataset("gsm9k")
    assert caught.value.near[0] == "gsm8k"


def test_an_unknown_split_is_refused():
    """The message lists those there are."""
    with pytest.raises(ValueError, match="split 'testing' is not one of train, test"):
        dataset("gsm8k", split="testing")


@pytest.mark.parametrize("parameters", [{"split": "test"}, {"data_dir": "."}, {"revision": "main"}])
def test_the_sample_takes_nothing_that_chooses_other_data(parameters):
    """It is one set of rows, inside the package."""
    with pytest.raises(ValueError, match="comes with the package"):
        dataset("gsm8k", "sample", **parameters)


@pytest.mark.parametrize(
    ("name", "config", "tasks"),
    [
        ("bbh", None, ("qa",)),
        ("bbh", "date_understanding", ("multiple-choice",)),
        ("truthfulqa", "multiple_choice", ("multiple-choice",)),
        ("longbench", "gov_report", ("summarization",)),
        ("longbench", "gov_report_e", ("summarization",)),
        ("longbench", "sample", ("qa",)),
        ("infinitebench", "longbook_sum_eng", ("summarization",)),
        ("infinitebench", "code_debug", ("multiple-choice", "infinitebench")),
    ],
)
def test_tasks_follow_the_config(name, config, tasks):
    """So that each part is scored by the evaluators that apply to it."""
    assert dataset(name, config).tasks == tasks


@check_each(
    ("name", "config", "score"),
    [
        ("natural-questions", None, "f1"),
        ("drop", None, "drop_f1"),
        ("drop", "sample", "drop_f1"),
        ("triviaqa", "rc.nocontext", "triviaqa_f1"),
        ("mmlu", "anatomy", "mc_accuracy"),
        ("bbh", None, "f1"),
        ("bbh", "date_understanding", "mc_accuracy"),
        ("truthfulqa", None, "f1"),
        ("truthfulqa", "multiple_choice", "mc_accuracy"),
        ("gsm8k", None, "math_equiv"),
        ("humaneval", None, "pass_at_1"),
        ("swebench", None, "f1"),
        ("govreport", None, "rouge_l_f1"),
        ("scifact", None, "nli_accuracy"),
        ("ifeval", None, "ifeval_prompt_strict"),
        ("alpaca-eval", None, "f1"),
        ("mt-bench", None, "f1"),
        ("bfcl", None, "tool_call_accuracy"),
        ("longbench", None, "f1"),
        ("longbench", "gov_report", "rouge_l_f1"),
        ("longbench", "lcc_e", "f1"),
        ("infinitebench", "passkey", "infinitebench"),
        ("infinitebench", "code_debug", "infinitebench"),
        ("infinitebench", "longbook_sum_eng", "rouge_lsum"),
        ("nolima", "twohop", "nolima"),
    ],
)
def test_every_part_names_its_main_score(name, config, score):
    """What quality means for it, whatever else scores its rows."""
    assert dataset(name, config).main_score == score


def test_a_split_that_only_one_config_has():
    """MMLU's training questions belong to no subject."""
    assert dataset("mmlu", split="auxiliary_train").split == "auxiliary_train"
    with pytest.raises(ValueError, match="'anatomy' has no split 'auxiliary_train': only all"):
        dataset("mmlu", "anatomy", split="auxiliary_train")


def test_only_what_is_shuffled_takes_a_seed():
    """A parameter without effect would be a lie in the result's provenance."""
    assert dataset("gpqa", seed=3).seed == 3
    with pytest.raises(TypeError, match="seed"):
        dataset("gsm8k", seed=3)
    with pytest.raises(ValueError, match="max_words is at least 1, not 0"):
        dataset("nolima", max_words=0)
