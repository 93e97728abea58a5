"""A result says which of its evaluators and metrics gave nothing, and reports leave those out."""

from __future__ import annotations

import json

import pytest

from cb_compare.merging import merge
from cbcore import EvalResult, evaluate
from cbcore.results import Section
from cbcore.store.saved_runs import find_saved

SYSTEMS = ["identity | extractive:name=full", "truncate:max_tokens=5 | extractive:name=cut"]
EXAMPLES = [
    {
        "id": f"e{i}",
        "context": f"The weather is fine today. The number is {i}.",
        "question": "What is the number?",
        "answer": str(i),
    }
    for i in range(6)
]
SAMPLE = {"dataset": "hotpotqa:sample", "max_examples": 3}


class Gives:
    """A metric that gives what it is told to, to the systems it is told of."""

    def __init__(self, name, given, systems=("full", "cut")):
        self.name, self._given, self._systems = name, given, systems

    def compare(self, rows_by_system):
        return {name: self._given for name in rows_by_system if name in self._systems}


class Raises:
    name = "raises"

    def compute(self, rows):
        raise ValueError("no")


class Tells:
    """A metric that has a section, and no value."""

    name = "tells"

    def compute(self, rows):
        return {}

    def section(self, rows_by_system, config):
        return Section("Told", [{"name": "a line"}])


def scores_nothing(example, output):
    return {}


scores_nothing.emits = ("never",)


def fails(example, output):
    raise ValueError("cannot tell")


def ran(**settings):
    given = {"systems": SYSTEMS, "dataset": EXAMPLES, **settings}
    return evaluate(given.pop("systems"), given.pop("dataset"), progress=False, **given)


def active(result, kind="metrics"):
    return [record["name"] for record in result.config[kind] if not record.get("idle")]


def idle(result, kind="metrics"):
    return [record["name"] for record in result.config[kind] if record.get("idle")]


def test_a_metric_that_gave_nothing_is_idle():
    """One that has a value for any system, or a section, or that failed, is not."""
    metrics = [
        Gives("none", {}),
        Gives("some", {"some": 1.0}, systems=["cut"]),
        Gives("unknown", {"unknown": None}),
        Tells(),
        Raises(),
    ]
    result = ran(metrics=metrics)
    assert idle(result) == ["none"]
    assert active(result) == ["some", "unknown", "tells", "raises"]


def test_of_two_metrics_with_one_name_neither_is_idle_while_one_gives():
    """Nobody could tell which of the records it is."""
    assert idle(ran(metrics=[Gives("two", {}), Gives("two", {"two": 1.0})])) == []


def test_an_evaluator_that_gave_nothing_is_idle():
    """One that could only say why there is no score has taken part."""
    result = ran(evaluators=["answer_quality", scores_nothing, fails])
    assert idle(result, "evaluators") == ["scores_nothing"]
    assert active(result, "evaluators") == ["answer_quality", "fails"]


def test_what_is_chosen_by_itself_is_idle_where_the_data_has_nothing_for_it():
    """No dollars, no sweep, no reference contexts: neither metric nor evaluator of them."""
    result = ran(**SAMPLE)
    assert {"spending", "budget_curves"} <= set(idle(result))
    assert "mean_score" in active(result)
    assert "context_precision_ids" in idle(result, "evaluators")
    assert "answer_quality" in active(result, "evaluators")


def test_scores_from_the_store_are_given_too(tmp_path):
    """A second run asks nobody, and its evaluators took part."""
    runs = [ran(**SAMPLE, cache_dir=tmp_path) for _ in range(2)]
    assert all(row.cached for row in runs[1].rows)
    assert idle(runs[0], "evaluators") == idle(runs[1], "evaluators") != []


def data_in(folder):
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in EXAMPLES))
    return str(path)


def test_a_kept_run_and_a_saved_result_say_the_same(tmp_path):
    """As does one that is read again and filtered, whose sections are gone."""
    result = ran(**SAMPLE, cache_dir=tmp_path)
    result.save(tmp_path / "r.json")
    kept = find_saved("latest", tmp_path).result()
    read = EvalResult.load(tmp_path / "r.json")
    for kind in ("metrics", "evaluators"):
        assert idle(result, kind) == idle(kept, kind) == idle(read, kind) != []
    assert "loss_attribution" in active(read)
    assert set(idle(read.filter(system="cut"))) - set(idle(read)) == {"loss_attribution"}


def test_a_run_that_was_killed_says_it_too(tmp_path):
    """Its numbers are made anew, and what gave none is told apart."""
    ran(**SAMPLE, cache_dir=tmp_path)
    saved = find_saved("latest", tmp_path)
    saved.recorded_state = "running"
    partial = saved.result()
    assert partial.config["state"] != "finished"
    assert "spending" in idle(partial)
    assert "mean_score" in active(partial)


def test_a_filter_makes_idle_metrics_again():
    """They stay in the record: with other rows they may give something."""
    result = ran(metrics=[Gives("of_one", {"n": 1.0}, systems=["full"])])
    assert idle(result) == []
    of_cut = result.filter(system="cut")
    assert idle(of_cut) == ["of_one"]
    assert idle(EvalResult.from_json(of_cut.to_json())) == ["of_one"]


def test_a_result_of_before_names_all_of_its_parts(tmp_path):
    """What it does not say of them is not made up."""
    told = json.loads(ran().to_json())
    for kind in ("metrics", "evaluators"):
        for record in told["config"][kind]:
            record.pop("idle", None)
    read = EvalResult.from_json(json.dumps(told))
    assert idle(read) == idle(read, "evaluators") == []
    assert "spending" in render_of(read)


@pytest.mark.parametrize("saved", [False, True], ids=["kept", "saved"])
def test_what_scored_one_shard_took_part_in_the_whole(tmp_path, saved):
    """Only what gave nothing to any shard is idle, whatever the shards are joined from."""

    def scores_the_last(example, output):
        return {"last": 1.0} if example["id"] == "e5" else {}

    evaluators = ["answer_quality", scores_nothing, scores_the_last]
    shards = [
        ran(dataset=data_in(tmp_path), evaluators=evaluators, shard=f"{n}/2", cache_dir=tmp_path)
        for n in (1, 2)
    ]
    assert sorted(len(idle(shard, "evaluators")) for shard in shards) == [1, 2]
    names = [shard.config["run_id"] for shard in shards]
    if saved:
        names = [str(tmp_path / f"{name}.json") for name in names]
        for shard, name in zip(shards, names, strict=True):
            shard.save(name)
    merged = merge(names, cache_dir=tmp_path)
    assert idle(merged, "evaluators") == ["scores_nothing"]
    assert "spending" in idle(merged)
    assert "mean_score" in active(merged)


def render_of(result):
    """The end of the page: how it came about."""
    return result.to_html().partition("<h2>Reproduce</h2>")[2].partition("</main>")[0]


def test_the_page_names_nothing_that_took_no_part():
    """Neither among the components nor in the command, which chooses them again by itself."""
    reproduce = render_of(ran(**SAMPLE))
    for name in ("spending", "budget_curves", "achieved_budget", "context_precision_ids"):
        assert name not in reproduce
    for name in ("mean_score", "loss_attribution", "answer_quality"):
        assert name in reproduce
    assert "--metric" not in reproduce
