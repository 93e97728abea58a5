"""What quality means: it follows from the command and its data, whatever else is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cbcore.exceptions import UsageError
from cbcore.plugins import Catalog, read_distributions
from cbcore.plugins.policy import PluginPolicy
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from tests.fake_distributions import SYSTEM, Workplace, write_distribution

EVALUATOR = """
class Evaluator:
    '''Counts words.'''

    name = {name!r}
    applies_to = {applies_to!r}
    automatic = True
    {emits}

    def score(self, original, processed):
        return {{{score!r}: 0.25}}
"""
EVERYTHING = ("qa", "summarization", "multiple-choice", "math", "retrieval")


class Says:
    name = "says"

    def process(self, example):
        return {"response": "Bern"}


class Data:
    """Two questions; what else it says of itself is up to the test."""

    name = "data"

    def __init__(self, **facts):
        vars(self).update(facts)

    def __iter__(self):
        yield {"id": 1, "question": "Which?", "context": "Bern.", "answer": "Bern"}
        yield {"id": 2, "question": "Which?", "context": "Basel.", "answer": "Basel"}


def install(
    site: Path,
    name: str,
    applies_to: tuple[str, ...] = EVERYTHING,
    *,
    score: str = "",
    declared: bool = True,
) -> None:
    """Write a plugin with one evaluator, which is called as its distribution without `cb-`."""
    score = score or name
    emits = f"emits = ({score!r},)" if declared else ""
    source = EVALUATOR.format(name=name, applies_to=applies_to, emits=emits, score=score)
    module = f"cb_{name}"
    write_distribution(
        site,
        f"cb-{name}",
        {"cb.evaluators": {name: f"{module}:Evaluator"}},
        {f"{module}.py": source},
    )


def catalog_of(site: Path, *first_party: str) -> Catalog:
    """The core, the plugins of a folder, and those of the environment that are named."""
    wanted = {"cbcore", *first_party}
    installed = [found for found in read_distributions() if found.name in wanted]
    return Catalog([*read_distributions([str(site)]), *installed], PluginPolicy())


def chosen(catalog: Catalog, *datasets: Any, warn: Any = None, **asked: Any) -> str:
    request = RunSettings(systems=[Says()], datasets=list(datasets), **asked)
    field: str = compose(request, catalog, warn=warn or (lambda text: None)).config["score_field"]
    return field


# -- installing --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dataset", "score"),
    [
        ("hotpotqa:sample", "f1"),
        ("mmlu:sample", "mc_accuracy"),
        ("gsm8k:sample", "math_equiv"),
        ("dialogsum:sample", "rouge_l_f1"),
        ("mine.jsonl", "f1"),
    ],
)
def test_an_installed_evaluator_adds_a_column_and_nothing_more(
    workplace: Workplace, dataset: str, score: str
) -> None:
    """Though it applies to the task, and its name comes before all others."""
    install(workplace.site, "aardvark", (*EVERYTHING, "*"))
    workplace.write(
        "mine.jsonl",
        '{"question": "Which?", "choices": ["Bern", "Basel"], "answer": "Bern", "context": "x"}\n',
    )
    workplace.write("says.py", SYSTEM.format(name="says"))
    done = workplace.cb("run", "-s", "py:./says.py:System", "-d", dataset, "-n", "2", "-o", "json")
    result = json.loads(done.stdout)
    assert result["config"]["score_field"] == score
    assert [row["scores"]["aardvark"] for row in result["rows"]] == [0.25] * len(result["rows"])


def test_a_suite_keeps_its_main_score_too(workplace: Workplace) -> None:
    """That of its tasks which name neither score nor evaluators."""
    install(workplace.site, "aardvark", (*EVERYTHING, "*"))
    workplace.write("mine.jsonl", '{"question": "Which?", "answer": "Bern", "context": "Bern."}\n')
    workplace.write("suite.yaml", "group: g\ntask:\n  - {task: t, dataset: mine.jsonl}\n")
    workplace.write("says.py", SYSTEM.format(name="says"))
    done = workplace.cb(
        *("run", "-s", "py:./says.py:System", "--suite", "g", "--include-path", "."),
        *("-o", "json"),
    )
    assert json.loads(done.stdout)["config"]["score_field"] == "f1", done.stderr


def test_a_score_name_belongs_to_who_declares_it(site):
    """One that emits `f1` without saying so is not taken for it, though it comes first."""
    install(site, "aardvark", ("*",), score="f1", declared=False)
    catalog = catalog_of(site, "cb-answerquality")
    request = RunSettings(systems=[Says()], datasets=[Data()], metrics=[])
    rows = compose(request, catalog).run().rows
    assert [row.scores["f1"] for row in rows] == [1.0, 0.0]
    assert [row.scores["aardvark.f1"] for row in rows] == [0.25, 0.25]


def test_two_that_declare_the_same_main_score_are_an_error(site):
    """Which of them came first is nothing a number may rest on."""
    install(site, "aardvark", ("*",), score="f1")
    catalog = catalog_of(site, "cb-answerquality")
    with pytest.raises(UsageError, match="'f1' is emitted by aardvark and answer_quality"):
        chosen(catalog, Data())
    assert chosen(catalog, Data(), score="exact_match") == "exact_match"
    assert chosen(catalog, Data(), evaluators=["answer_quality"]) == "f1"


# -- choosing ----------------------------------------------------------------------------------


def test_a_dataset_names_its_main_score(site):
    """As an attribute of the object; several datasets that agree mean it too."""
    install(site, "own")
    catalog = catalog_of(site, "cb-answerquality")
    data = Data(tasks=("qa",), main_score="own")
    assert chosen(catalog, data) == "own"
    assert chosen(catalog, data, Data(name="other", tasks=("qa",), main_score="own")) == "own"
    assert chosen(catalog, data, Data(name="other", tasks=("qa",))) == "f1"
    assert chosen(catalog, data, score="recall") == "recall"
    assert chosen(catalog, data, evaluators=["answer_quality", "own"]) == "f1"


def test_a_described_dataset_names_its_main_score(site):
    """In the hook that offers it, or on its class."""
    install(site, "own")
    source = """
from cbcore import Component

class Data:
    main_score = "own"
    tasks = ("qa",)

    def __iter__(self):
        yield {"id": 1, "context": "x", "answer": "x"}

def plain():
    return [{"id": 1, "context": "x", "answer": "x"}]

def cb_datasets():
    return [
        Component(kind="dataset", name="by-class", target=Data),
        Component(
            kind="dataset", name="by-hook", target=plain, tasks=("qa",), main_score="own"
        ),
    ]
"""
    write_distribution(site, "cb-data", {"cb.plugins": {"data": "cb_data"}}, {"cb_data.py": source})
    catalog = catalog_of(site, "cb-answerquality")
    for name in ("by-class", "by-hook"):
        assert chosen(catalog, name) == "own"
        assert catalog.find("dataset", name).describe().main_score == "own"


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (
            {"main_score": "mc_accuracy"},
            "data is judged by mc_accuracy, which no installed evaluator emits",
        ),
        (
            {"tasks": ("multiple-choice",)},
            "installed evaluators have no score for the task 'multiple-choice' of data",
        ),
    ],
)
def test_a_main_score_that_nobody_emits_is_told_before_the_run(site, facts, reason):
    """Quality is F1 then; installing the evaluator would change it, so it is said."""
    told: list[str] = []
    catalog = catalog_of(site, "cb-answerquality")
    assert chosen(catalog, Data(**facts), warn=told.append) == "f1"
    assert told == [f"{reason}: quality means f1 instead"]


def test_the_only_evaluator_that_names_the_task_gives_the_main_score(site):
    """One that scores every task does not count; two that name it leave F1, with a note."""
    install(site, "solver", ("riddles",))
    catalog = catalog_of(site, "cb-answerquality")
    assert chosen(catalog, Data(tasks=("riddles",))) == "solver"
    install(site, "guesser", ("riddles",))
    catalog = catalog_of(site, "cb-answerquality")
    told: list[str] = []
    assert chosen(catalog, Data(tasks=("riddles",)), warn=told.append) == "f1"
    (note,) = told
    assert "several scores (guesser, solver) for the task 'riddles' of data" in note


def test_the_only_evaluator_there_is_says_what_quality_means(site):
    """Of two, somebody has to choose: a third would come before them or not."""
    install(site, "beaver")
    catalog = catalog_of(site)
    assert chosen(catalog, Data(tasks=("qa",))) == "beaver"
    install(site, "badger", score="f1", declared=False)
    assert chosen(catalog_of(site), Data(tasks=("qa",))) == "beaver"
    install(site, "coyote")
    catalog = catalog_of(site, "cb-manage")
    with pytest.raises(UsageError, match="2 installed evaluators apply, and none emits f1") as e:
        chosen(catalog, Data(tasks=("qa",)))
    wanted = "cb install cb-answerquality, or --score, with one of beaver, coyote"
    assert e.value.hint == wanted, "it lacks a package, or looks for one in another catalog"
    assert chosen(catalog, Data(tasks=("qa",)), score="coyote") == "coyote"
    assert chosen(catalog, Data(tasks=("qa",)), evaluators=["coyote", "beaver"]) == "coyote"


def test_where_nothing_applies_the_user_is_told(site):
    """Before the run, and the score stays what it would be."""
    told: list[str] = []
    assert chosen(catalog_of(site), Data(), warn=told.append) == "f1"
    assert told == ["no installed evaluator applies to data: its rows will not be scored"]
