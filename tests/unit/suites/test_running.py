"""Tasks in a run: their prompts, their scoring, their table."""

from __future__ import annotations

import json

import pytest

from cbcore import evaluate
from cbcore.exceptions import ConfigError, UsageError
from cbcore.results import EvalResult
from cbcore.suites.model import (
    AggregateMetric,
    FilterPipeline,
    FilterStep,
    GroupNode,
    Leaf,
    Origin,
    Selection,
    TaskConfig,
)

CITIES = ["Rome", "Paris", "Oslo"]


class Parrot:
    """Answers what it is told to, example by example, and remembers what it was asked."""

    name = "parrot"

    def __init__(self, *responses, name="parrot"):
        self.responses = responses or ("B",)
        self.name = name
        self._asked = []

    @property
    def asked(self):
        return self._asked

    def process(self, example):
        self._asked.append(example)
        return {"response": self.responses[(len(self._asked) - 1) % len(self.responses)]}


@pytest.fixture
def data(tmp_path):
    """Writes documents to a file, and gives its path."""

    def write(name, documents):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
        return str(path)

    return write


def task(name, dataset, **settings):
    """A leaf on its own."""
    return Leaf(name, name, TaskConfig(name=name, alias=name, dataset=dataset, **settings))


def quiz(n):
    return [{"q": f"q{i}", "opts": CITIES, "gold": i % 3, "extra": i} for i in range(n)]


ASKED = {"doc_to_text": "q", "doc_to_choice": "opts", "doc_to_target": "gold"}


def run(*suites, systems=None, **options):
    return evaluate(systems or [Parrot()], suites=list(suites), progress=False, **options)


def lines(result):
    """path → {(metric, filter): (value, n)} of the first system."""
    system = result.systems[0]
    return {
        line["path"]: {
            (s["metric"], s["filter"]): (
                pytest.approx(s["values"][system]["value"]),
                s["values"][system]["n"],
            )
            for s in line["scores"]
        }
        for line in result.suites
    }


def test_a_task_asks_with_its_description_and_examples_and_keeps_its_fields(data):
    """The prompt is the question; choices and answers stand beside the document's own fields."""
    system = Parrot()
    settings = {**ASKED, "description": "Say.\n\n", "num_fewshot": 1}
    settings["fewshot_config"] = {"sampler": "first_n"}
    run(task("t", data("d", quiz(2)), **settings), systems=[system])
    assert system.asked[0]["question"] == (
        "Say.\n\nq1\nA. Rome\nB. Paris\nC. Oslo\nAnswer: B\n\n"
        "q0\nA. Rome\nB. Paris\nC. Oslo\nAnswer:"
    )
    assert system.asked[1] | {"question": ""} == {
        **quiz(2)[1],
        "question": "",
        "choices": CITIES,
        "answer": "Paris",
        "answers": ["Paris"],
    }


def test_documents_without_a_mapping_are_left_as_they_are(data):
    """A task may only name a dataset."""
    documents = [{"id": "x", "question": "q", "context": "c", "answer": "a"}]
    system = Parrot("a")
    run(task("t", data("d", documents)), systems=[system])
    assert system.asked == documents


def test_a_context_that_the_template_shows_is_not_given_twice(data):
    """It stays where the template does not show it."""
    documents = [{"context": "Paris is it.", "q": "Where?", "answer": "Paris"}]
    path, system = data("d", documents), Parrot()
    run(
        task("a", path, doc_to_text="{{context}}\n{{q}}"),
        task("b", path, doc_to_text="q"),
        systems=[system],
    )
    assert ["context" in example for example in system.asked] == [False, True]


def test_the_format_reads_the_answer_and_gives_acc(data):
    """Offline, with no evaluator installed for it; the reading is kept in the row."""
    result = run(task("t", data("d", quiz(3)), **ASKED), systems=[Parrot("B", "It is Paris", "?")])
    assert [row.scores["acc"] for row in result.rows] == [0.0, 1.0, 0.0]
    assert [row.metadata["read_answer"]["read"] for row in result.rows] == ["Paris", "Paris", "?"]
    assert result.config["score_field"] == "acc"


def test_what_cannot_be_read_of_a_document_is_that_rows_error(data):
    """The others go on, and nothing is counted as wrong."""
    documents = [{**quiz(1)[0], "gold": 7}, {"q": "no choices", "gold": 1}, quiz(2)[1]]
    result = run(task("t", data("d", documents), **ASKED))
    errors = [row.error for row in result.rows]
    assert "there are 3 choices" in errors[0]
    assert "'opts', but the document has no such field" in errors[1]
    assert errors[2] is None
    assert lines(result)["t"]["acc", "none"] == (1.0, 1)


def test_every_filter_has_its_row_and_repeats_vote(data):
    """The first filter's scores have plain names; a vote is one score per document."""
    filters = (
        FilterPipeline("first", (FilterStep("take_first"),)),
        FilterPipeline("vote", (FilterStep("lowercase"), FilterStep("majority_vote"))),
        FilterPipeline("each", ()),
    )
    leaf = task("t", data("d", quiz(2)[1:]), **ASKED, filters=filters, repeats=3)
    result = run(leaf, systems=[Parrot("Rome", "Paris", "PARIS")])
    assert lines(result)["t"] == {
        ("acc", "first"): (0.0, 1),
        ("acc", "vote"): (1.0, 1),
        ("acc", "each"): (2 / 3, 1),
    }
    assert [row.repeat for row in result.rows] == [0, 1, 2]
    assert {name for row in result.rows for name in row.scores} == {"acc", "acc,vote", "acc,each"}


def test_repeats_of_an_example_count_as_one(data):
    """The standard error goes over examples, whose repeats are no new evidence."""
    leaf = task("t", data("d", quiz(4)), **ASKED)
    once, thrice = run(leaf), run(leaf, repeats=3)
    assert once.suites == thrice.suites
    assert len(thrice.rows) == 12


def test_a_leaf_of_two_groups_runs_once_and_counts_once(data):
    """a 2/5, b 0/2, c 2/5 right: 4/12 over all."""
    a, c = (task(name, data(name, quiz(5)), **ASKED) for name in "ac")
    b = task("b", data("b", quiz(1) * 2), **ASKED)
    metric = (AggregateMetric("acc"),)
    parts = tuple(
        GroupNode(name, name, f"g::{name}", members, metric)
        for name, members in {"g1": (a, b), "g2": (a, c)}.items()
    )
    system = Parrot("B")
    result = run(GroupNode("g", "G", "g", parts, metric), systems=[system])
    assert len(system.asked) == 12
    assert lines(result)["g"]["acc", "none"] == (4 / 12, 12)
    shown = [(line["alias"], line["depth"]) for line in result.suites]
    assert shown == [("G", 0), ("g1", 1), ("a", 2), ("b", 2), ("g2", 1), ("a", 2), ("c", 2)]


def test_a_task_that_cannot_run_is_shown_and_breaks_no_other(data, tmp_path):
    """Neither one that is not to be had, nor one whose data fails under way."""
    good = task("good", data("d", quiz(2)), **ASKED)
    bad_file = tmp_path / "bad.jsonl"
    bad_file.write_text(json.dumps(quiz(1)[0]) + "\n{", encoding="utf-8")
    members = (
        task("gone", "hotpotqaa", **ASKED),
        task("bad", str(bad_file), **ASKED),
        task("shots", data("e", quiz(2)), **ASKED, num_fewshot=9),
        good,
    )
    result = run(GroupNode("g", "g", "g", members, (AggregateMetric("acc"),)))
    states = {line["name"]: line["state"] for line in result.suites}
    assert states == {
        "g": "ran",
        "gone": "unavailable",
        "bad": "failed",
        "shots": "failed",
        "good": "ran",
    }
    assert lines(result)["g"] == lines(result)["good"]
    said = "\n".join(result.problems)
    assert "no dataset is called 'hotpotqaa'" in said
    assert "acc covers 1/4 tasks, not gone, bad, shots" in said


def test_a_mistake_in_a_suite_file_ends_the_run_before_it_begins(data):
    """With its file and line, although another task could run."""
    path, system = data("d", quiz(2)), Parrot()
    wrong = task("bad", path, doc_to_text="{{q", origins={"doc_to_text": Origin("s.yaml", 4)})
    with pytest.raises(ConfigError, match=r"^s\.yaml:4: doc_to_text is not a valid template"):
        run(task("good", path, **ASKED), wrong, systems=[system])
    assert not system.asked


def test_when_no_task_can_run_that_is_an_error():
    """Nothing is spent on a run that could show nothing."""
    with pytest.raises(UsageError, match="none of the 1 tasks can run"):
        run(task("gone", "no-such-dataset", **ASKED))


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        (AggregateMetric("acx"), "no task reports 'acx'; did you mean acc?"),
        (AggregateMetric("acc", aggregation=lambda values: 1 / 0), "acc failed: ZeroDivisionError"),
    ],
)
def test_an_aggregate_that_says_nothing_says_why(data, metric, said):
    """A metric nobody reports, also without an explicit filter list (case 14)."""
    result = run(GroupNode("g", "g", "g", (task("t", data("d", quiz(2)), **ASKED),), (metric,)))
    assert said in "\n".join(result.problems)
    assert lines(result)["g"] == {}


def test_a_group_without_aggregate_still_has_its_line(data):
    """With version, n-shot and alias; metadata may override the n-shot shown."""
    leaf = task("t", data("d", quiz(3)), **ASKED, num_fewshot=2)
    metadata = {"version": 1.0}
    result = run(
        GroupNode("g", "The G", "g", (leaf,), (), metadata),
        GroupNode("h", "h", "h", (leaf,), (), {"num_fewshot": 25}),
    )
    first, _, second, _ = result.suites
    assert (first["alias"], first["version"], first["num_fewshot"]) == ("The G", "1.0", 2)
    assert first["scores"] == []
    assert second["num_fewshot"] == 25


def test_num_fewshot_of_the_run_goes_before_that_of_tasks(data):
    """A task that says 0 means it (as in lm-evaluation-harness)."""
    path = data("d", quiz(5))
    one, none = task("a", path, **ASKED, num_fewshot=1), task("b", path, **ASKED, num_fewshot=0)
    result = run(one, none, num_fewshot=3)
    assert [line["num_fewshot"] for line in result.suites] == [3, 0]


def test_limit_and_max_examples_both_hold(data):
    """The smaller one decides."""
    leaf = task("t", data("d", quiz(5)), **ASKED, limit=3)
    assert len(run(leaf).rows) == 3
    assert len(run(leaf, max_examples=2).rows) == 2


def test_a_class_can_be_a_task(data):
    """Its methods stand for what the task does not say; process_results scores."""

    class Qasper:
        def __init__(self, config):
            self.config = config

        def test_docs(self):
            return [{"q": "one"}, {"q": "two"}]

        def doc_to_text(self, doc):
            return f"{self.config['prefix']}: {doc['q']}"

        def process_results(self, doc, results):
            return {"hit": float(doc["q"] in results[0])}

    config = TaskConfig(name="c", alias="c", task_class=Qasper, settings={"prefix": "Q"})
    system = Parrot("one")
    result = run(Leaf("c", "c", config), systems=[system])
    assert [example["question"] for example in system.asked] == ["Q: one", "Q: two"]
    assert lines(result)["c"] == {("hit", "none"): (0.5, 2)}


def test_process_docs_gets_documents_it_can_map_and_filter(data):
    """As the functions of lm-evaluation-harness tasks expect."""

    def process_docs(dataset):
        return dataset.filter(lambda doc: doc["extra"] > 0).map(lambda doc: {"q": doc["q"] + "!"})

    system = Parrot()
    run(task("t", data("d", quiz(3)), **ASKED, process_docs=process_docs), systems=[system])
    assert [example["q"] for example in system.asked] == ["q1!", "q2!"]


def test_the_columns_of_a_task_point_its_evaluators_at_its_data(data):
    """Those that read the field."""

    class Near:
        name = "near"
        emits = ("near",)
        needs = ("truth",)

        def score(self, original, processed):
            return {"near": float(original["truth"] == processed["response"])}

    documents = [{"question": "q", "meta": {"gold": "B"}}]
    leaf = task("t", data("d", documents), evaluators=(Near(),), columns={"truth": "meta.gold"})
    assert lines(run(leaf))["t"] == {("near", "none"): (1.0, 1)}


def test_the_metrics_of_a_task_have_rows_of_their_own(data):
    """Numbers over its rows, which have no standard error."""

    class Longest:
        name = "longest"

        def compute(self, rows):
            return {"longest": float(max(len(row.response) for row in rows))}

    result = run(task("t", data("d", quiz(2)), **ASKED, metrics=(Longest(),)))
    scores = {s["metric"]: s["values"]["parrot"] for s in result.suites[0]["scores"]}
    assert scores["longest"] == {"value": 1.0, "stderr": None, "n": 2}


def test_data_files_are_named_as_in_lm_evaluation_harness(data):
    """`dataset_path: json` with `data_files`, one for each split."""
    kwargs = {"data_files": {"test": data("d", quiz(1)), "dev": data("e", quiz(3)[2:])}}
    config = TaskConfig(
        name="t", alias="t", dataset_path="json", dataset_kwargs=kwargs, split="test",
        fewshot_split="dev", num_fewshot=1, **ASKED,
    )  # fmt: skip
    system = Parrot()
    run(Leaf("t", "t", config), systems=[system])
    assert system.asked[0]["question"].startswith("q2\n")


def test_a_dataset_of_the_same_name_as_a_task_is_refused(data):
    """Their rows could not be told apart."""
    path = data("d", quiz(1))
    with pytest.raises(UsageError, match="both as a dataset and as a task"):
        run(task("d", path, **ASKED), dataset=path)


def test_a_second_run_asks_nothing_again(data, tmp_path):
    """Outputs and scores are stored for each task; another filter scores what is stored."""
    leaf, system = task("t", data("d", quiz(3)), **ASKED), Parrot()
    store = {"cache_dir": tmp_path / "store"}
    first = run(leaf, systems=[system], **store)
    filters = (FilterPipeline("upper", (FilterStep("uppercase"),)),)
    other = task("t", data("d", quiz(3)), **ASKED, filters=filters)
    again = run(Selection((leaf,)), systems=[system], **store)
    run(other, systems=[system], **store)
    assert len(system.asked) == 3
    assert again.suites == first.suites


def test_several_systems_stand_side_by_side_and_survive_saving(data):
    """The table is plain data, the same after it was read back."""
    result = run(
        task("t", data("d", quiz(3)), **ASKED),
        systems=[Parrot("A", name="a"), Parrot("?", name="b")],
    )
    (score,) = result.suites[0]["scores"]
    assert {name: v["value"] for name, v in score["values"].items()} == {
        "a": pytest.approx(1 / 3),
        "b": 0.0,
    }
    assert EvalResult.from_json(result.to_json()).suites == result.suites
    assert EvalResult.from_json('{"schema": 1, "rows": []}').suites == []
