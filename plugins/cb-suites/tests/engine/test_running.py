"""Tasks in a run: their prompts, their scoring, their table."""

from __future__ import annotations

import asyncio
import json
import math

import pytest

from cb_suites.engine.model import (
    AggregateMetric,
    FilterPipeline,
    FilterStep,
    GroupNode,
    Leaf,
    Origin,
    Selection,
    TaskConfig,
)
from cbcore import evaluate
from cbcore.exceptions import ConfigError, RunStoppedError, UsageError
from cbcore.protocols import Cost
from cbcore.results import EvalResult
from cbcore.run.dry_run import plan_run
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from cbcore.stats import Measured

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
        for line in result.sections["suites"].lines
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


def test_a_task_says_what_the_context_is(data):
    """A system is given it beside the question; several texts become one."""
    documents = [{"docs": ["one", "two"], "q": "Where?", "answer": "Paris"}]
    system = Parrot()
    run(task("a", data("d", documents), doc_to_text="q", doc_to_context="docs"), systems=[system])
    assert (system.asked[0]["context"], system.asked[0]["question"]) == ("one\n\ntwo", "Where?")


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


@pytest.mark.parametrize("settings", [{"doc_to_text": "question"}, {"description": "Say.\n\n"}])
def test_a_context_that_is_only_the_question_stays_only_the_question(data, settings):
    """A document without a text of its own has none when it is asked for in another way."""
    documents = [{"context": "Where?", "question": "Where?", "answer": "Paris"}]
    system = Parrot()
    run(task("t", data("d", documents), **settings), systems=[system])
    (example,) = system.asked
    assert example["context"] == example["question"]


def test_a_bad_document_is_one_errored_row(tmp_path):
    """The documents behind it are asked; as worked examples they are needed as a whole."""
    (tmp_path / "some.py").write_text(
        "from cbcore import DataError\n"
        "good = {'question': 'q', 'answer': 'B'}\n"
        "documents = [good, DataError('row 1 has no question'), good]\n"
    )
    spec = f"py:{tmp_path}/some.py:documents"
    result = run(task("t", spec, doc_to_text="question"))
    assert [row.error for row in result.rows] == [None, "row 1 has no question", None]
    result = run(task("t", spec, doc_to_text="question", num_fewshot=1))
    assert result.rows == []
    assert "row 1 has no question" in "\n".join(result.problems)


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


def test_a_worked_example_that_cannot_be_read_is_told_as_such(data):
    """The document itself may be good."""
    documents = [quiz(1)[0], {**quiz(2)[1], "gold": 7}]
    result = run(task("t", data("d", documents), **ASKED, num_fewshot=1))
    assert result.rows[0].error is not None
    assert "one of its worked examples cannot be read" in result.rows[0].error


def test_a_document_that_is_the_only_example_has_none_and_the_others_go_on(data):
    """Splits that overlap cost the document they share, not the task."""
    files = {"test": data("test", quiz(3)), "train": data("train", quiz(3)[2:])}
    config = TaskConfig(
        name="t", alias="t", dataset_path="json", dataset_kwargs={"data_files": files},
        split="test", fewshot_split="train", num_fewshot=1, **ASKED,
    )  # fmt: skip
    result = run(Leaf("t", "t", config))
    assert [row.error is None for row in result.rows] == [True, True, False]
    assert "1 few-shot examples are asked for, and there are 0" in result.rows[2].error


def test_a_task_of_which_no_row_worked_says_why(data):
    """An empty line would look as if there was nothing to score."""
    good = task("good", data("good", quiz(2)), **ASKED)
    bad = task("bad", data("bad", [{"q": "q"}] * 2), **ASKED)
    first, second = run(good, bad).sections["suites"].lines
    assert (first["state"], second["state"]) == ("ran", "failed")
    assert second["reason"].startswith("every row errored; the first: ")
    assert "'opts', but the document has no such field" in second["reason"]


def test_quality_means_the_score_that_most_tasks_are_judged_by(data):
    """Not a score that a few of them happen to have too."""

    class Quality:
        name, emits = "quality", ("f1", "contains")

        def score(self, original, processed):
            return {"f1": 0.5, "contains": 1.0}

    path = data("d", quiz(1))
    read = [task(name, path, **ASKED) for name in "ab"]
    plain = task("c", path, evaluators=(Quality(),))
    primary = task("e", path, evaluators=(Quality(),), primary_score="contains")
    assert run(*read, plain).config["score_field"] == "acc"
    assert run(plain).config["score_field"] == "f1"
    assert run(primary).config["score_field"] == "contains"
    assert run(*read, score_field="acc").config["score_field"] == "acc"


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
    assert list(lines(result)["t"]) == [("acc", name) for name in ("first", "vote", "each")]
    assert [row.repeat for row in result.rows] == [0, 1, 2]
    assert {name for row in result.rows for name in row.scores} == {"acc", "acc,vote", "acc,each"}


class Judge:
    """An awaited evaluator that holds something open."""

    name = "judge"
    emits = ("liked",)
    identity = "judge"

    def __init__(self):
        self.closed = False
        self.calls = 0

    async def ascore(self, original, processed):
        self.calls += 1
        return {"liked": float(processed["response"] == "Paris")}

    async def aclose(self):
        self.closed = True


def test_an_awaited_evaluator_scores_a_vote_and_is_closed(data):
    """Behind a filter that votes as anywhere else."""
    filters = (FilterPipeline("vote", (FilterStep("majority_vote"),)),)
    judge = Judge()
    leaf = task("t", data("d", quiz(1)), **ASKED, filters=filters, repeats=3, evaluators=(judge,))
    result = run(leaf, systems=[Parrot("Paris", "Rome", "Paris")])
    assert lines(result)["t"]["liked", "vote"] == (1.0, 1)
    assert judge.closed


def test_a_vote_is_cached(data, tmp_path):
    """A second run calls neither the system nor the judge, and has the same rows."""
    vote = FilterPipeline("vote", (FilterStep("majority_vote"),))
    each = FilterPipeline("each", (FilterStep("strip"),))
    system, judge = Parrot("A", "B", "B"), Judge()
    leaf = task(
        "t", data("d", quiz(2)), **ASKED, filters=(vote, each), repeats=3, evaluators=(judge,)
    )
    first, second = (run(leaf, systems=[system], cache_dir=tmp_path / "store") for _ in range(2))
    assert (len(system.asked), judge.calls) == (6, 2 + 6)
    assert [row.scores for row in second.rows] == [row.scores for row in first.rows]
    assert second.sections["suites"].lines == first.sections["suites"].lines


def test_a_judge_behind_a_filter_needs_a_price_for_a_budget(data):
    """As without the filter."""

    class Unpriced(Judge):
        def max_cost(self, example):
            return Cost(usd=None)

    strip = FilterPipeline("strip", (FilterStep("strip"),))
    leaf = task("t", data("d", quiz(1)), **ASKED, filters=(strip,), evaluators=(Unpriced(),))
    with pytest.raises(UsageError, match="no price is known for 'judge'"):
        run(leaf, budget_usd=1.0)


class AwaitedParrot(Parrot):
    """As a parrot that is awaited, and answers later calls first."""

    async def aprocess(self, example):
        output = super().process(example)
        for _ in range(len(self._asked) % 3):
            await asyncio.sleep(0)
        return output


@pytest.mark.parametrize("kind", [Parrot, AwaitedParrot])
@pytest.mark.parametrize("max_workers", [1, 4])
@pytest.mark.parametrize("is_judged", [False, True])
def test_a_vote_and_a_budget_do_not_wait_for_each_other(data, kind, max_workers, is_judged):
    """Repeats wait for the last of them, which waits for the budget: not for their rows."""
    judges = [Judge(), Judge(), Judge()] if is_judged else [None] * 3
    vote = FilterPipeline("vote", (FilterStep("majority_vote"),))
    each = FilterPipeline("each", ())
    leaf = task("t", data("d", quiz(6)), **ASKED, filters=(vote, each), repeats=3)

    def start(judge, **options):
        evaluators = None if judge is None else [judge]
        options |= {"max_workers": max_workers, "evaluators": evaluators, "tokenizer": "words"}
        return run(leaf, systems=[kind("B")], **options)

    free = start(judges[0])
    within = start(judges[1], budget_tokens=10_000)
    assert lines(within) == lines(free)
    assert len(within.rows) == 18
    per_call = sum(row.output_tokens + row.response_tokens for row in free.rows) / 18
    with pytest.raises(RunStoppedError, match="could exceed the budget") as stopped:
        start(judges[2], budget_tokens=int(per_call * 7.5))
    assert all(judge.closed for judge in judges if judge)
    rows = stopped.value.result.rows  # the next call may cost twice as much as the others
    assert [(row.example_id, row.repeat) for row in rows] == [
        (row.example_id, row.repeat) for row in free.rows[:6]
    ]


def test_repeats_of_an_example_count_as_one(data):
    """The standard error goes over examples, whose repeats are no new evidence."""
    leaf = task("t", data("d", quiz(4)), **ASKED)
    once, thrice = run(leaf), run(leaf, repeats=3)
    of_one, of_three = (
        result.sections["suites"].lines[0]["scores"][0]["values"]["parrot"]
        for result in (once, thrice)
    )
    for key in ("value", "stderr", "n"):
        assert of_one[key] == pytest.approx(of_three[key])
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
    shown = [(line["alias"], line["depth"]) for line in result.sections["suites"].lines]
    assert shown == [("G", 0), ("g1", 1), ("a", 2), ("b", 2), ("g2", 1), ("a", 2), ("c", 2)]


def test_a_task_that_cannot_run_is_shown_and_breaks_no_other(data, tmp_path):
    """Neither one that is not to be had, nor one whose data fails under way."""
    good = task("good", data("d", quiz(2)), **ASKED)
    bad_file = tmp_path / "bad.jsonl"
    bad_file.write_text("no JSON at all", encoding="utf-8")
    members = (
        task("gone", "hotpotqaa", **ASKED),
        task("bad", str(bad_file), **ASKED),
        task("shots", data("e", quiz(2)), **ASKED, num_fewshot=9),
        good,
    )
    result = run(GroupNode("g", "g", "g", members, (AggregateMetric("acc"),)))
    states = {line["name"]: line["state"] for line in result.sections["suites"].lines}
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
    assert said.count("bad.jsonl") == 1
    assert "acc covers 1/4 tasks, not gone, bad, shots" in said


def test_a_task_that_a_stopped_system_did_not_reach_says_so(data):
    """The run itself reports why the system was stopped."""

    class Down(Parrot):
        def process(self, example):
            raise RuntimeError("the endpoint is down")

    tasks = [task(name, data(name, quiz(12)), **ASKED) for name in ("a", "b")]
    result = run(*tasks, systems=[Down()])
    first, second = result.sections["suites"].lines
    assert first["reason"] == "every row errored; the first: RuntimeError: the endpoint is down"
    assert (second["state"], second["reason"]) == (
        "failed",
        "not begun, since the run stopped parrot",
    )
    assert sum("parrot was stopped" in problem for problem in result.problems) == 1
    assert not any("not begun" in problem for problem in result.problems)


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
        (AggregateMetric("acc", aggregation=lambda values: math.nan), "the aggregation gave nan"),
    ],
)
def test_an_aggregate_that_says_nothing_says_why(data, metric, said):
    """A metric nobody reports, also without an explicit filter list (case 14)."""
    result = run(GroupNode("g", "g", "g", (task("t", data("d", quiz(2)), **ASKED),), (metric,)))
    assert said in "\n".join(result.problems)
    assert lines(result)["g"] == {}


def test_an_aggregate_under_other_filters_says_what_to_write(data):
    """Without a filter list a group takes what no filter changed, and says so where nothing is."""
    strict = FilterPipeline("strict", (FilterStep("lowercase"),))
    leaf = task("t", data("d", quiz(2)), **ASKED, filters=(strict,))
    result = run(GroupNode("g", "g", "g", (leaf,), (AggregateMetric("acc"),)))
    assert lines(result)["g"] == {}
    assert result.problems == [
        "group g: 'acc' is not reported under the filter none; write filter_list: [strict]"
    ]


class Refuses(Parrot):
    """Fails on the documents of one task."""

    def process(self, example):
        if "gold" not in example:
            raise ValueError("not me")
        return super().process(example)


def test_a_group_tells_for_which_system_a_number_leaves_tasks_out(data):
    """Two columns of one line that cover different tasks must not look comparable."""
    documents = [{"q": "q", "opts": CITIES, "answer": "Paris"}]
    members = (
        task("a", data("a", quiz(2)), **ASKED),
        task("b", data("b", documents), doc_to_text="q", doc_to_choice="opts"),
    )
    group = GroupNode("g", "g", "g", members, (AggregateMetric("acc"),))
    result = run(group, systems=[Parrot(), Refuses(name="refuses")])
    assert result.problems == ["group g: acc of refuses covers 1/2 tasks, not b"]
    alone = run(group, systems=[Refuses(name="refuses")])
    assert alone.problems[-1] == "group g: acc covers 1/2 tasks, not b"


def test_functions_of_a_group_are_told_apart_by_their_names(data):
    """Several of one metric are several numbers."""

    def gap(values):
        return max(values) - min(values)

    made = tuple(AggregateMetric("acc", aggregation=f) for f in (gap, "max"))
    result = run(GroupNode("g", "g", "g", (task("t", data("d", quiz(2)), **ASKED),), made))
    said = [score["aggregation"] for score in result.sections["suites"].lines[0]["scores"]]
    assert said == ["gap over leaves", "max over leaves"]


def test_suites_are_shown_in_the_order_they_were_asked_for(data, tmp_path):
    """By name, as a mapping or as they were loaded; anything else is an error."""
    (tmp_path / "b.yaml").write_text(f"task: b\ndataset: {data('b', quiz(1))}\n")
    wanted = [task("a", data("a", quiz(1)), **ASKED), "b", task("c", data("c", quiz(1)), **ASKED)]
    result = run(*wanted, {"task": "b", "limit": 1}, include_paths=[tmp_path])
    assert [line["name"] for line in result.sections["suites"].lines] == ["a", "b", "c", "b"]
    with pytest.raises(UsageError, match="a suite is a name, a mapping, or what SuiteManager"):
        run(3)


def test_a_group_without_aggregate_still_has_its_line(data):
    """With version, n-shot and alias; metadata may override the n-shot shown."""
    leaf = task("t", data("d", quiz(3)), **ASKED, num_fewshot=2)
    metadata = {"version": 1.0}
    result = run(
        GroupNode("g", "The G", "g", (leaf,), (), metadata),
        GroupNode("h", "h", "h", (leaf,), (), {"num_fewshot": 25}),
    )
    first, _, second, _ = result.sections["suites"].lines
    assert (first["alias"], first["version"], first["num_fewshot"]) == ("The G", "1.0", 2)
    assert first["scores"] == []
    assert second["num_fewshot"] == 25


def test_num_fewshot_of_the_run_goes_before_that_of_tasks(data):
    """A task that says 0 means it (as in lm-evaluation-harness)."""
    path = data("d", quiz(5))
    one, none = task("a", path, **ASKED, num_fewshot=1), task("b", path, **ASKED, num_fewshot=0)
    with pytest.raises(UsageError, match="num-fewshot must be at least 0, not -1"):
        run(one, num_fewshot=-1)
    result = run(one, none, num_fewshot=3)
    assert [line["num_fewshot"] for line in result.sections["suites"].lines] == [3, 0]


def test_tasks_that_it_makes_the_same_are_one(data):
    """They differed in nothing else, so that a group counts their examples once."""
    path = data("d", quiz(3))
    members = tuple(
        Leaf(f"g::{name}", f"g::{name}", task("a", path, **ASKED, num_fewshot=n).config, "a")
        for name, n in (("a", 1), ("a#2", 2))
    )
    system = Parrot()
    group = GroupNode("g", "g", "g", members, (AggregateMetric("acc"),))
    assert lines(run(group, systems=[system], num_fewshot=2))["g"]["acc", "none"][1] == 3
    assert len(system.asked) == 3


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


class Letters:
    """A task whose every metric is summed up in its own way."""

    VERSION = 3
    GOLD = ("x", "y", "y")

    def test_docs(self):
        return [{"q": str(i), "gold": gold} for i, gold in enumerate(self.GOLD)]

    def doc_to_text(self, doc):
        return doc["q"]

    def process_results(self, doc, results):
        right = float(results[0] == doc["gold"])
        return {"best": right, "acc": right, "pairs": (doc["gold"], results[0])}

    def aggregation(self):
        def mean(values):
            raise AssertionError("the mean is ours")

        return {"best": max, "acc": mean, "pairs": lambda pairs: sum(a == b for a, b in pairs)}

    def higher_is_better(self):
        return {"best": False, "pairs": True}


def class_task(cls, **settings):
    return Leaf("c", "c", TaskConfig(name="c", alias="c", task_class=cls, **settings))


def test_a_class_sums_its_metrics_up(data):
    """Its functions see what `process_results` gave for all documents, also what is no number."""
    result = run(class_task(Letters), systems=[Parrot("y")])
    found = lines(result)["c"]
    assert found["best", "none"] == (1.0, 3)
    assert found["pairs", "none"] == (2.0, 3)
    assert found["acc", "none"] == (pytest.approx(2 / 3), 3)
    assert result.problems == []


def test_a_number_of_a_class_has_no_error_unless_it_is_a_mean(data):
    """Nothing is known of how another function of the documents spreads."""
    (line,) = run(class_task(Letters), systems=[Parrot("y")]).sections["suites"].lines
    errors = {one["metric"]: one["values"]["parrot"]["stderr"] for one in line["scores"]}
    assert errors["best"] is None
    assert errors["pairs"] is None
    assert errors["acc"] == pytest.approx(1 / 3)


def test_a_class_says_its_version_and_which_way_is_better(data):
    """As its file would; where both say it, the file's word counts."""
    (line,) = run(class_task(Letters)).sections["suites"].lines
    better = {one["metric"]: one["higher_is_better"] for one in line["scores"]}
    assert (line["version"], better) == ("3", {"best": False, "acc": True, "pairs": True})
    (line,) = run(class_task(Letters, metadata={"version": 7})).sections["suites"].lines
    assert line["version"] == "7"


def test_an_aggregation_of_a_class_that_fails(data):
    """It is named with its reason; the other metrics stand."""

    class Broken(Letters):
        def aggregation(self):
            return {"pairs": lambda pairs: 1 / 0}

    result = run(class_task(Broken), systems=[Parrot("y")])
    assert ("pairs", "none") not in lines(result)["c"]
    assert result.problems == [
        "task c: the aggregation of pairs failed: ZeroDivisionError: division by zero"
    ]


def test_documents_that_process_results_fails_on_are_told(data):
    """They leave the mean, which nobody would see in the table."""

    class Strict(Letters):
        def process_results(self, doc, results):
            return {"acc": float(results[0] == {"y": "y"}[doc["gold"]])}

    result = run(class_task(Strict), systems=[Parrot("y")])
    assert lines(result)["c"]["acc", "none"] == (1.0, 2)
    assert result.problems == [
        "task c: 1 of 3 rows have no score of process_results: the evaluator failed: KeyError: 'x'"
    ]


def test_a_class_that_cannot_be_made_is_placed_once(data):
    """The file and the line stand before the reason, not twice."""

    class Wants:
        def __init__(self, more):
            self.more = more

    with pytest.raises(UsageError, match="missing 1 required positional argument") as caught:
        run(class_task(Wants, origin=Origin("t.yaml", 3)))
    assert caught.value.message.count("t.yaml:3") == 1


def test_results_of_a_class_are_summed_up_from_the_store_too(data, tmp_path):
    """What was no number is kept with the scores."""
    for _ in range(2):
        result = run(class_task(Letters), systems=[Parrot("y")], cache_dir=tmp_path)
        assert lines(result)["c"]["pairs", "none"] == (2.0, 3)


def test_shots_that_metadata_claim_are_shown(data):
    """Prompts that come with worked examples say how many."""
    leaf = task("t", data("d", quiz(2)), **ASKED, metadata={"num_fewshot": 3})
    (line,) = run(leaf).sections["suites"].lines
    assert line["num_fewshot"] == 3
    group = GroupNode("g", "g", "g", (leaf,))
    assert [line["num_fewshot"] for line in run(group).sections["suites"].lines] == [3, 3]


def test_process_docs_gets_documents_it_can_map_and_filter(data):
    """As the functions of lm-evaluation-harness tasks expect."""

    def process_docs(dataset):
        return dataset.filter(lambda doc: doc["extra"] > 0).map(lambda doc: {"q": doc["q"] + "!"})

    system = Parrot()
    run(task("t", data("d", quiz(3)), **ASKED, process_docs=process_docs), systems=[system])
    assert [example["q"] for example in system.asked] == ["q1!", "q2!"]


def test_evaluators_that_join_several_tasks_are_recorded_once(data):
    documents = [{"question": "q", "context": "c", "answer": "B"}]
    result = run(*(task(name, data(name, documents)) for name in "ab"))
    names = [record["name"] for record in result.config["evaluators"]]
    assert sorted(names) == sorted({*names, "answer_quality"})


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


class Same:
    """Whether two fields are equal; it says which it reads."""

    name = "same"
    emits = ("same",)
    reads = ("truth", "response")

    def score(self, original, processed):
        return {"same": float(original["truth"] == processed["response"])}


def test_a_task_may_map_columns_for_several_evaluators(data):
    """Each gets those it reads; a column that none reads is told, with what was meant."""

    class Long:
        name = "long"
        reads = ("size",)

        def score(self, original, processed):
            return {"long": float(original["size"])}

    documents = [{"question": "q", "meta": {"gold": "B", "n": 3}}]
    columns = {"truth_column": "meta.gold", "size": "meta.n", "respons": "x"}
    leaf = task("t", data("d", documents), evaluators=(Same(), Long()), columns=columns)
    request = RunSettings(systems=[Parrot()], plugin_options={"suite": [leaf]})
    warnings = []
    result = compose(request, warn=warnings.append).run()
    assert lines(result)["t"] == {("same", "none"): (1.0, 1), ("long", "none"): (3.0, 1)}
    assert warnings == [
        "given in Python: no evaluator of t reads the column 'respons': did you mean response?"
    ]


def test_evaluators_that_were_not_named_are_pointed_at_the_columns_too(data):
    """Those that apply by themselves, as far as they say what they read or need."""
    documents = [{"question": "q", "meta": {"gold": "B"}}]
    columns = {"answer": "meta.gold", "response": "processed.response"}
    result = run(task("t", data("d", documents), columns=columns))
    assert lines(result)["t"][("exact_match", "none")] == (1.0, 1)


def test_a_dry_run_tries_the_columns_of_a_task_behind_its_filters(data):
    """Also where repeats are scored together."""
    vote = FilterPipeline("vote", (FilterStep("majority_vote"),))
    for settings in ({}, {"repeats": 3}):
        leaf = task(
            "t",
            data("d", [{"question": "q", "meta": {"gold": "B"}}]),
            evaluators=(Same(),),
            columns={"truth": "meta.gld"},
            filters=(vote,),
            **settings,
        )
        composed = compose(RunSettings(systems=[Parrot()], plugin_options={"suite": [leaf]}))
        with pytest.raises(UsageError, match=r"truth_column='meta\.gld' .* did you mean 'gold'"):
            plan_run(composed)


def test_the_metrics_of_a_task_have_rows_of_their_own(data):
    """With their errors, where they are means; n counts examples, not repeats."""

    class Longest:
        name = "longest"

        def compute(self, rows):
            return {
                "longest": float(max(len(row.response) for row in rows)),
                "even": Measured.mean([row.example_id % 2 for row in rows], kind="rate"),
            }

    leaf = task("t", data("d", quiz(2)), **ASKED, metrics=(Longest(),), repeats=3)
    result = run(leaf)
    scores = {
        s["metric"]: s["values"]["parrot"] for s in result.sections["suites"].lines[0]["scores"]
    }
    assert scores["longest"] == {"value": 1.0, "stderr": None, "interval": None, "n": 2}
    assert (scores["even"]["stderr"], scores["even"]["n"]) == (0.5, 2)
    assert scores["even"]["interval"][0] < 0.5 < scores["even"]["interval"][1]


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
    with pytest.raises(UsageError, match="is asked for twice"):
        run(task("d", path, **ASKED), dataset=f"{path}:question_column=q")


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
    assert again.sections["suites"].lines == first.sections["suites"].lines


def test_several_systems_stand_side_by_side_and_survive_saving(data):
    """The table is plain data, the same after it was read back."""
    result = run(
        task("t", data("d", quiz(3)), **ASKED),
        systems=[Parrot("A", name="a"), Parrot("?", name="b")],
    )
    (score,) = result.sections["suites"].lines[0]["scores"]
    assert {name: v["value"] for name, v in score["values"].items()} == {
        "a": pytest.approx(1 / 3),
        "b": 0.0,
    }
    assert (
        EvalResult.from_json(result.to_json()).sections["suites"].lines
        == result.sections["suites"].lines
    )
    assert EvalResult.from_json('{"schema": 2, "rows": []}').sections == {}


def test_an_evaluator_is_stored_under_the_same_identity_in_a_suite_and_out_of_it(data):
    """Where no filter and no format stand before it: its version and parameters count in both."""
    path = data("d", quiz(1))
    common = {"systems": [Parrot()], "evaluators": ["answer_quality"]}
    plain = compose(RunSettings(datasets=[f"{path}:question_column=q"], **common))
    in_suite = compose(RunSettings(plugin_options={"suite": [task("t", path)]}, **common))
    keys = [run.find_key(run.benchmarks[0].evaluators[0]) for run in (plain, in_suite)]
    assert keys[0] == keys[1] is not None
