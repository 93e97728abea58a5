"""The parts the page is made of: reading examples, causes, families, samples, spreads."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_reporters.page.charts import Charts, families_of
from cb_reporters.page.distributions import Distribution, score_spreads
from cb_reporters.page.embedding import sample
from cb_reporters.page.index import ExampleIndex
from cb_reporters.page.reading import Reading, context_of
from cb_reporters.page.reproduce import commands_of, format_component, list_used
from cb_reporters.page.survey import Survey
from cb_reporters.view import View
from cbcore.results import EvalResult, EvalRow, Section

DOCUMENTS = [
    {"title": "A", "sentences": ["One.", " Two."]},
    {"title": "B", "sentences": ["Three."]},
]


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (None, {}),
        ({"question": "Q?", "answer": "A"}, {"question": "Q?", "gold": ["A"]}),
        ({"query": "Q?", "answers": ["A", "B", "A"]}, {"question": "Q?", "gold": ["A", "B"]}),
        ({"answer": 3, "label": True}, {"gold": ["3", "true"]}),
        ({"answers": {"text": ["A"], "answer_start": [1]}}, {"gold": ["A"]}),
        ({"question": "Q?", "context": "Q?"}, {"question": "Q?"}),
        ({"question": "Q?", "context": "C"}, {"question": "Q?", "context": "C"}),
        ({"contexts": ["C", "D"]}, {"context": "C\n\nD"}),
        (
            {"turns": [{"role": "user", "content": "Hi"}, "there"], "context": "Hi\n\nthere"},
            {"context": "Hi\n\nthere", "rest": {"turns": [{"role": "user", "content": "Hi"}, "there"]}},
        ),
        ({"evidence": ["E", "F"]}, {"evidence": ["E", "F"]}),
        (
            {"supporting_facts": [["A", 1], ["B", 9], ["C", 0], "x", ["A", "0"]], "documents": DOCUMENTS},
            {"evidence": ["Two."]},
        ),
        ({"id": 1, "level": "hard", "empty": ""}, {"rest": {"level": "hard"}}),
        ({"question": 3, "context": None, "answer": None}, {"rest": {"question": 3}}),
    ],
)  # fmt: skip
def test_what_is_what_in_an_example(example, expected):
    """Fields under their usual names; what has none is left for the rest."""
    found = Reading.of(example)
    empty = Reading()
    for name in ("question", "gold", "context", "evidence", "rest"):
        assert getattr(found, name) == expected.get(name, getattr(empty, name)), name


def test_a_new_context_that_repeats_the_question_is_one():
    """What matters is whether the example had a context of its own."""
    given_example = {"question": "Q?", "context": "A long text."}
    assert context_of({"question": "Q?", "context": "Q?"}, given_example) == "Q?"


def system(name, **params):
    return {"name": name, "component": "bm25", "params": params}


def test_systems_that_differ_in_one_number_are_a_family():
    """Three at least, the same in all else; a name is no difference."""
    records = [
        system("c", max_tokens=400, k1=1.5),
        system("a", max_tokens=100, k1=1.5),
        system("b", max_tokens=200, k1=1.5),
        system("d", max_tokens=100, k1=9.0),
        {"name": "e", "component": "tf-idf", "params": {"max_tokens": 300}},
    ]
    (family,) = families_of(records)
    assert (family.name, family.parameter) == ("bm25", "max_tokens")
    assert family.systems == ((100.0, "a"), (200.0, "b"), (400.0, "c"))


def test_a_family_of_chains():
    """Its name says which chain."""
    records = [
        {"name": str(n), "component": "chain", "stages": [system("x", max_tokens=n), {"component": "reader"}]}
        for n in (1, 2, 3)
    ]  # fmt: skip
    assert [family.name for family in families_of(records)] == ["bm25 | reader"]
    assert families_of(records[:2]) == []
    assert families_of([system(n, on=bool(n)) for n in range(4)]) == []


outcomes = st.one_of(st.none(), st.just("error"), st.sampled_from([0.0, 0.3, 0.9, 1.0]))


@given(st.lists(st.tuples(outcomes, outcomes), max_size=60), st.integers(0, 70))
def test_a_sample_has_some_of_every_outcome(found, most):
    """Never more than asked for; every outcome of every system, as far as there is room."""
    rows = []
    for system_number in range(2):
        for i, pair in enumerate(found):
            value = pair[system_number]
            failed = value == "error"
            scores = {} if failed or value is None else {"f1": value}
            rows.append(EvalRow(f"s{system_number}", i, scores, error="E" if failed else None))
    index = ExampleIndex.of(EvalResult(rows, config={"score_field": "f1"}))
    chosen = sample(index, most)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(most, len(found))
    strata = {(s, pair[s]) for pair in found for s in range(2)}
    if most >= len(strata):
        assert {(s, found[i][s]) for i in chosen for s in range(2)} == strata


@given(st.lists(st.floats(-1e6, 1e6), min_size=2))
def test_figures_are_those_of_the_standard_library(values):
    """Mean, median and standard deviation."""
    figures = dict(Distribution("s", sorted(values), 0).figures())
    assert figures["mean"] == pytest.approx(statistics.mean(values), abs=1e-6)
    assert figures["median"] == pytest.approx(statistics.median(values), abs=1e-6)
    assert figures["std"] == pytest.approx(statistics.stdev(values), abs=1e-6)
    assert (figures["min"], figures["max"]) == (min(values), max(values))


@given(st.lists(st.floats(0, 1), min_size=1))
def test_every_value_is_in_a_bin(values):
    """The bins of a score hold all values, those at the edges too."""
    rows = [EvalRow("s", i, {"f1": value}) for i, value in enumerate(values)]
    (spread,) = score_spreads(ExampleIndex.of(EvalResult(rows)))
    drawn = spread.drawn()
    assert sum(drawn["systems"][0]["counts"]) == len(values)
    assert (drawn["edges"][0], drawn["edges"][-1]) == (0.0, 1.0)


def test_values_that_no_axis_holds_are_not_drawn():
    """Their figures are still there."""
    rows = [EvalRow("s", i, {"f1": value}) for i, value in enumerate((-1.7e308, 1.7e308))]
    (spread,) = score_spreads(ExampleIndex.of(EvalResult(rows)))
    assert spread.drawn() is None
    assert dict(spread.systems[0].figures())["max"] == 1.7e308


def charts(result):
    return Charts.of(result, View.of(result), Survey.of(result))


def test_the_first_chart_needs_two_systems():
    """One point compares nothing."""
    one = {"mean_score": 0.5, "compression_ratio": 0.5}
    assert charts(EvalResult([], {"a": one})).axes == []
    drawn = charts(EvalResult([], {"a": one, "b": one}))
    assert [axis.key for axis in drawn.axes] == ["kept"]


def test_costs_are_an_axis_where_all_rows_tell_them():
    """A system one of whose rows does not is left out of it."""
    rows = [EvalRow(s, i, metadata={"cost_usd": 0.5 * i}) for s in "ab" for i in (1, 3)]
    rows += [EvalRow("c", 1, metadata={"cost_usd": 1.0}), EvalRow("c", 2)]
    summary = {name: {"mean_score": 0.5} for name in "abc"}
    drawn = charts(EvalResult(rows, summary))
    assert [point.costs for point in drawn.points] == [{"usd": (1.0, None, None)}] * 2 + [{}]


def section_line(name, metric, value, stderr=None, **told):
    told = {"s": {"value": value, "stderr": stderr, "n": 1, **told}}
    return {"name": name, "depth": 0, "scores": [{"metric": metric, "values": told}]}


def test_a_section_is_drawn_by_its_most_common_metric():
    """Without intervals, by its standard error to either side; what is no number is left out."""
    line = section_line
    lines = [line("a", "acc", 0.5, 0.1), line("b", "acc", 0.25), line("c", "f1", 1.0)]
    lines += [line("d", "acc", math.nan), {"name": "e", "reason": "left out"}]
    result = EvalResult([EvalRow("s", 1)], sections={"suite": Section("Suite", lines)})
    (group,) = charts(result).groups
    assert (group.metric, [(p.place, p.value[0]) for p in group.lines]) == (
        "acc",
        [("a", 0.5), ("b", 0.25)],
    )
    assert group.lines[0].value[1:] == pytest.approx((0.4, 0.6))
    assert not group.intervals


def test_a_section_is_drawn_with_its_intervals():
    """And no other lines beside them; what has no end has none, as where there is none."""
    lines = [
        section_line("a", "acc", 0.5, 0.1, interval=[0.25, 0.75]),
        section_line("b", "acc", 0.25, 0.1, interval=None),
        section_line("c", "acc", 0.75, 0.1, interval=[0.5, None]),
    ]
    result = EvalResult([EvalRow("s", 1)], sections={"suite": Section("Suite", lines)})
    (group,) = charts(result).groups
    assert [placed.value for placed in group.lines] == [
        (0.5, 0.25, 0.75),
        (0.25, None, None),
        (0.75, None, None),
    ]
    assert group.intervals


def test_a_line_with_several_means_of_a_metric_is_one_point():
    """The first; two points of one system in one place would say nothing."""
    scores = [
        {"metric": "acc", "aggregation": how, "values": {"s": {"value": value}}}
        for how, value in (("micro", 0.5), ("macro", 0.75))
    ]
    lines = [{"name": name, "depth": 0, "scores": scores} for name in ("a", "b")]
    result = EvalResult([EvalRow("s", 1)], sections={"suite": Section("Suite", lines)})
    (group,) = charts(result).groups
    assert [(p.place, p.value[0]) for p in group.lines] == [("a", 0.5), ("b", 0.5)]


def test_a_chain_is_spelt_out_with_every_parameter():
    """As one would ask for it; what is empty is left out."""
    stage = {"component": "bm25", "params": {"max_tokens": 150, "none": None, "many": ["a", "b"]}}
    chain = {"component": "chain", "stages": [stage, {"component": "extractive", "params": {}}]}
    assert format_component(chain) == "bm25:max_tokens=150,many=[a,b] | extractive"


def command_of(result):
    """The command of a result that is one run."""
    ((_, command),) = commands_of(result.config)
    return command


def config(**more):
    asked = {"name": "s", "component": "c", "spec": "truncate:max_tokens=5 | extractive:name=it's"}
    told = {"systems": [asked], "datasets": [{"name": "d", "spec": "hotpotqa:sample"}]}
    return {**told, "score_field": "f1", "settings": settings(), **more}


def settings(**more):
    return {"threshold": 0.7, "repeats": 1, "seed": 0, "score": None, **more}


def test_the_command_to_run_again():
    """Quoted for a shell, with the settings that do not go without saying."""
    command = command_of(EvalResult([], config=config(settings=settings(max_examples=9))))
    assert command.split(" \\\n  ") == [
        "cb run",
        "--system 'truncate:max_tokens=5 | extractive:name=it'\"'\"'s'",
        "--dataset hotpotqa:sample",
        "--seed 0",
        "--max-examples 9",
    ]


def test_every_setting_is_in_the_command():
    """Each by the flag that takes it, a mapping by its pairs, a share of rows as one."""
    told = {
        "fields": {"question": "q", "answer": "a"},
        "text_fields": ["context", "turns"],
        "unique_ids": True,
        "interleave": False,
        "max_errors": 0.05,
        "budget_usd": 2.5,
        "score": "f1",
        "allow_unsandboxed": True,
        "prices": "p.json",
    }
    command = command_of(EvalResult([], config=config(settings=told)))
    assert command.split(" \\\n  ")[3:] == [
        *("--field question=q", "--field answer=a", "--text-field context", "--text-field turns"),
        *("--unique-ids", "--max-errors 5%", "--budget-usd 2.5", "--score f1"),
        *("--allow-unsandboxed", "--prices p.json"),
    ]


def test_a_sweep_is_asked_for_as_it_was():
    """So that its points have their names and are one sweep again."""
    spec = "bm25:max_tokens=[50,100] | extractive"
    points = [
        {"name": f"bm25 {n}", "spec": f"bm25:max_tokens={n} | extractive",
         "sweep": {"name": "bm25", "values": {"max_tokens": n}, "spec": spec}}
        for n in (50, 100)
    ]  # fmt: skip
    command = command_of(EvalResult([], config=config(systems=points)))
    assert command.split(" \\\n  ")[:3] == [
        *("cb run", f"--system '{spec}'", "--dataset hotpotqa:sample")
    ]


def test_a_sweep_that_was_searched_is_searched_again():
    """By the command that can."""
    tag = {"name": "bm25", "values": {"max_tokens": 50}, "spec": "bm25:50..90/10", "n_points": 5}
    config_of_search = config(systems=[{"name": "bm25 50", "spec": "bm25:50", "sweep": tag}])
    command = command_of(EvalResult([], config=config_of_search)).split(" \\\n  ")
    assert command[0] == "cb sweep"
    assert "--adaptive" in command


def test_evaluators_that_joined_the_chosen_ones_do_not_replace_them():
    """Naming one alone would leave the others out."""
    evaluators = [{"name": "a", "component": "a"}, {"name": "j", "spec": "judge:model=m"}]
    command = command_of(EvalResult([], config=config(evaluators=evaluators)))
    assert command.split(" \\\n  ")[3:5] == ["--evaluator a", "--evaluator judge:model=m"]


def test_options_of_plugins_are_in_the_command():
    """They may be all that names the data."""
    asked = settings(suite=["mmlu", "bbh"], num_fewshot=0, include_path=None)
    told = config(options=[{"name": "suite"}, {"name": "num_fewshot"}], settings=asked)
    command = command_of(EvalResult([], config={**told, "datasets": [{"name": "anatomy"}]}))
    assert command.split(" \\\n  ")[3:6] == ["--suite mmlu", "--suite bbh", "--num-fewshot 0"]
    assert command_of(EvalResult([], config={**told, "datasets": [], "options": []})) is None


def test_an_option_may_name_the_systems():
    """A system without a spec stands in its value."""
    asked = settings(memory=["bm25:k=6 | extractive"], memory_gold_errors=["wrong.json"])
    options = [{"name": "memory"}, {"name": "memory_gold_errors"}]
    told = config(systems=[{"name": "m", "component": "bm25"}], options=options, settings=asked)
    command = command_of(EvalResult([], config=told))
    assert command.split(" \\\n  ")[1:] == [
        "--dataset hotpotqa:sample",
        "--seed 0",
        "--memory 'bm25:k=6 | extractive'",
        "--memory-gold-errors wrong.json",
    ]
    asked["memory"] = [{"full | bm25": {"name": "all, of it"}}, {"bm25": None}]
    command = command_of(EvalResult([], config=told))
    assert command.split(" \\\n  ")[3:5] == [
        """--memory 'full | bm25:name='"'"'all, of it'"'"''""",
        "--memory bm25",
    ]
    asked["memory"] = ["given in Python"]
    assert command_of(EvalResult([], config=told)) is None
    beside = {**told, "systems": [{"name": "own", "component": "mine.Own"}]}
    assert command_of(EvalResult([], config=beside)) is None


@pytest.mark.parametrize(
    "told", [{"systems": [{"name": "own"}]}, {"datasets": [{"name": "own"}]}, {"systems": []}]
)
def test_objects_of_a_program_have_no_command(told):
    """It would not be the same run."""
    assert command_of(EvalResult([], config=config(**told))) is None


def test_evaluators_that_took_no_part_are_not_named():
    """One that says what it gives, and of which no row has anything."""
    evaluators = [{"name": "a", "emits": ["f1"]}, {"name": "b", "emits": ["x"]}, {"name": "c"}]
    result = EvalResult([EvalRow("s", 1, {"f1": 1.0})], config={"evaluators": evaluators})
    assert [used["name"] for used in list_used(result, Survey.of(result).scores)] == ["a", "c"]


def test_what_gave_nothing_is_not_named():
    """A metric or an evaluator of which the result says so; one it says nothing of is believed."""
    told = {
        "evaluators": [{"name": "a", "idle": True}, {"name": "b"}],
        "metrics": [{"name": "c"}, {"name": "d", "idle": True}],
    }
    result = EvalResult([EvalRow("s", 1, {"f1": 1.0})], config=told)
    assert [used["name"] for used in list_used(result, {"f1"})] == ["b", "c"]


def test_the_plugins_of_options_are_named():
    """Their versions made the numbers as well."""
    option = {"name": "suite", "component": "suite", "plugin": "cb-suites", "version": "0.1.0"}
    (used,) = list_used(EvalResult([], config={"options": [option]}), set())
    found = used["kind"], used["component"], used["from"]
    assert found == ("option", "suite", "cb-suites 0.1.0")


def test_a_function_of_ones_own_is_spelt_as_it_is_asked_for():
    """With what it is given, and without the object that it is."""
    params = {"function": "functools.partial(<function cut>, share=0.3)", "share": 0.3}
    assert (
        format_component({"component": "py:./m.py:cut", "params": params})
        == "py:./m.py:cut:share=0.3"
    )


def test_runs_that_are_compared_have_a_command_each():
    """With the settings of its own; one for both would be a third run."""
    one = config(run_id="r1", settings=settings(max_examples=9, seed=1))
    other = config(run_id="r2", settings=settings(max_examples=None, seed=3))
    told = dict(commands_of({**one, "compared": [one, other]}))
    assert list(told) == ["r1", "r2"]
    assert "--max-examples 9" in told["r1"]
    assert "--seed 1" in told["r1"]
    assert "--seed 3" in told["r2"]
    assert "--max-examples" not in told["r2"]
