"""`cb list-plugins`, `cb list` and `cb info`: what they print, for people and for machines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cbcore.components import KINDS
from tests.fake_distributions import Workplace, write_distribution, write_hooks

EVERYTHING = '''
import click
from cbcore import Component
from cbcore.settings import Option
from cbcore.components import Kind

class Letters:
    """Letters of the alphabet.

    More of them than shown here.
    """

    tasks = ("qa", "retrieval")
    configs = ("small", "large")

    def __init__(self, config: str = "small", *, n: int | None = None) -> None:
        self.n = n

    def __iter__(self):
        return iter(())

class Shorten:
    """Cut the context short."""

    name = "shorten"

    def __init__(self, max_tokens: int, side: str = "head", ratio: float = 0.5, **rest: object):
        self.max_tokens = max_tokens

    def process(self, example):
        return example

class Judge:
    """Say what it is worth."""

    name = "judge"
    applies_to = ("qa",)
    emits = ("worth", "doubt")

    def score(self, original, processed):
        return {"worth": 1.0, "doubt": 0.0}

class Total:
    """Add up."""

    name = "total"

    def __init__(self, score_field: str = "f1") -> None:
        self.score_field = score_field

    def compute(self, rows):
        return {}

class Verse:
    """Report in verse."""

    name = "verse"
    extension = "txt"

    def render(self, result):
        return "la la"

class Elsewhere(Verse):
    """Run elsewhere."""

class Syllables(Verse):
    """Count syllables."""

def concerto():
    """Three movements."""

def cb_systems():
    return [Component(kind="system", name="shorten", target="cb_everything:Shorten")]

ARIAS = Option(type=int, help="How many arias.")
MOVEMENT = Kind(name="movement", offer="movements", target="It is a movement.")

@click.command()
def sing():
    """Sing."""
'''

NAMES = {
    "dataset": "letters",
    "system": "shorten",
    "evaluator": "judge",
    "metric": "total",
    "reporter": "verse",
    "executor": "elsewhere",
    "suite": "concerto",
    "tokenizer": "syllables",
    "command": "sing",
    "option": "arias",
    "kind": "movement",
}


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    """A plugin that offers one component of every kind, the system by a hook."""
    write_distribution(
        workplace.site,
        "cb-everything",
        {
            "cb.plugins": {"everything": "cb_everything"},
            "cb.datasets": {"letters": "cb_everything:Letters"},
            "cb.executors": {"elsewhere": "cb_everything:Elsewhere"},
            "cb.tokenizers": {"syllables": "cb_everything:Syllables"},
            "cb.suites": {"concerto": "cb_everything:concerto"},
            "cb.evaluators": {"judge": "cb_everything:Judge"},
            "cb.metrics": {"total": "cb_everything:Total"},
            "cb.reporters": {"verse": "cb_everything:Verse"},
            "cb.commands": {"sing": "cb_everything:sing"},
            "cb.options": {"arias": "cb_everything:ARIAS"},
            "cb.kinds": {"movement": "cb_everything:MOVEMENT"},
        },
        {"cb_everything.py": EVERYTHING},
        version="3.1",
        summary="One of each",
    )
    return workplace


# -- cb list-plugins ---------------------------------------------------------------------------


def test_json_of_list_plugins(place: Workplace) -> None:
    """The shape is pinned: these keys, in this order, and kinds in the plural."""
    place.cb("list", "systems")
    everything = place.plugins("--only-plugin", "cb-everything")["cb-everything"]
    offered = {f"{kind}s": [name] for kind, name in sorted(NAMES.items()) if kind != "system"}
    assert list(everything.items()) == [
        ("name", "cb-everything"),
        ("version", "3.1"),
        ("status", "ok"),
        ("state", "ok"),
        ("reason", ""),
        ("remedy", ""),
        ("components", offered),
        ("summary", "One of each"),
        ("location", str(place.site)),
    ]


def test_json_of_list_plugins_for_what_does_not_work(place: Workplace) -> None:
    """The same keys whatever the state, and one of four words for it."""
    write_hooks(place.site, "cb-torn", "raise RuntimeError")
    write_hooks(place.site, "cb-off", "")
    place.cb("hooks", "--no-plugin", "cb-off")
    place.install("cb-raises-on-import")

    records = place.json("list-plugins", "--no-plugin", "cb-off")

    assert len({tuple(record) for record in records}) == 1
    statuses = {record["status"] for record in records}
    assert statuses == {"ok", "not loaded yet", "broken", "disabled"}
    off = next(record for record in records if record["name"] == "cb-off")
    assert (off["state"], off["components"]) == ("disabled", {})
    assert "--no-plugin" in off["reason"]
    assert off["remedy"]


def test_list_plugins_for_people(place: Workplace) -> None:
    """A header, a line for each plugin with what it offers, and nothing more when all is well."""
    done = place.cb("list-plugins", "--only-plugin", "cb-everything")

    lines = done.stdout.splitlines()
    assert lines[0].split() == ["PLUGIN", "VERSION", "STATUS", "OFFERS"]
    (line,) = [line for line in lines if line.startswith("cb-everything ")]
    assert line.split()[:5] == ["cb-everything", "3.1", "not", "loaded", "yet"]
    assert "datasets: letters;" in line
    assert "cb-metrics" in done.stdout
    assert "disabled" in done.stdout
    assert all(lines)
    assert done.stderr == ""


def test_long_lists_are_cut_for_people_only(workplace: Workplace) -> None:
    """Forty names are counted in the table and all there in the JSON."""
    entries = {"cb.datasets": {f"d{number:02}": "cb_forty:D" for number in range(40)}}
    write_distribution(workplace.site, "cb-forty", entries)

    assert "datasets: d00, d01, d02, d03, d04, d05, … (40)" in workplace.cb("list-plugins").stdout
    assert len(workplace.plugins()["cb-forty"]["components"]["datasets"]) == 40


def test_control_characters_of_a_plugin_do_not_reach_the_terminal(workplace: Workplace) -> None:
    """A summary or a reason cannot paint the screen."""
    write_hooks(workplace.site, "cb-painter", "raise RuntimeError('\\x1b[31mred\\x07')")
    workplace.cb("hooks")

    done = workplace.cb("list-plugins")

    assert "red" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout


# -- cb list -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", NAMES)
def test_list_of_one_kind(place: Workplace, kind: str) -> None:
    """Only that kind, for machines and for people, singular or plural."""
    records = place.json("list", f"{kind}s")

    assert {record["kind"] for record in records} == {kind}
    assert NAMES[kind] in {record["name"] for record in records}
    text = place.cb("list", kind).stdout.splitlines()
    assert text[0].split() == ["KIND", "NAME", "PLUGIN", "SUMMARY"]
    assert {line.split()[0] for line in text[1:]} == {kind}
    assert [kind, NAMES[kind], "cb-everything"] in [line.split()[:3] for line in text]


def test_json_of_list(place: Workplace) -> None:
    """The shape is pinned."""
    (record,) = [r for r in place.json("list", "datasets") if r["plugin"] == "cb-everything"]

    assert list(record.items()) == [
        ("kind", "dataset"),
        ("name", "letters"),
        ("plugin", "cb-everything"),
        ("version", "3.1"),
        ("summary", "Letters of the alphabet."),
        ("tasks", ["qa", "retrieval"]),
        ("configs", ["small", "large"]),
        ("applies_to", []),
        ("emits", []),
        ("status", "ok"),
    ]


def test_list_without_a_kind_has_all(place: Workplace) -> None:
    """Those of plugins come last, by name."""
    kinds = [record["kind"] for record in place.json("list")]

    brought = ["format", "memory", "suite"]
    assert list(dict.fromkeys(kinds)) == [*KINDS, *brought]


def test_list_shows_what_is_broken_and_hides_what_is_off(place: Workplace) -> None:
    """A broken plugin's components are marked; a disabled one's are left out."""
    place.install("cb-raises-on-import")

    records = place.json("list", "systems", "--no-plugin", "cb-everything")

    status = {record["name"]: record["status"] for record in records}
    assert status["raising"] == "broken"
    assert "shorten" not in status
    line = next(x for x in place.cb("list", "systems").stdout.splitlines() if "raising" in x)
    assert line.endswith("(broken)")


def test_list_of_nothing(workplace: Workplace) -> None:
    """An empty list for machines, a sentence on standard error for people."""
    assert workplace.json("list", "memories", "--only-plugin", "cbcore") == []
    done = workplace.cb("list", "memories", "--only-plugin", "cbcore")
    assert (done.returncode, done.stdout) == (0, "")
    assert "memor" in done.stderr


@pytest.mark.parametrize(
    ("flags", "remedy"),
    [
        (("--only-plugin", "cbcore"), "put it on that list to use it"),
        (("--no-plugin", "cb-suites"), "take it off that list to use it"),
    ],
)
@pytest.mark.parametrize("command", [("list", "tasks"), ("suite", "validate", "mine")])
def test_a_plugin_that_is_left_out_behind_its_command_runs_none(
    workplace: Workplace, command: tuple[str, ...], flags: tuple[str, ...], remedy: str
) -> None:
    """Wherever the flag stands, a plugin that may not be used contributes nothing."""
    (workplace.folder / "mine").mkdir()
    done = workplace.cb(*command, *flags)
    assert (done.returncode, done.stdout) == (3, "")
    assert "plugin 'cb-suites': offers the command" in done.stderr
    assert remedy in done.stderr


@pytest.mark.parametrize(
    ("word", "hint"),
    [("datsets", "did you mean datasets?"), ("zzz", "kinds: datasets, systems, evaluators")],
)
def test_unknown_kind(workplace: Workplace, word: str, hint: str) -> None:
    """A usage error that suggests."""
    done = workplace.cb("list", word)

    assert (done.returncode, done.stdout) == (2, "")
    assert repr(word) in done.stderr
    assert hint in done.stderr


# -- cb info -----------------------------------------------------------------------------------


def parameter(
    name: str, of_type: str, default: Any = None, *, required: bool = False
) -> dict[str, Any]:
    return {"name": name, "type": of_type, "required": required, "default": default}


SAMPLE = "cb run --system SYSTEM --dataset DATASET"
INFO: dict[str, dict[str, Any]] = {
    "letters": {
        "kind": "dataset",
        "name": "letters",
        "plugin": "cb-everything",
        "version": "3.1",
        "summary": "Letters of the alphabet.",
        "tasks": ["qa", "retrieval"],
        "configs": ["small", "large"],
        "applies_to": [],
        "emits": [],
        "parameters": [parameter("config", "str", "small"), parameter("n", "int | None")],
        "example": "cb run --system SYSTEM --dataset letters",
    },
    "shorten": {
        "kind": "system",
        "name": "shorten",
        "plugin": "cb-everything",
        "version": "3.1",
        "summary": "Cut the context short.",
        "tasks": [],
        "configs": [],
        "applies_to": [],
        "emits": [],
        "parameters": [
            parameter("max_tokens", "int", required=True),
            parameter("side", "str", "head"),
            parameter("ratio", "float", 0.5),
        ],
        "example": "cb run --system shorten:MAX_TOKENS --dataset DATASET",
    },
    "judge": {
        "kind": "evaluator",
        "name": "judge",
        "plugin": "cb-everything",
        "version": "3.1",
        "summary": "Say what it is worth.",
        "tasks": [],
        "configs": [],
        "applies_to": ["qa"],
        "emits": ["worth", "doubt"],
        "parameters": [],
        "example": f"{SAMPLE} --evaluator judge",
    },
    "total": {
        "kind": "metric",
        "name": "total",
        "plugin": "cb-everything",
        "version": "3.1",
        "summary": "Add up.",
        "tasks": [],
        "configs": [],
        "applies_to": [],
        "emits": [],
        "parameters": [parameter("score_field", "str", "f1")],
        "example": f"{SAMPLE} --metric total",
    },
    "verse": {
        "kind": "reporter",
        "name": "verse",
        "plugin": "cb-everything",
        "version": "3.1",
        "summary": "Report in verse.",
        "tasks": [],
        "configs": [],
        "applies_to": [],
        "emits": [],
        "parameters": [],
        "example": f"{SAMPLE} --output verse",
    },
}


@pytest.mark.parametrize("name", INFO)
def test_json_of_info(place: Workplace, name: str) -> None:
    """The shape and the order of keys are pinned."""
    record = place.json("info", name)

    assert record == INFO[name]
    assert list(record) == list(INFO[name])


TEXTS = {
    "letters": """\
letters (dataset)
  Letters of the alphabet.
  plugin      cb-everything 3.1
  tasks       qa, retrieval
  configs     small, large
  parameters  config  str, default 'small'
              n       int | None, default None
  example     cb run --system SYSTEM --dataset letters
""",
    "shorten": """\
shorten (system)
  Cut the context short.
  plugin      cb-everything 3.1
  parameters  max_tokens  int, required
              side        str, default 'head'
              ratio       float, default 0.5
  example     cb run --system shorten:MAX_TOKENS --dataset DATASET
""",
    "judge": f"""\
judge (evaluator)
  Say what it is worth.
  plugin      cb-everything 3.1
  applies_to  qa
  emits       worth, doubt
  joins       runs that name it with --evaluator, and runs on datasets of cb-everything
  parameters  none
  example     {SAMPLE} --evaluator judge
""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_info_for_people(place: Workplace, name: str) -> None:
    """Everything that is known, and no empty lines for what is not."""
    assert place.cb("info", name).stdout == TEXTS[name]


@pytest.mark.parametrize(
    ("kind", "example"),
    [
        ("executor", "cb list executors"),
        ("suite", "cb run --system identity --suite concerto"),
        ("kind", "cb list kinds"),
    ],
)
def test_example_of_a_kind_without_a_flag(place: Workplace, kind: str, example: str) -> None:
    """It is a command that exists, or one that the kind itself names."""
    assert place.json("info", NAMES[kind])["example"] == example


@pytest.mark.parametrize("name", ["letter", "cb-everything/letter"])
def test_info_of_an_unknown_name(place: Workplace, name: str) -> None:
    """A usage error that suggests a name, and a command that works."""
    done = place.cb("info", name)

    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean letters?" in done.stderr
    assert "`cb list` shows" in done.stderr


def test_info_of_an_unknown_name_of_a_kind(place: Workplace) -> None:
    """The kind narrows the suggestion."""
    done = place.cb("info", "--kind", "system", "shortn")

    assert done.returncode == 2
    assert "no system is called 'shortn'" in done.stderr
    assert "did you mean shorten?" in done.stderr


def test_info_of_a_name_two_plugins_have(workplace: Workplace) -> None:
    """The error names both; the full name works, and its example uses it."""
    workplace.install("cb-duplicate-name")

    assert workplace.cb("info", "answer_quality").returncode == 3
    record = workplace.json("info", "cb-duplicate-name/answer_quality")
    assert record["plugin"] == "cb-duplicate-name"
    assert record["example"].endswith("--evaluator cb-duplicate-name/answer_quality")


def test_info_of_a_name_two_kinds_have(workplace: Workplace) -> None:
    """All are shown; `--kind` picks one."""
    entries = {"cb.metrics": {"twin": "cb_twins:Twin"}, "cb.systems": {"twin": "cb_twins:Twin"}}
    write_distribution(
        workplace.site, "cb-twins", entries, {"cb_twins.py": "class Twin: 'One of two.'"}
    )

    assert [record["kind"] for record in workplace.json("info", "twin")] == ["system", "metric"]
    assert workplace.json("info", "twin", "--kind", "metrics")["kind"] == "metric"
    assert workplace.cb("info", "twin").stdout.count("One of two.") == 2


def test_info_says_how_a_dataset_is_scored(workplace: Workplace) -> None:
    """Its main score and how its publishers score it, where the class says so."""
    module = """class Riddles:
    'Riddles.'
    main_score = "wit"
    published = "Laughter per minute; here by wit."
"""
    entries = {"cb.datasets": {"riddles": "cb_riddles:Riddles"}}
    write_distribution(workplace.site, "cb-riddles", entries, {"cb_riddles.py": module})

    record = workplace.json("info", "riddles")
    assert (record["main_score"], record["published"][:8]) == ("wit", "Laughter")
    shown = workplace.cb("info", "riddles").stdout
    assert "  main_score  wit\n  published   Laughter per minute; here by wit.\n" in shown


def test_info_of_a_broken_component(workplace: Workplace) -> None:
    """The plugin is at fault, and the cause is told."""
    workplace.install("cb-raises-on-import")

    done = workplace.cb("info", "raising", "--json")

    assert (done.returncode, done.stdout) == (3, "")
    assert "the flux is out of order" in done.stderr


def test_info_is_json_although_the_plugin_prints(workplace: Workplace) -> None:
    """What it prints is on standard error."""
    workplace.install("cb-prints-on-import")

    done = workplace.cb("info", "printing", "--json")

    assert json.loads(done.stdout)["name"] == "printing"
    assert "the printing plugin says hello" in done.stderr
