"""Every example of lm-evaluation-harness's page on groups, run with `cb run --suite`.

The files have the shapes of that page and of tasks in that project; the data is local and the
system always answers A, so that every number can be counted by hand.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from tests.fake_distributions import Workplace

RIGHT = {
    "cb": "AA",
    "anli_r1": "ABBB",
    "rte": "AB",
    "hellaswag": "AAAAB",
    "mmlu_abstract_algebra": "AAABBB",
    "mmlu_anatomy": "AAAAAABB",
}
"""The right choice of each document: A is 2/2, 1/4, 1/2, 4/5, 3/6 and 6/8 right."""

TASK = """\
task: {name}
tag: [reasoning]
dataset_path: {name}.jsonl
doc_to_text: question
doc_to_choice: choices
doc_to_target: answer
"""
SYSTEM = '''\
class First:
    """Takes the first choice, and notes what it was asked."""

    name = "first"

    def process(self, example):
        with open("asked.txt", "a") as asked:
            asked.write(example["question"] + "\\n====\\n")
        return {"response": "A"}


class Repeats:
    """Says what it was asked."""

    name = "repeats"

    def process(self, example):
        return {"response": example["question"]}
'''
NLI = """\
group: nli_tasks
task:
  - cb
  - anli_r1
  - rte
metadata:
  version: 1.0
"""
AGGREGATE = """\
aggregate_metric_list:
  - metric: acc
    aggregation: mean
    weight_by_size: true   # micro-average (default)
"""
MMLU = """\
group: mmlu
group_alias: "MMLU"
task:
  - task: mmlu_abstract_algebra
    task_alias: "Abstract Algebra"
  - task: mmlu_anatomy
    task_alias: "Anatomy"
aggregate_metric_list:
  - metric: acc
"""
OVERRIDES = """\
group: my_benchmark
task:
  - task: mmlu
    num_fewshot: 5          # Override few-shot count for all MMLU subtasks
  - task: hellaswag
    num_fewshot: 0
"""
INLINE = """\
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
SCROLLS = """\
group: scrolls
task:
  - task: scrolls_qasper
    class: !function task.Qasper
  - task: scrolls_quality
    class: !function task.QuALITY
  - task: scrolls_narrativeqa
    class: !function task.NarrativeQA
"""
CLASSES = """\
class Scroll:
    gold = ["A", "B"]

    def __init__(self, config=None):
        self.config = config

    def test_docs(self):
        return [{"text": f"What is {gold}?", "gold": gold} for gold in self.gold]

    def doc_to_text(self, doc):
        return doc["text"]

    def doc_to_target(self, doc):
        return doc["gold"]


class Qasper(Scroll):
    pass


class QuALITY(Scroll):
    gold = [1, 0, 0, 0]

    def doc_to_choice(self, doc):
        return ["yes", "no"]


class NarrativeQA(Scroll):
    def process_results(self, doc, results):
        return {"halved": 0.5 if results[0] == doc["gold"] else 0.0}
"""
FORMATS = """\
group: my_benchmark
task:
  - task: subtask_a@mcqa
    dataset_path: rte.jsonl
    doc_to_text: question
    doc_to_target: answer
    doc_to_choice: choices

  - task: subtask_b
    formats: generate
    dataset_path: rte.jsonl
    doc_to_text: question
    doc_to_target: answer
    doc_to_choice: choices
"""


@pytest.fixture
def page(workplace: Workplace) -> Workplace:
    """A folder `suites` with the tasks that the page speaks of, and a system."""
    (workplace.folder / "suites").mkdir()
    for name, right in RIGHT.items():
        documents = [
            {"question": f"{name} {i}?", "choices": ["yes", "no"], "answer": "AB".index(letter)}
            for i, letter in enumerate(right)
        ]
        workplace.write(f"suites/{name}.jsonl", "\n".join(map(json.dumps, documents)))
        workplace.write(f"suites/{name}.yaml", TASK.format(name=name))
    workplace.write("mine.py", SYSTEM)
    return workplace


def run(page: Workplace, *suites: str, system: str = "First", **files: str) -> dict[str, Any]:
    """Write suite files, run suites, and give each line of the table by its path."""
    for name, text in files.items():
        page.write(f"suites/{name}.yaml", text)
    asked = [word for suite in suites for word in ("--suite", suite)]
    chosen = ("--system", f"py:./mine.py:{system}", "--include-path", "suites", "--trust", "suites")
    done = page.cb("run", *asked, *chosen, "--output", "json")
    assert done.returncode == 0, done.stderr
    return {line["path"]: line for line in json.loads(done.stdout)["sections"]["suites"]["lines"]}


def value(line: dict[str, Any], metric: str = "acc", filter_name: str = "none") -> Any:
    """The number of a line and the examples it rests on."""
    (found,) = (
        found
        for score in line["scores"]
        if (score["metric"], score["filter"]) == (metric, filter_name)
        for found in score["values"].values()
    )
    return pytest.approx(found["value"]), found["n"]


def asked(page: Workplace) -> list[str]:
    """The prompts the system was given."""
    return (page.folder / "asked.txt").read_text().split("\n====\n")[:-1]


# -- the page ----------------------------------------------------------------------------------


def test_a_tag_runs_its_tasks_and_makes_no_row_of_its_own(page):
    """Tasks are listed one by one, by name, without an aggregate."""
    lines = run(page, "reasoning")
    assert list(lines) == sorted(RIGHT)
    assert {line["depth"] for line in lines.values()} == {0}


def test_a_basic_group_is_a_header_over_its_tasks(page):
    """In the order of the file, with its version and without a number."""
    lines = run(page, "nli_tasks", _nli=NLI)
    assert [(line["path"], line["depth"]) for line in lines.values()] == [
        ("nli_tasks", 0),
        ("nli_tasks::cb", 1),
        ("nli_tasks::anli_r1", 1),
        ("nli_tasks::rte", 1),
    ]
    assert (lines["nli_tasks"]["scores"], lines["nli_tasks"]["version"]) == ([], "1.0")
    assert value(lines["nli_tasks::anli_r1"]) == (0.25, 4)


@pytest.mark.parametrize(
    ("aggregate", "number"),
    [
        (AGGREGATE, 4 / 8),
        ("aggregate_metric_list: {metric: acc}\n", 4 / 8),
        (AGGREGATE.replace("true ", "false"), (1 + 0.25 + 0.5) / 3),
        (AGGREGATE.replace("mean", "median"), 0.5),
        (AGGREGATE + "    filter_list: none\n", 4 / 8),
    ],
    ids=["micro", "one mapping", "macro", "median", "filter_list"],
)
def test_aggregate_metrics_give_the_group_one_score(page, aggregate, number):
    """Over all documents, or over tasks; a list or one mapping."""
    lines = run(page, "nli_tasks", _nli=NLI + aggregate)
    assert value(lines["nli_tasks"]) == (pytest.approx(number), 8)


def test_an_override_reaches_every_task_of_a_group(page):
    """Five worked examples for all of MMLU, none for the other; each prompt has them."""
    lines = run(page, "my_benchmark", mmlu=MMLU, my=OVERRIDES)
    assert {path: line["num_fewshot"] for path, line in lines.items()} == {
        "my_benchmark": None,
        "my_benchmark::mmlu": 5,
        "my_benchmark::mmlu::mmlu_abstract_algebra": 5,
        "my_benchmark::mmlu::mmlu_anatomy": 5,
        "my_benchmark::hellaswag": 0,
    }
    shown = {prompt.count("Answer:") for prompt in asked(page) if "mmlu" in prompt}
    assert shown == {6}
    assert {prompt.count("Answer:") for prompt in asked(page) if "hellaswag" in prompt} == {1}


def test_inline_groups_nest_beside_registered_ones(page):
    """Each keeps its own aggregate; the parent has none and still has its row."""
    lines = run(page, "nli_and_mmlu", mmlu=MMLU, both=INLINE)
    assert list(lines)[:2] == ["nli_and_mmlu", "nli_and_mmlu::nli_tasks"]
    assert value(lines["nli_and_mmlu::nli_tasks"]) == (0.5, 8)
    assert value(lines["nli_and_mmlu::mmlu"]) == (pytest.approx(9 / 14), 14)
    assert lines["nli_and_mmlu::mmlu::mmlu_anatomy"]["num_fewshot"] == 2


def test_tasks_may_be_python_classes_next_to_the_file(page):
    """Their documents, prompts, answers and scores are their own."""
    page.write("suites/task.py", CLASSES)
    lines = run(page, "scrolls", scrolls=SCROLLS)
    assert value(lines["scrolls::scrolls_qasper"], "exact_match") == (0.5, 2)
    assert value(lines["scrolls::scrolls_quality"]) == (0.75, 4)
    assert value(lines["scrolls::scrolls_narrativeqa"], "halved") == (0.25, 2)


@pytest.mark.parametrize(
    "wanted",
    [
        "mmlu::mmlu_anatomy",
        "my_benchmark::mmlu::mmlu_anatomy",
        "my_benchmark::nli_tasks::cb",
        "my_benchmark::nli_tasks::anli*",
    ],
)
def test_a_path_runs_one_part(page, wanted):
    """Through registered and inline groups, with globs; nothing else is asked."""
    own = INLINE.replace("nli_and_mmlu", "my_benchmark")
    lines = run(page, wanted, mmlu=MMLU, my=own)
    (path,) = lines
    name = path.rpartition("::")[2]
    assert len({prompt.split()[-3] for prompt in asked(page)}) == 1
    assert value(lines[path])[1] == len(RIGHT[name])


def test_paths_are_there_in_python_too(page, monkeypatch):
    """As `TaskManager().load` takes them."""
    from cb_suites.engine import SuiteManager

    page.write("suites/mmlu.yaml", MMLU)
    monkeypatch.setenv("XDG_CACHE_HOME", str(page.cache))
    loaded = SuiteManager(include_paths=[page.folder / "suites"]).load(["mmlu::mmlu_anatomy"])
    assert [leaf.key for leaf in loaded.leaves()] == ["mmlu_anatomy"]


def test_formats_apply_by_suffix_and_by_key(page):
    """One task shows lettered choices, the other the bare question."""
    lines = run(page, "my_benchmark", formats=FORMATS)
    assert list(lines)[1:] == ["my_benchmark::subtask_a@mcqa", "my_benchmark::subtask_b"]
    assert value(lines["my_benchmark::subtask_a@mcqa"]) == (0.5, 2)
    assert value(lines["my_benchmark::subtask_b"]) == (0.0, 2)  # "A" is the text of no choice
    assert asked(page)[0] == "rte 0?\nA. yes\nB. no\nAnswer:"
    assert asked(page)[2] == "rte 0?"


def test_display_names_are_shown_and_names_stay(page):
    """The table has aliases, indented; paths go by names."""
    for name, text in {"mmlu": MMLU, "my": OVERRIDES}.items():
        page.write(f"suites/{name}.yaml", text)
    chosen = ("--system", "py:./mine.py:First", "--include-path", "suites", "--trust", "suites")
    done = page.cb("run", "--suite", "my_benchmark", *chosen, COLUMNS="120")
    assert done.returncode == 0, done.stderr
    table = done.stdout.partition("Suites\n")[2]
    rows = [row.split("│")[1:-1] for row in table.splitlines() if row.startswith("│")][1:]
    shown = [(cells[0].rstrip(), cells[-4].strip(), cells[-1].strip()) for cells in rows]
    assert shown == [
        (" my_benchmark", "", ""),
        ("   MMLU", "0.6429", "14"),
        ("     Abstract Algebra", "0.5000", "6"),
        ("     Anatomy", "0.7500", "8"),
        ("   hellaswag", "0.8000", "5"),
    ]


REFERENCE = """\
group: everything
group_alias: All of it
task:
  - cb
  - group: inner
    task: anli_r1
  - task: own
    dataset_path: rte.jsonl
    doc_to_text: question
    doc_to_choice: choices
    doc_to_target: answer
aggregate_metric_list:
  - metric: acc
    aggregation: mean
    weight_by_size: false
    filter_list: [none]
metadata:
  version: 2.5
  num_fewshot: 3
"""


def test_every_field_of_the_reference_has_its_effect(page):
    """group, group_alias, task in all forms, aggregates, version and the n-shot shown."""
    lines = run(page, "everything", everything=REFERENCE)
    head = lines["everything"]
    assert (head["alias"], head["version"], head["num_fewshot"]) == ("All of it", "2.5", 3)
    assert value(head) == (pytest.approx((1 + 0.25 + 0.5) / 3), 8)
    assert list(lines)[1:] == [
        "everything::cb",
        "everything::inner",
        "everything::inner::anli_r1",
        "everything::own",
    ]


def test_a_task_in_two_groups_is_asked_once_and_counts_once(page):
    """The overlap {g1{a,b}, g2{a,c}} with a 4/5, b 1/2, c 3/6 is 8 of 13."""
    overlap = """\
group: overlap
task:
  - {group: g1, task: [hellaswag, rte], aggregate_metric_list: {metric: acc}}
  - {group: g2, task: [hellaswag, mmlu_abstract_algebra]}
aggregate_metric_list: {metric: acc}
"""
    lines = run(page, "overlap", overlap=overlap)
    assert value(lines["overlap"]) == (pytest.approx(8 / 13), 13)
    assert value(lines["overlap::g1"]) == (pytest.approx(5 / 7), 7)
    assert len(asked(page)) == 13


# -- tasks as that project writes them ---------------------------------------------------------

MULTIPLE_CHOICE = """\
# A multiple-choice task over Jinja templates.
tag:
  - multiple_choice_tasks
task: questions_about_ships
dataset_path: json
dataset_name: null
dataset_kwargs:
  data_files:
    train: ships_train.jsonl
    test: ships_test.jsonl
output_type: multiple_choice
training_split: train
test_split: test
fewshot_split: train
num_fewshot: 1
fewshot_config:
  sampler: first_n
doc_to_text: "{{passage}}\\nQuestion: {{query.strip()}}?\\nAnswer:"
doc_to_target: "{{ ['B', 'A'].index(key) }}"
doc_to_choice: "{{ options.text }}"
should_decontaminate: true
doc_to_decontamination_query: passage
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
  - metric: acc_norm
    aggregation: mean
    higher_is_better: true
metadata:
  version: 2.0
"""
GENERATION = """\
task: sums
dataset_path: sums.jsonl
output_type: generate_until
test_split: test
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: "{{answer.split('####')[-1].strip()}}"
generation_kwargs:
  until:
    - "Next question:"
    - "</s>"
  do_sample: false
  temperature: 0.0
repeats: 1
num_fewshot: 0
filter_list:
  - name: "strict-match"
    filter:
      - function: "regex"
        regex_pattern: "#### (\\\\-?[0-9\\\\.\\\\,]+)"
      - function: "take_first"
  - name: "flexible-extract"
    filter:
      - function: "regex"
        group_select: -1
        regex_pattern: "(-?[$0-9.,]{2,})|(-?[0-9]+)"
      - function: "take_first"
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    ignore_punctuation: false
    regexes_to_ignore:
      - ","
      - "\\\\$"
metadata:
  version: 3.0
"""
TEMPLATE = """\
dataset_path: rte.jsonl
test_split: test
fewshot_config:
  sampler: first_n
output_type: multiple_choice
doc_to_text: "{{question.strip()}}\\nA. {{choices[0]}}\\nB. {{choices[1]}}\\nAnswer:"
doc_to_choice: ["A", "B"]
doc_to_target: answer
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1.0
"""
CHILD = """\
"dataset_name": "ethics"
"description": "The following are questions about ethics.\\n\\n"
"tag": "ethics_tasks"
"include": "_template_yaml"
"task": "letters"
"task_alias": "letters of ethics"
"""
FUNCTIONS = """\
task: functions
dataset_path: rte.jsonl
output_type: generate_until
test_split: validation
process_docs: !function utils.process_docs
doc_to_text: !function utils.doc_to_text
doc_to_target: !function utils.doc_to_target
process_results: !function utils.process_results
metric_list:
  - metric: letters
    aggregation: mean
    higher_is_better: false
metadata:
  - version: 1.0
"""
UTILS = """\
def process_docs(dataset):
    return dataset.filter(lambda doc: doc["answer"] == 0).map(
        lambda doc: {"question": doc["question"].upper()}
    )


def doc_to_text(doc):
    return "Q: " + doc["question"]


def doc_to_target(doc):
    return doc["choices"][doc["answer"]]


def process_results(doc, results):
    return {"letters": len(results[0])}
"""


def test_a_multiple_choice_task_of_that_project_runs_unchanged(page):
    """Files by split, templates, a target computed from a list, worked examples."""
    rows = [
        {
            "passage": f"Ship {i}.",
            "query": " Does it float",
            "options": {"text": ["no", "yes"], "label": ["A", "B"]},
            "key": key,
        }
        for i, key in enumerate("BBA")
    ]
    page.write("suites/ships_train.jsonl", json.dumps({**rows[2], "passage": "Ship 9."}))
    page.write("suites/ships_test.jsonl", "\n".join(map(json.dumps, rows)))
    lines = run(page, "multiple_choice_tasks", ships=MULTIPLE_CHOICE)
    line = lines["questions_about_ships"]
    assert value(line) == (pytest.approx(2 / 3), 3)
    assert (line["num_fewshot"], line["version"]) == (1, "2.0")
    assert asked(page)[1] == (
        "Ship 9.\nQuestion: Does it float?\nA. no\nB. yes\nAnswer: B\n\n"
        "Ship 1.\nQuestion: Does it float?\nA. no\nB. yes\nAnswer:"
    )


def test_a_generation_task_with_filters_runs_unchanged(page):
    """Each filter has lines of its own, as `exact_match` after that filter."""
    sums = [
        {"question": "say #### 7", "answer": "six and one is #### 7"},
        {"question": "say 12, or 1,000", "answer": "#### 1,000"},
    ]
    page.write("suites/sums.jsonl", "\n".join(map(json.dumps, sums)))
    lines = run(page, "sums", system="Repeats", sums=GENERATION)
    assert value(lines["sums"], "exact_match", "strict-match") == (0.5, 2)
    assert value(lines["sums"], "exact_match", "flexible-extract") == (1.0, 2)


def test_a_template_without_suffix_is_included(page):
    """Quoted keys, letters as choices, a description before everything."""
    page.write("suites/_template_yaml", TEMPLATE)
    lines = run(page, "ethics_tasks", letters=CHILD)
    assert lines["letters"]["alias"] == "letters of ethics"
    assert value(lines["letters"]) == (0.5, 2)
    assert asked(page)[0] == (
        "The following are questions about ethics.\n\nrte 0?\nA. yes\nB. no\nAnswer:"
    )


def test_functions_next_to_the_file_shape_and_score_a_task(page):
    """`process_docs`, `doc_to_text`, `doc_to_target`, `process_results`; metadata as a list."""
    page.write("suites/utils.py", UTILS)
    lines = run(page, "functions", functions=FUNCTIONS)
    (score,) = lines["functions"]["scores"]
    assert (score["metric"], score["higher_is_better"]) == ("letters", False)
    assert value(lines["functions"], "letters") == (1.0, 1)
    assert asked(page) == ["Q: RTE 0?"]


# -- misuse ------------------------------------------------------------------------------------

DATA = "dataset_path: rte.jsonl\n"
MISUSES = {
    "a misspelt member": ("group: g\ntask:\n  - cb\n  - anli_r2\n", 4, "anli_r1"),
    "a member that is nowhere": ("group: g\ntask: [cb, zzz]\n", 2, "'zzz'"),
    "an unknown key of a group": ("group: g\ntask: [cb]\ngroup_allias: G\n", 3, "group_alias"),
    "an unknown override": (
        "group: g\ntask:\n  - task: cb\n    num_fewshots: 2\n",
        4,
        "did you mean num_fewshot?",
    ),
    "an unknown key of a task": (f"task: g\n{DATA}doc_to_txt: q\n", 3, "doc_to_text"),
    "an unknown key of an aggregate": (
        "group: g\ntask: [cb]\naggregate_metric_list:\n  - metric: acc\n    weight_by_sise: true\n",
        5,
        "weight_by_size",
    ),
    "an aggregation that is none": (
        "group: g\ntask: [cb]\naggregate_metric_list:\n  - metric: acc\n    aggregation: meen\n",
        5,
        "did you mean mean?",
    ),
    "an aggregate without a metric": (
        "group: g\ntask: [cb]\naggregate_metric_list:\n  - aggregation: mean\n",
        4,
        "metric",
    ),
    "a value of another kind": ("group: g\ntask:\n  - task: cb\n    num_fewshot: x\n", 4, "'x'"),
    "a group in itself": ("group: g\ntask: [cb, g]\n", 2, "g → g"),
    "no members": ("group: g\ntask: []\n", 2, "no members"),
    "a task without data": ("task: g\ndoc_to_text: q\n", 1, "names no data"),
    "a group that is a task": (f"group: g\ntask: t\n{DATA}", 1, "tag: [g]"),
    "an include that is nowhere": (f"task: g\n{DATA}include: nowhere.yaml\n", 3, "nowhere.yaml"),
    "an include of itself": (f"task: g\n{DATA}include: g.yaml\n", 3, "include each other"),
    "a format that is none": (f"task: g\n{DATA}formats: mcqq\n", 3, "mcqa"),
    "a template that is none": (f'task: g\n{DATA}doc_to_text: "{{{{ q"\n', 3, "doc_to_text"),
    "a filter that is none": (
        f"task: g\n{DATA}filter_list:\n  - name: f\n    filter:\n      - function: regx\n",
        3,
        "regex",
    ),
    "a sampler that is none": (
        f"task: g\n{DATA}num_fewshot: 1\nfewshot_config: {{sampler: last_n}}\n",
        4,
        "first_n",
    ),
    "an output type that is none": (f"task: g\n{DATA}output_type: loud\n", 3, "multiple_choice"),
    "a function that is nowhere": (
        f"task: g\n{DATA}doc_to_text: !function utils.missing\n",
        3,
        "utils",
    ),
    "a function elsewhere": (f"task: g\n{DATA}doc_to_text: !function os.system\n", 3, "os"),
    "code in a spec": ("task: g\ndataset: py:./mine.py:First\n", 2, "!function"),
    "a dataset that nothing offers": ("task: g\ndataset: hotpotqu:sample\n", 2, "hotpotqa"),
    "an evaluator that nothing offers": (
        f"task: g\n{DATA}evaluators: [answer_qualty]\n",
        3,
        "answer_quality",
    ),
    "an object of Python": (f"task: g\n{DATA}description: !!python/name:os.system ''\n", 3, "tag"),
    "YAML that is none": ("group: g\ntask: [cb\n", 3, "YAML"),
}
"""What is written in g.yaml, the line to be named, and what the message has to hold."""


@pytest.mark.parametrize("misuse", MISUSES)
def test_a_misuse_ends_in_one_clear_error_with_file_and_line(page, misuse):
    """Exit code 2, nothing asked, no traceback, and what was probably meant."""
    text, line, said = MISUSES[misuse]
    page.write("suites/g.yaml", text)
    chosen = ("--system", "py:./mine.py:First", "--include-path", "suites", "--trust", "suites")
    done = page.cb("run", "--suite", "suites/g.yaml", *chosen)
    assert (done.returncode, done.stdout) == (2, ""), done.stdout
    assert done.stderr.count("cb: error:") == 1
    assert f"g.yaml:{line}" in done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (page.folder / "asked.txt").exists()


def test_a_long_cycle_is_named_in_full(page):
    """From group to group, back to where it began."""
    for name, member in (("g", "h"), ("h", "i"), ("i", "g")):
        page.write(f"suites/{name}.yaml", f"group: {name}\ntask: [{member}]\n")
    chosen = ("--system", "py:./mine.py:First", "--include-path", "suites", "--trust", "suites")
    done = page.cb("run", "--suite", "g", *chosen)
    assert done.returncode == 2
    assert "g → h → i → g" in done.stderr
    assert "i.yaml:2" in done.stderr


def test_two_files_that_claim_one_name_are_both_named(page):
    """Neither is preferred."""
    page.write("suites/other.yaml", TASK.format(name="cb"))
    done = page.cb("run", "--suite", "cb", "--system", "identity", "--include-path", "suites")
    assert done.returncode == 2
    assert "cb.yaml:1" in done.stderr
    assert "other.yaml:1" in done.stderr


def test_a_metric_that_nothing_emits_is_found_before_and_told_after_a_run(page):
    """`cb suite validate` names file and line; a run says which was probably meant."""
    text = "group: g\ntask: [cb]\naggregate_metric_list:\n  - metric: ac\n"
    page.write("suites/g.yaml", text)
    checked = page.cb("suite", "validate", "suites/g.yaml", "--include-path", "suites")
    assert checked.returncode == 2
    assert "g.yaml:4: error: no evaluator of 'g' emits the metric 'ac'" in checked.stdout
    chosen = ("--system", "py:./mine.py:First", "--include-path", "suites", "--trust", "suites")
    done = page.cb("run", "--suite", "g", *chosen, COLUMNS="200")
    assert done.returncode == 0
    assert "no task reports 'ac'; did you mean acc?" in done.stdout


def test_standard_errors_are_those_of_the_estimator(page):
    """Micro pools the variance within tasks; macro adds the variances of the means."""
    micro = run(page, "nli_tasks", _nli=NLI + AGGREGATE)["nli_tasks"]
    macro = run(page, "nli_tasks", _nli=NLI + AGGREGATE.replace("true ", "false"))["nli_tasks"]
    squares = [0.0, 4 * 0.25 * 0.75, 2 * 0.25]  # of cb, anli_r1, rte
    pooled = math.sqrt(sum(squares) / (8 - 3) / 8)
    combined = math.sqrt(sum(s / (n - 1) / n for s, n in zip(squares, (2, 4, 2), strict=True))) / 3
    for line, wanted in ((micro, pooled), (macro, combined)):
        (found,) = line["scores"][0]["values"].values()
        assert found["stderr"] == pytest.approx(wanted)
