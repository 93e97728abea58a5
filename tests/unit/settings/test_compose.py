"""From a request to a run: what is made, what is refused, and what the run's record says."""

from __future__ import annotations

import pytest

from cbcore import binding
from cbcore.exceptions import UsageError
from cbcore.plugins import Catalog
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from cbcore.specs import Spec

DATA = [{"id": 1, "question": "Who?", "answer": "me"}]


class Says:
    """Answers the same to everything."""

    def __init__(self, name: str = "says") -> None:
        self.name = name

    def process(self, example):
        return {"response": "me"}


class Awaited:
    name = "awaited"

    async def aprocess(self, example):
        return {"response": "me"}


def composed(**asked):
    return compose(
        RunSettings(**{"systems": [Says()], "datasets": [DATA], "metrics": [], **asked}),
        warn=lambda text: None,
    )


def test_the_run_gets_frozen_settings():
    """A copy: those that were given may be used again, for another run."""
    given = RunSettings(systems=[Says()], datasets=[DATA], metrics=[], concurrency=3)
    settings = compose(given, warn=lambda text: None).settings
    assert settings.concurrency == 3
    with pytest.raises(UsageError, match="the settings of this run are fixed: seed cannot be"):
        settings.seed = 1
    assert isinstance(settings.systems, tuple)
    given.seed = 1
    assert (given.systems[0].name, settings.seed) == ("says", None)


def test_the_record_has_the_settings_from_before_plugins_changed_them():
    """Or a run that is resumed would get its judge twice."""
    judge = {"judge_url": "http://localhost:1", "judge_model": "m"}
    given = RunSettings(systems=[Says()], datasets=[DATA], metrics=[], plugin_options=judge)
    run = compose(given, warn=lambda text: None)
    assert [part["name"] for part in run.config["evaluators"]][-1] == "llm_judge"
    assert (given.added_evaluators, given.added_metrics) == ([], [])


def test_systems_and_proxies_keep_the_order_in_which_they_were_given():
    """As the command line or the run file has them."""
    run = composed(
        systems=[Says("first"), Says("third")],
        plugin_options={
            "proxy": ["http://localhost:1", "http://localhost:2"],
            "name": ["second", "fourth"],
            "model": ["m"],
        },
        order=["systems", "proxy", "systems", "proxy"],
    )
    assert [part.name for part in run.systems] == ["first", "second", "third", "fourth"]


def test_the_record_says_how_the_run_was_asked_for():
    """Limits and budgets too: a number depends on what ended the run."""
    run = composed(timeout_s=5, max_errors=3, budget_tokens=1000, fail_fast=True)
    config = run.config["settings"]
    assert (config["timeout_s"], config["max_errors"], config["budget_tokens"]) == (5.0, 3, 1000)
    assert (config["fail_fast"], config["seed"]) == (True, None)
    assert (config["repeats"], config["threshold"], config["budget_usd"]) == (1, 0.7, None)


def test_the_record_says_what_was_chosen_where_nothing_was_asked_for():
    """The main score and the tokenizer by the names they have in the end."""
    config = composed().config
    assert (config["score_field"], config["tokenizer"]) == ("f1", "o200k_base")
    assert [part["name"] for part in config["systems"]] == ["says"]


def test_components_are_offered_the_seed_and_the_permission(tmp_path):
    """Those with a parameter of that name; both only where they were asked for."""
    (tmp_path / "mine.py").write_text(
        "class Seeded:\n    name = 'seeded'\n"
        "    def __init__(self, seed=None, allow_unsandboxed=False):\n"
        "        self.said = (seed, allow_unsandboxed)\n"
        "    def process(self, example):\n        return {}\n"
    )
    spec = f"py:{tmp_path}/mine.py:Seeded"
    assert composed(systems=[spec]).systems[0].value.said == (None, False)
    (system,) = composed(systems=[spec], seed=3, plugin_options={"allow_unsandboxed": True}).systems
    assert system.value.said == (3, True)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"systems": []}, "at least one system"),
        ({"datasets": []}, "a run needs data: --dataset"),
        ({"systems": [Says(), Says()]}, "two systems are called 'says'"),
    ],
)
def test_what_cannot_be_run_is_refused(asked, message):
    """Before anything is called."""
    with pytest.raises(UsageError, match=message):
        composed(**asked)


def test_a_warning_is_told_once():
    """However often the run comes upon it."""
    told: list[str] = []
    run = compose(RunSettings(systems=[Says()], datasets=[DATA], metrics=[]), warn=told.append)
    run.warn("the same")
    run.warn("the same")
    assert told == ["the same"]


def test_a_component_is_bound_once(monkeypatch):
    """Its parameters are converted for making it, and the same are told in the result."""
    bound = []

    def counted(spec, target, **options):
        bound.append(spec.name)
        return bind(spec, target, **options)

    bind = binding.bind
    monkeypatch.setattr(binding, "bind", counted)
    run = composed(
        systems=["bm25:max_tokens=150 | extractive"],
        datasets=["hotpotqa:sample"],
        evaluators=["answer_quality", "hotpot_joint"],
        metrics=["mean_score:score_field=f1"],
    )
    asked = ["bm25", "extractive", "hotpotqa", "answer_quality", "hotpot_joint", "mean_score"]
    assert sorted(bound) == sorted([*asked, "o200k_base"])
    assert run.config["systems"][0]["stages"][0]["params"]["max_tokens"] == 150


def test_a_result_records_how_components_were_asked_for():
    """The spec of each, those of a chain's stages joined; nothing for what was chosen by itself."""
    run = composed(
        systems=["truncate:max_tokens=5,keep=tail | extractive:name=short", "identity", Says()],
        datasets=["hotpotqa:sample"],
        metrics=["mean_score:score_field=f1"],
    )
    specs = [system.get("spec") for system in run.config["systems"]]
    assert specs == ["truncate:max_tokens=5,keep=tail | extractive:name=short", "identity", None]
    assert [data["spec"] for data in run.config["datasets"]] == ["hotpotqa:sample"]
    assert [metric["spec"] for metric in run.config["metrics"]] == ["mean_score:score_field=f1"]
    assert not any("spec" in evaluator for evaluator in run.config["evaluators"])


def test_a_recorded_spec_has_no_secret():
    """A key that was written out is replaced."""
    run = composed(systems=["openai:http://localhost:1,model=m,api_key=sk-verysecret123"])
    assert "verysecret" not in run.config["systems"][0]["spec"]


def test_the_record_of_an_evaluator_says_what_it_emits():
    """So that a report can tell which evaluators had a part in the scores."""
    run = composed(evaluators=["answer_quality"])
    assert run.config["evaluators"][0]["emits"] == ["f1", "exact_match", "recall", "contains"]


def test_every_name_is_looked_up_and_every_spec_parsed_once(monkeypatch):
    """Also those of evaluators and metrics that are chosen automatically."""
    looked_up, parsed = [], []
    find, parse = Catalog.find, Spec.parse

    def find_and_note(self, kind, name):
        looked_up.append((kind, name))
        return find(self, kind, name)

    def parse_and_note(text):
        parsed.append(text.strip())
        return parse(text)

    monkeypatch.setattr(Catalog, "find", find_and_note)
    monkeypatch.setattr(Spec, "parse", staticmethod(parse_and_note))
    settings = RunSettings(
        systems=["bm25:max_tokens=150 | extractive"], datasets=["hotpotqa:sample"]
    )
    compose(settings, warn=lambda text: None)
    assert sorted(looked_up) == [
        ("dataset", "hotpotqa"),
        ("system", "bm25"),
        ("system", "extractive"),
        ("tokenizer", "o200k_base"),
    ]
    assert sorted(parsed) == ["bm25:max_tokens=150", "extractive", "hotpotqa:sample", "o200k_base"]
