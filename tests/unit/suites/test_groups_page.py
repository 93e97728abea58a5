"""Every example of the page "Groups & Benchmarks" of lm-evaluation-harness loads as it is there."""

from __future__ import annotations

import pytest

from cbcore.suites import GroupNode


@pytest.fixture
def page(suites):
    """The tasks that the page's examples refer to, over local data."""
    suites.write("data.jsonl", '{"question": "q", "answer": 0, "choices": ["a", "b"]}\n')
    for name in ("cb", "anli_r1", "rte", "hellaswag", "mmlu_abstract_algebra", "mmlu_anatomy"):
        suites.write(f"{name}.yaml", f"task: {name}\ndataset: data.jsonl\ntag: [reasoning]\n")
    return suites


NLI = """
group: nli_tasks
task:
  - cb
  - anli_r1
  - rte
"""
AGGREGATES = """
aggregate_metric_list:
  - metric: acc
    aggregation: mean
    weight_by_size: true   # micro-average (default)
metadata:
  version: 1.0
"""
MMLU = """
group: mmlu
group_alias: "MMLU"
task:
  - task: mmlu_abstract_algebra
    task_alias: "Abstract Algebra"
  - task: mmlu_anatomy
    task_alias: "Anatomy"
"""
OVERRIDES = """
group: my_benchmark
task:
  - task: mmlu
    num_fewshot: 5          # Override few-shot count for all MMLU subtasks
  - task: hellaswag
    num_fewshot: 0
"""
INLINE = """
group: nli_and_mmlu
task:
  - group: nli_tasks
    task:
      - cb
      - anli_r1
      - rte
    aggregate_metric_list:
      - metric: acc
        aggregation: mean
        higher_is_better: true

  - task: mmlu
    num_fewshot: 2
"""
SCROLLS = """
group: scrolls
task:
  - task: scrolls_qasper
    class: !function task.Qasper
  - task: scrolls_quality
    class: !function task.QuALITY
  - task: scrolls_narrativeqa
    class: !function task.NarrativeQA
"""
FORMATS = """
group: my_benchmark
task:
  - task: subtask_a@mcqa
    dataset_path: data.jsonl
    doc_to_text: question
    doc_to_target: answer
    doc_to_choice: choices

  - task: subtask_b
    formats: generate
    dataset_path: data.jsonl
    doc_to_text: question
    doc_to_target: answer
    doc_to_choice: choices
"""


def test_tags_select_and_groups_aggregate(page):
    """A tag gives tasks, flat; a group is a row with its members under it."""
    page.write("_nli.yaml", NLI + AGGREGATES)
    assert len(page.load("reasoning").roots) == 6
    (group,) = page.load("nli_tasks").roots
    assert isinstance(group, GroupNode)
    assert [leaf.key for leaf in group.leaves()] == ["cb", "anli_r1", "rte"]
    assert [(a.metric, a.aggregation, a.weight_by_size) for a in group.aggregates] == [
        ("acc", "mean", True)
    ]
    assert group.metadata == {"version": 1.0}


def test_a_group_without_aggregates_is_fine(page):
    """The basic form."""
    page.write("_nli.yaml", NLI)
    assert page.load("nli_tasks").roots[0].aggregates == ()


def test_overrides_reach_the_children_of_a_group(page):
    """Five shots for all of MMLU, none for the other."""
    page.write("mmlu.yaml", MMLU)
    page.write("b.yaml", OVERRIDES)
    assert page.fewshot("my_benchmark") == {
        "my_benchmark::mmlu::mmlu_abstract_algebra": 5,
        "my_benchmark::mmlu::mmlu_anatomy": 5,
        "my_benchmark::hellaswag": 0,
    }


def test_inline_groups_nest(page):
    """Beside a registered one, with aggregates of their own."""
    page.write("mmlu.yaml", MMLU)
    page.write("b.yaml", INLINE)
    (root,) = page.load("nli_and_mmlu").roots
    assert [child.path for child in root.children] == [
        "nli_and_mmlu::nli_tasks",
        "nli_and_mmlu::mmlu",
    ]
    assert root.children[0].aggregates[0].higher_is_better is True


def test_tasks_may_be_classes(page):
    """Inline, with `class`, which there is a TypeError."""
    page.write("task.py", "class Qasper: ...\nclass QuALITY: ...\nclass NarrativeQA: ...\n")
    page.write("scrolls.yaml", SCROLLS)
    classes = [leaf.config.task_class.__name__ for leaf in page.load("scrolls").leaves()]
    assert classes == ["Qasper", "QuALITY", "NarrativeQA"]


def test_paths_walk_the_tree(page):
    """Both of the page's examples."""
    page.write("mmlu.yaml", MMLU)
    page.write("b.yaml", "group: my_benchmark\ntask: [nli_tasks, mmlu]\n")
    page.write("_nli.yaml", NLI)
    loaded = page.load("mmlu::mmlu_anatomy", "my_benchmark::nli_tasks::cb")
    assert [leaf.key for leaf in loaded.leaves()] == ["mmlu_anatomy", "cb"]


def test_formats_apply_to_tasks_in_groups(page):
    """By suffix and by key."""
    page.write("b.yaml", FORMATS)
    leaves = page.load("my_benchmark").leaves()
    assert [(leaf.key, leaf.config.format) for leaf in leaves] == [
        ("subtask_a@mcqa", "mcqa"),
        ("subtask_b", "generate"),
    ]
    assert leaves[0].config.dataset_path == str(page.root / "data.jsonl")
    (chosen,) = page.load("my_benchmark::subtask_a").leaves()
    assert chosen.key == "subtask_a@mcqa"


def test_display_names_are_kept_apart_from_names(page):
    """Aliases are shown; names stay unique."""
    page.write("mmlu.yaml", MMLU)
    (group,) = page.load("mmlu").roots
    assert group.alias == "MMLU"
    assert [leaf.alias for leaf in group.leaves()] == ["Abstract Algebra", "Anatomy"]
    assert [leaf.key for leaf in group.leaves()] == ["mmlu_abstract_algebra", "mmlu_anatomy"]
