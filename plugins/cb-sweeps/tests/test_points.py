"""One spec with several values is as many systems, and their records name the sweep."""

from __future__ import annotations

import pytest

from cb_sweeps.sweeps import Sweep, find_sweeps
from cbcore import evaluate, hookimpl
from cbcore.assembly import Benchmark
from cbcore.exceptions import SpecError, UsageError
from cbcore.plugins import default_catalog
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from cbcore.settings.run_file import read_run_file
from cbcore.specs import Spec

DATA = [{"id": i, "context": f"one two three four {i}.", "question": "?"} for i in range(3)]


def systems_of(*wanted, **settings):
    return compose(RunSettings(systems=list(wanted), datasets=[DATA], **settings)).systems


def names(*wanted):
    return [part.name for part in systems_of(*wanted)]


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("truncate:max_tokens=50..200/50", [50, 100, 150, 200]),
        ("truncate:max_tokens=50..190/50", [50, 100, 150]),
        ("truncate:max_tokens=1000..8000*2", [1000, 2000, 4000, 8000]),
        ("truncate:max_tokens=[10,30]", [10, 30]),
        ("truncate:max_tokens=10,30,10", [10, 30]),
        ("truncate:10..30/10", [10, 20, 30]),
        ("truncate:keep=[head,tail]", ["head", "tail"]),
    ],
)
def test_a_parameter_takes_several_values(spec, values):
    """A range by steps or by a factor, or a list, is one system for each value."""
    parts = systems_of(spec)
    assert [next(iter(p.record["sweep"]["values"].values())) for p in parts] == values
    assert [p.name for p in parts] == [f"truncate {value}" for value in values]


def test_fractions_stay_exact():
    """A tenth three times is 0.3 in names and values."""
    parts = systems_of(f"py:{__file__}:Shrunk,share=0.1..0.3/0.1")
    assert [p.record["sweep"]["values"]["share"] for p in parts] == [0.1, 0.2, 0.3]


class Shrunk:
    """A system whose parameter is a share."""

    def __init__(self, share: float, words: list[str] | None = None) -> None:
        self.share = share
        self.words = words
        self.name = "shrunk"

    def process(self, example):
        return {"context": example["context"][: int(self.share * 10)]}


def test_a_list_for_a_parameter_that_takes_lists_is_no_sweep():
    """What the parameter can hold as it is stays one value."""
    (part,) = systems_of(f"py:{__file__}:Shrunk,share=0.5,words=[a,b]")
    assert part.value.words == ["a", "b"]


OWN = """
def cut(example, share=0.5, keep="head", *, words: "int" = 3, stops=()):
    return {"context": example["context"][: int(share * 10)], "response": keep}
"""


@pytest.mark.parametrize(
    ("given", "called"),
    [
        ("share=0.2,0.6", ["cut 0.2", "cut 0.6"]),
        ("share=[0.2,1]", ["cut 0.2", "cut 1"]),
        ("keep=[head,tail]", ["cut head", "cut tail"]),
        ("words=3,4", ["cut 3", "cut 4"]),
        ("share=0.2..0.6/0.2", ["cut 0.2", "cut 0.4", "cut 0.6"]),
        ("stops=[a,b]", ["cut"]),
    ],
)
def test_own_functions_are_swept_by_what_their_defaults_are(tmp_path, given, called):
    """Nobody annotates a few lines; a default that is a list or nothing takes the list whole."""
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    result = evaluate(
        [f"py:{tmp_path}/own.py:cut:{given}"],
        [{"id": 1, "context": "c", "answer": "a"}],
        progress=False,
    )
    assert list(result.summary) == called


def test_several_parameters_make_a_grid():
    """Every combination is a system, the last parameter changing fastest."""
    assert names("truncate:keep=[head,tail],max_tokens=[10,20]") == [
        "truncate head 10",
        "truncate head 20",
        "truncate tail 10",
        "truncate tail 20",
    ]


def test_points_show_all_stages_if_two_sweeps_have_the_same_name():
    """The stage that differs tells them apart."""
    found = names("truncate:max_tokens=[5,6] | identity", "truncate:max_tokens=[5,6] | extractive")
    assert found == [
        "truncate 5 | identity",
        "truncate 6 | identity",
        "truncate 5 | extractive",
        "truncate 6 | extractive",
    ]


def test_a_point_says_how_its_sweep_was_asked_for():
    """One text, from which all points can be had again; a list of a run file is written out."""
    text = "truncate:max_tokens=100..300/100 | extractive"
    for wanted in (text, [Spec("truncate", None, {"keep": ["head", "tail"]})]):
        (spec,) = {part.record["sweep"]["spec"] for part in systems_of(wanted)}
        assert names(spec) == names(wanted)


def test_a_given_name_is_that_of_the_sweep():
    """`name=` on the last stage, and the value behind it."""
    assert names("truncate:max_tokens=[5,6] | extractive:name=mine") == ["mine 5", "mine 6"]


def test_the_name_of_the_swept_stage_is_that_of_the_sweep():
    """Where the reader has none."""
    assert names("truncate:max_tokens=[10,20],name=cut | extractive") == ["cut 10", "cut 20"]


def test_datasets_are_swept_too():
    """Each has rows under a tag of its own."""
    request = RunSettings(systems=["identity"], datasets=["needle:length=500..1000/500"])
    tags = [benchmark.name for benchmark in compose(request).benchmarks]
    assert tags == ["needle 500", "needle 1000"]


def test_run_files_hold_lists(tmp_path):
    """A list of YAML is a sweep, for systems and for datasets."""
    file = tmp_path / "run.yaml"
    file.write_text(
        "systems:\n  - truncate: {max_tokens: [5, 6]}\n"
        "datasets:\n  - needle: {length: [500, 600]}\n",
        encoding="utf-8",
    )
    run = compose(RunSettings(**read_run_file(file)))
    assert [part.name for part in run.systems] == ["truncate 5", "truncate 6"]
    assert len(run.benchmarks) == 2


@pytest.mark.parametrize("text", ["50..40/10", "50..100/0", "0..100*2", "10..100*1"])
def test_a_range_without_values_is_refused(text):
    """The message names the range and shows how one is written."""
    with pytest.raises(SpecError, match="has no values"):
        systems_of(f"truncate:max_tokens={text}")


@pytest.mark.parametrize("text", ["50..", "50..400", "50..400/", "50..400/x", "50..400+50"])
def test_a_range_without_a_step_is_refused(text):
    """With how it is written."""
    with pytest.raises(SpecError, match="without its step") as caught:
        systems_of(f"truncate:max_tokens={text}")
    assert "50..400/50" in str(caught.value.hint)


def test_a_sweep_without_end_is_refused():
    """A slip in a step must not start a hundred thousand systems."""
    with pytest.raises(UsageError, match="more than 1,000"):
        systems_of("truncate:max_tokens=1..100000/1")


def test_points_share_what_the_store_knows(tmp_path):
    """A point has the identity of the same system written by itself."""
    data = [{"id": 1, "context": "one two three", "question": "?", "answer": "one"}]
    settings = {"cache_dir": tmp_path, "progress": False}
    evaluate(["truncate:max_tokens=2 | extractive"], data, **settings)
    again = evaluate(["truncate:max_tokens=[2,3] | extractive"], data, **settings)
    assert [row.cached for row in again.rows] == [True, False]


class Counting:
    """A reader that counts what it is asked."""

    name = "counting"
    calls = 0

    def process(self, example):
        type(self).calls += 1
        return {"response": example["context"]}


@pytest.mark.parametrize(
    ("spec", "calls"),
    [
        # In front of what is swept, a stage gets the same input for every point.
        ("py:{file}:Counting | truncate:max_tokens=[2,4,6]", 3),
        # Behind it, where two points leave the same context: of 8 tokens, 20 and 40 keep all.
        ("truncate:max_tokens=[2,20,40] | py:{file}:Counting", 6),
    ],
)
def test_shared_work_is_done_once(spec, calls):
    """Stages in common work once for one input, and the rows are those of separate runs."""
    swept = spec.format(file=__file__)
    evaluate([swept], DATA, progress=False)  # imports the file
    from cbcore.usercode import import_attribute

    counted = import_attribute(f"{__file__}:Counting")
    counted.calls = 0
    together = evaluate([swept], DATA, progress=False)
    assert counted.calls == calls
    numbers = swept[swept.index("[") + 1 : swept.index("]")].split(",")
    alone = [
        row
        for number in numbers
        for row in evaluate(
            [swept[: swept.index("[")] + number + swept[swept.index("]") + 1 :]],
            DATA,
            progress=False,
        ).rows
    ]
    assert [r.response for r in together.rows] == [r.response for r in alone]
    assert [r.output_tokens for r in together.rows] == [r.output_tokens for r in alone]


def test_repeats_are_not_shared():
    """Asking again means asking again."""
    from cbcore.usercode import import_attribute

    spec = f"py:{__file__}:Counting | truncate:max_tokens=[2,4]"
    counted = import_attribute(f"{__file__}:Counting")
    counted.calls = 0
    evaluate([spec], DATA, progress=False, repeats=2)
    assert counted.calls == 12


def test_sweeps_are_read_from_records():
    """By ascending number; other values are part of the name, and one point is not a sweep."""

    def record(name, **values):
        return {"name": name, "sweep": {"name": "t", "values": values}}

    records = [
        record("t a 20", keep="a", n=20),
        record("t a 3", keep="a", n=3),
        record("t b 3", keep="b", n=3),
        record("t b 4", keep="b", n=4),
        record("t c 9", keep="c", n=9),
        {"name": "other"},
    ]
    assert find_sweeps(records) == [
        Sweep("t a", "n", ((3.0, "t a 3"), (20.0, "t a 20"))),
        Sweep("t b", "n", ((3.0, "t b 3"), (4.0, "t b 4"))),
    ]


def test_datasets_of_one_name_show_all_parameters():
    """Two swept datasets that would be called alike."""
    specs = ["needle:task=niah_single_1,length=[500,600]", "needle:task=vt,length=[500,600]"]
    settings = RunSettings(systems=["identity"], datasets=specs)
    assert [benchmark.name for benchmark in compose(settings).benchmarks] == [
        "needle:task=niah_single_1 500",
        "needle:task=niah_single_1 600",
        "needle:task=vt 500",
        "needle:task=vt 600",
    ]


def test_systems_of_other_flags_keep_their_place():
    """Points take the place of the system that they replace, in front of what follows it."""
    settings = RunSettings(
        systems=["truncate:max_tokens=[5,6]", "identity"],
        datasets=[DATA],
        plugin_options={"proxy": ["http://localhost:1"]},
        order=["systems", "proxy", "systems"],
    )
    names = [part.name for part in compose(settings).systems]
    assert names == ["truncate 5", "truncate 6", "localhost:1", "identity"]


def test_everything_that_is_missing_is_named_at_once():
    """A sweep of an unknown system does not hide the others."""
    with pytest.raises(UsageError, match="system 'nothere', system 'nowhere'"):
        systems_of("nothere:max_tokens=[5,6]", "nowhere")


def test_repeats_of_a_benchmark_that_a_plugin_adds_are_not_shared(monkeypatch):
    """Whatever the name of the plugin, and also if it asks to be the last."""
    from cbcore.usercode import import_attribute

    class Adds:
        @hookimpl(trylast=True)
        def cb_configure(self, settings):
            settings.datasets.append(Benchmark("added", DATA, repeats=3))

    catalog = default_catalog()
    hooks = catalog.new_hooks()
    hooks.register(Adds(), "zz-last")
    monkeypatch.setattr(catalog, "new_hooks", lambda: hooks)
    counted = import_attribute(f"{__file__}:Counting")
    counted.calls = 0
    spec = f"py:{__file__}:Counting | truncate:max_tokens=[2,4]"
    compose(RunSettings(systems=[spec], metrics=[]), catalog, warn=lambda text: None).run()
    assert counted.calls == 2 * 3 * len(DATA)
