"""What a task may say, and what it becomes; keys of lm-evaluation-harness among them."""

from __future__ import annotations

import numpy
import pytest

from cb_suites.engine.fields import TASK_KEYS, WITHOUT_MEANING
from cb_suites.engine.filters import make_filter
from cb_suites.engine.harness import EVALUATOR_OF_METRIC
from cb_suites.engine.metric_scoring import ProcessResults
from cb_suites.engine.metrics import ExactMatch
from cbcore.exceptions import ConfigError, MissingScoreError
from cbcore.specs import Spec


@pytest.fixture
def task(suites):
    """The record of one task, from the lines of its file."""

    def read(text, *, dataset="dataset: qa\n"):
        suites.write(
            "utils.py",
            "def f(*a, **k): return 'f'\nclass Score:\n    name = 'own'\n    def score(self, o, p): return {}\n",
        )
        suites.write("t.yaml", f"task: t\n{dataset}{text}")
        return suites.load("t").leaves()[0].config

    return read


PLAIN = [
    ("num_fewshot: 3", "num_fewshot", 3),
    ("num_fewshot: null", "num_fewshot", None),
    ("limit: 10", "limit", 10),
    ("repeats: 4", "repeats", 4),
    ("seed: 7", "seed", 7),
    ("tag: x", "tags", ("x",)),
    ("tag: [x, y]", "tags", ("x", "y")),
    ("task_alias: Nice", "alias", "Nice"),
    ("task_alias: 2024", "alias", "2024"),
    ("description: 'Be brief.\\n'", "description", "Be brief.\\n"),
    ("target_delimiter: ''", "target_delimiter", ""),
    ("metadata: {version: 1.0}", "metadata", {"version": 1.0}),
    ("columns: {question: q}", "columns", {"question": "q"}),
    ("doc_to_text: question", "doc_to_text", "question"),
    ("doc_to_target: 2", "doc_to_target", 2),
    ("doc_to_choice: [a, 2]", "doc_to_choice", ["a", "2"]),
    ("doc_to_choice: {x: a, y: b}", "doc_to_choice", ["a", "b"]),
    ("primary_score: f1", "primary_score", "f1"),
    ("evaluators: answer_quality", "evaluators", ("answer_quality",)),
    ("evaluators: [a, b:x=1]", "evaluators", ("a", "b:x=1")),
    ("evaluators:\n  - a: {x-y: 1}", "evaluators", (Spec("a", None, {"x_y": 1}),)),
    ("metrics: [mean_score]", "metrics", ("mean_score",)),
    ("formats: generate", "format", "generate"),
    ("formats: [mcqa, cot]", "formats", {"mcqa": {}, "cot": {}}),
    ("formats: {type: mcqa, instruction: Go}", "formats", {"mcqa": {"instruction": "Go"}}),
    ("formats: {cot: , mcqa: {a: 1}}", "formats", {"cot": {}, "mcqa": {"a": 1}}),
    ("formats: {cot: , mcqa: {a: 1}}", "format", "cot"),
    ("split: dev", "split", "dev"),
    ("test_split: test\nvalidation_split: dev", "split", "test"),
    ("validation_split: dev", "split", "dev"),
    ("training_split: train\nvalidation_split: dev", "fewshot_split", "train"),
    ("fewshot_split: few\ntraining_split: train", "fewshot_split", "few"),
    ("output_type: multiple_choice", "format", "mcqa"),
    ("output_type: multiple_choice\nformats: cloze", "format", "cloze"),
    ("output_type: generate_until", "format", None),
    ("metric_list:\n  - metric: exact_match", "evaluators", ("answer_quality",)),
    ("metric_list: [{metric: f1}, {metric: em}]", "evaluators", ("answer_quality",)),
    ("metric_list: [{metric: acc}, {metric: acc_norm}]", "evaluators", None),
    ("metric_list: [{metric: acc}, {metric: f1}]", "primary_score", "acc"),
    ("metric_list: [{metric: em}]", "primary_score", "exact_match"),
    ("metric_list: [{metric: acc}]\nprimary_score: f1", "primary_score", "f1"),
    ("metadata: [{version: 2.0}, {a: 1}]", "metadata", {"version": 2.0, "a": 1}),
    ("process_results: !function utils.f\nmetric_list: [{metric: mine}]", "primary_score", "mine"),
    ("evaluators: [x]\nmetric_list: [{metric: f1}]", "evaluators", ("x",)),
]


@pytest.mark.parametrize(("text", "field", "value"), PLAIN, ids=[case[0] for case in PLAIN])
def test_a_key_becomes_its_field(task, text, field, value):
    """Each key on its own."""
    assert getattr(task(f"{text}\n"), field) == value


MISTAKES = [
    ("num_fewshots: 3", "a task has no key 'num_fewshots'", "did you mean num_fewshot?"),
    ("group: [x, y]", "a task cannot be a group", "write tag: [x, y]"),
    ("group_alias: x", "a task has no key 'group_alias'", "did you mean task_alias?"),
    ("num_fewshot: -1", "a whole number, at least 0, not -1", None),
    ("num_fewshot: '3'", "a whole number, at least 0, not '3'", None),
    ("num_fewshot: true", "a whole number, at least 0, not True", None),
    ("limit: 0", "a whole number, at least 1, not 0", None),
    ("repeats: 1000000", "at least 1 and at most 1,000, not 1000000", None),
    ("tag: 3", "tag must be text or a list of texts, not 3", "put it in quotes"),
    ("doc_to_choice: [yes, no]", "doc_to_choice must be", None),
    ("process_docs: utils.f", "process_docs must be a !function, not 'utils.f'", None),
    ("metadata: 3", "metadata must be keys with values", None),
    ("columns: [a]", "columns must be keys with values", None),
    ("formats: {}", "formats must be a format's name", None),
    ("formats: {mcqa: 3}", "formats must be a format's name", None),
    ("output_type: loglike", "output_type 'loglike' is not one of multiple_choice", None),
    ("evaluators: 'a:'", "nothing follows the colon", None),
    ("evaluators: [3]", "evaluators: 3 is neither a name nor a name with parameters", None),
    ("evaluators: ['py:os:system']", "names code, which a suite file may not", "!function"),
    (
        "evaluators: [{code: {allow-unsandboxed: true}}]",
        "may not allow code to run without a sandbox",
        "--allow-unsandboxed",
    ),
    ("evaluators: 'code:allow_unsandboxed=true'", "may not allow code to run without", None),
    (
        "metric_list: [{metric: exact_match, regexes_to_ignore: ['(']}]",
        "regexes_to_ignore is a list of patterns: '(' is not a regular expression: missing )",
        None,
    ),
    ("metric_list: [{aggregation: mean}]", "names no metric", "- metric: acc"),
    ("filter_list: [{filter: []}]", "has a name and, under filter, its steps", None),
    ("filter_list: [{name: a, fliter: []}]", "a filter has no key 'fliter'", None),
    ("filter_list: [{name: a, filter: [{regex: x}]}]", "names no function", None),
    ("filter_list: [{name: a}, {name: a}]", "two filters are called 'a'", None),
    ("filter_list: [{name: a, filter: [{function: custom}]}]", "needs filter_fn", None),
    ("dataset_path: x", "dataset: or dataset_path:, not both", None),
]


@pytest.mark.parametrize(("text", "says", "hint"), MISTAKES, ids=[case[0] for case in MISTAKES])
def test_a_wrong_value_is_named_with_its_line(task, suites, text, says, hint):
    """File, line, value, and what is allowed."""
    with pytest.raises(ConfigError) as caught:
        task(f"{text}\n")
    assert caught.value.source == f"{suites.root / 't.yaml'}:3"
    assert says in caught.value.reason
    assert (hint or "") in (caught.value.hint or "")


def test_code_that_lacks_what_is_named_keeps_that_task_alone_from_running(task):
    """The reason is kept with the task: others of its group go on."""
    assert "has no 'g'" in task("doc_to_text: !function utils.g\n").problem


@pytest.mark.parametrize("key", ["evaluators", "dataset"])
def test_code_cannot_be_named_by_a_spec(task, key):
    """`py:` is for the command line; nothing in YAML executes but what `!function` names."""
    dataset = (
        "dataset: py:os:listdir\n" if key == "dataset" else "dataset: qa\nevaluators: py:os:abort\n"
    )
    with pytest.raises(ConfigError, match="names code"):
        task("", dataset=dataset)


def test_a_task_needs_data(task):
    """And says which keys give it."""
    with pytest.raises(ConfigError, match="the task 't' names no data") as caught:
        task("limit: 3\n", dataset="")
    assert "dataset:" in caught.value.hint


def test_data_files_lie_next_to_the_suite(task, suites):
    """Wherever the command is run from."""
    suites.write("data/q.jsonl", "{}\n")
    file = str(suites.root / "data/q.jsonl")
    assert task("", dataset="dataset: data/q.jsonl\n").dataset == f"file:{file}"
    assert task("", dataset="dataset: file:data/q.jsonl\n").dataset == f"file:{file}"
    assert task("", dataset="dataset_path: data/q.jsonl\n").dataset_path == file
    kwargs = "dataset_path: json\ndataset_kwargs: {data_files: {test: data/q.jsonl, x: no.jsonl}}\n"
    files = task("", dataset=kwargs).dataset_kwargs["data_files"]
    assert files == {"test": file, "x": "no.jsonl"}


def test_functions_are_looked_up_wherever_they_stand(task):
    """Prompts, documents, few-shot samples, filters, evaluators, classes."""
    config = task(
        """\
doc_to_text: !function utils.f
process_docs: !function utils.f
class: !function utils.Score
fewshot_config: {samples: !function utils.f}
evaluators: [!function utils.Score]
filter_list:
  - name: own
    filter:
      - function: !function utils.f
        width: 3
"""
    )
    assert config.doc_to_text("doc") == config.process_docs([]) == "f"
    assert config.fewshot_config["samples"]() == "f"
    assert config.task_class.__name__ == "Score"
    assert config.evaluators[0].name == "own"
    (step,) = config.filters[0].steps
    assert (step.function(""), step.params) == ("f", {"width": 3})


def test_filters_are_named_pipelines(task):
    """Several of them, each with its steps in order."""
    config = task(
        """\
filter_list:
  - name: strict
    filter:
      - function: regex
        regex_pattern: "#### (\\\\d+)"
      - function: take_first
  - name: loose
    filter: [{function: take_first}]
"""
    )
    assert [pipeline.name for pipeline in config.filters] == ["strict", "loose"]
    first = config.filters[0].steps[0]
    assert (first.function, first.params) == ("regex", {"regex_pattern": "#### (\\d+)"})


def test_their_own_filters_are_shown_one_response(task, suites):
    """A function of all responses to all documents, and a class with `apply`, work as they are."""
    suites.write(
        "mine.py",
        "def both(resps, docs):\n    return [[r.upper() for r in rs] for rs in resps]\n"
        "class Cut:\n    def __init__(self, n): self.n = n\n"
        "    def apply(self, resps, docs): return [[r[:self.n] for r in rs] for rs in resps]\n",
    )
    config = task(
        "filter_list:\n"
        "  - {name: a, filter: [{function: custom, filter_fn: !function mine.both}]}\n"
        "  - {name: b, filter: [{function: !function mine.Cut, n: 2}]}\n"
    )
    filters = [make_filter(one, config.origin) for one in config.filters]
    assert [one.apply(["word"], {}) for one in filters] == [["WORD"], ["wo"]]


def test_process_results_becomes_an_evaluator(task):
    """It is given the document and the response, as there; what is no number is left out."""
    assert isinstance(task("process_results: !function utils.f\n").evaluators[0], ProcessResults)
    scorer = ProcessResults(lambda doc, results: {"acc": results == [doc["answer"]], "why": "text"})
    assert scorer.score({"answer": "x"}, {"response": "x"}).scores == {"acc": 1.0}
    boxed = ProcessResults(lambda doc, results: {"acc": numpy.bool_(True), "n": numpy.int64(2)})
    assert boxed.score({}, {"response": "x"}).scores == {"acc": 1.0, "n": 2.0}
    with pytest.raises(MissingScoreError, match="no response"):
        scorer.score({}, {})
    with pytest.raises(MissingScoreError, match="measured nothing"):
        ProcessResults(lambda doc, results: {}).score({}, {"response": "x"})


def test_keys_without_a_meaning_are_told_once(suites):
    """They load, they change nothing, and every one says why, however many tasks have it."""
    lines = "".join(f"{key}: 1\n" for key in WITHOUT_MEANING)
    suites.tasks("a", "b", more=f"tag: t\n{lines}")
    selection = suites.load("t")
    assert len(selection.notes) == len(WITHOUT_MEANING)
    assert "should_decontaminate has no effect: nothing is decontaminated" in selection.notes
    assert not set(WITHOUT_MEANING) & set(TASK_KEYS)


def test_metrics_nothing_here_gives_are_told(task, suites):
    """So are likelihoods, which no system here returns."""
    task("output_type: loglikelihood\nmetric_list: [{metric: perplexity}, {metric: acc_norm}]\n")
    notes = " ".join(suites.load("t").notes)
    for said in ("output_type: loglikelihood", "metric_list: perplexity", "score acc is given"):
        assert said in notes
    assert EVALUATOR_OF_METRIC["acc"] is None


GSM8K = """\
dataset_name: main
dataset_path: gsm8k
doc_to_target: '{{answer.split(''####'')[-1].strip() if answer is defined else target}}'
doc_to_text: 'Q: {{question}}

  A:'
fewshot_config:
  sampler: first_n
  samples:
  - question: Two and two?
    target: The answer is 4.
filter_list:
- filter:
  - function: regex
    regex_pattern: The answer is (\\-?[0-9\\.\\,]+).
  - function: take_first
  name: strict-match
- filter:
  - function: regex
    group_select: -1
    regex_pattern: (-?[$0-9.,]{2,})|(-?[0-9]+)
  - function: take_first
  name: flexible-extract
generation_kwargs: {do_sample: false, until: ['Q:', </s>]}
tag:
- chain_of_thought
metadata:
  version: 3.0
metric_list:
- aggregation: mean
  higher_is_better: true
  ignore_case: true
  metric: exact_match
  regexes_to_ignore: [',', \\$]
num_fewshot: 8
output_type: generate_until
repeats: 1
task: t
test_split: test
training_split: null
should_decontaminate: true
"""


def test_a_task_as_it_is_written_there_loads_unchanged(suites):
    """The keys and forms of that harness's chain-of-thought task for grade-school mathematics."""
    suites.write("gsm8k.yaml", GSM8K)
    selection = suites.load("chain_of_thought")
    (leaf,) = selection.leaves()
    config = leaf.config
    assert (config.dataset_path, config.dataset_name, config.split) == ("gsm8k", "main", "test")
    assert (config.num_fewshot, config.fewshot_config["sampler"]) == (8, "first_n")
    assert [p.name for p in config.filters] == ["strict-match", "flexible-extract"]
    assert config.evaluators is None
    assert config.primary_score == "exact_match"
    assert config.harness["metric_list"][0]["regexes_to_ignore"] == [",", r"\$"]
    assert len(selection.notes) == 1


IGNORED = "regexes_to_ignore: ['the ', yell, YELL]"


@pytest.mark.parametrize(
    ("options", "mean"),
    [
        ("", 0.25),
        ("regexes_to_ignore: ['the ', yell], ignore_case: true, ignore_punctuation: true", 0.5),
        (f"{IGNORED}, ignore_case: true, ignore_punctuation: true", 0.75),
        (f"{IGNORED}, ignore_case: true, ignore_punctuation: true, ignore_numbers: true", 1.0),
    ],
)
def test_exact_match_ignores_what_its_options_say(task, options, mean):
    """The examples of the metric's documentation in Hugging Face evaluate."""
    config = task(f"metric_list: [{{metric: exact_match, {options}}}]\n")
    (scored,) = config.evaluators
    if not options:
        assert scored == "answer_quality"
        scored = ExactMatch()
    pairs = {"cat?": "the cat", "theater": "theater", "yelling": "YELLING", "agent": "agent007"}
    found = [
        scored.score({"answers": [a]}, {"response": r})["exact_match"] for r, a in pairs.items()
    ]
    assert sum(found) / 4 == mean
