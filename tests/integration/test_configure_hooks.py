"""Plugins that configure a run: flags of their own, data, systems, and a section of every report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cbcore import evaluate
from tests.conftest import Workplace
from tests.fake_distributions import write_distribution

OPTIONS = """
from cbcore.settings import Option

TESTS = Option(type=object, many=True, metavar="FILE",
               help="Tests of a file in the manner of promptfoo. Repeatable.")
MOST = Option(type=int, metavar="N", help="Tests of each file.", at_least=1)
"""
HOOKS = '''
import json

from cbcore.results import Section


class Contains:
    """Whether a response has the text that its test asks for."""

    name = "contains"
    emits = ("pass",)

    def score(self, example, output):
        return {"pass": float(example["wanted"] in output.get("response", ""))}


def cb_configure(settings, builder):
    files = settings.get("promptfoo") or ()
    if not files:
        return
    from cbcore.assembly import Benchmark

    evaluator = builder.share(builder.build("evaluator", Contains()))
    for file in files:
        with open(file) as opened:
            tests = json.load(opened)["tests"][: settings.get("promptfoo-most")]
        examples = [{"id": i, "question": t["ask"], "context": t["ask"], "wanted": t["want"]}
                    for i, t in enumerate(tests)]
        settings.datasets.append(
            Benchmark(file, examples, [evaluator], main_score="pass", required=False))
    builder.hooks.register(Tests(files))


class Tests:
    def __init__(self, files):
        self.files = files

    def cb_summarize(self, run, result):
        lines = []
        for file in self.files:
            values = {}
            for system, rows in result.rows_by_system().items():
                passed = [r.scores["pass"] for r in rows if r.dataset == file]
                values[system] = {"value": sum(passed) / len(passed), "stderr": None,
                                  "n": len(passed)}
            score = {"metric": "pass", "higher_is_better": True, "values": values}
            lines.append({"name": file, "key": file, "scores": [score]})
        result.problems.append("a remark of promptfoo")
        return Section("Promptfoo", lines, header="file", columns={})
'''
SYSTEM = """
class Echo:
    name = "echo"

    def process(self, example):
        return {**example, "response": example["question"]}
"""
ENTRY_POINTS = {
    "cb.plugins": {"promptfoo": "cb_promptfoo_hooks"},
    "cb.options": {"promptfoo": "cb_promptfoo:TESTS", "promptfoo-most": "cb_promptfoo:MOST"},
}
ECHO = ("--system", "py:./echo.py:Echo", "--tokenizer", "words", "--no-cache")


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    """A third party's plugin, a system, and a file of tests."""
    modules = {"cb_promptfoo.py": OPTIONS, "cb_promptfoo_hooks.py": HOOKS}
    write_distribution(workplace.site, "cb-promptfoo", ENTRY_POINTS, modules)
    workplace.write("echo.py", SYSTEM)
    tests = [{"ask": "say hi", "want": "hi"}, {"ask": "say hi", "want": "ho"}]
    workplace.write("tests.json", json.dumps({"tests": tests}))
    return workplace


def result_of(place: Workplace, *arguments: str) -> dict[str, Any]:
    done = place.cb("run", *arguments, "--output", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rewrite_hooks(place: Workplace, old: str, new: str) -> None:
    assert old in HOOKS
    (place.site / "cb_promptfoo_hooks.py").write_text(HOOKS.replace(old, new), encoding="utf-8")


def test_a_flag_adds_data_its_main_score_and_a_section(place: Workplace) -> None:
    """The result has the value of the flag, and what the plugin adds to its problems."""
    result = result_of(place, *ECHO, "--promptfoo", "tests.json")
    assert [row["scores"] for row in result["rows"]] == [{"pass": 1.0}, {"pass": 0.0}]
    (line,) = result["sections"]["promptfoo"]["lines"]
    assert line["scores"][0]["values"]["echo"] == {"value": 0.5, "stderr": None, "n": 2}
    config = result["config"]
    assert config["score_field"] == "pass"
    assert config["settings"]["promptfoo"] == ["tests.json"]
    assert "a remark of promptfoo" in result["problems"]


@pytest.mark.parametrize("reporter", ["table", "markdown", "html"])
def test_every_report_shows_the_section(place: Workplace, reporter: str) -> None:
    """With the headers that the plugin chose."""
    done = place.cb("run", *ECHO, "--promptfoo", "tests.json", "--output", reporter)
    assert done.returncode == 0, done.stderr
    for part in ("Promptfoo", "file", "tests.json", "0.5000"):
        assert part in done.stdout


def test_a_hook_reads_several_options(place: Workplace) -> None:
    """Each is checked as it is declared, and recorded."""
    result = result_of(place, *ECHO, "--promptfoo", "tests.json", "--promptfoo-most", "1")
    assert (len(result["rows"]), result["config"]["settings"]["promptfoo_most"]) == (1, 1)


@pytest.mark.parametrize("key", ["promptfoo", "promptfoos"])
def test_a_run_file_sets_the_options(place: Workplace, key: str) -> None:
    """By the name of the flag, or its plural; a list or one value."""
    place.write("bench.yaml", f"systems: py:./echo.py:Echo\n{key}: tests.json\npromptfoo_most: 1\n")
    result = result_of(place, "bench.yaml", "--tokenizer", "words", "--no-cache")
    assert len(result["rows"]) == 1


def test_python_sets_the_options() -> None:
    """As keywords, also with objects; an unknown keyword is refused with a suggestion."""

    class Remembers:
        name = "remembers"

        def reset(self) -> None: ...
        def ingest(self, items: Any) -> None: ...
        def query(self, question: str, budget: int | None = None) -> str:
            return "yes"

    settings: dict[str, Any] = {"max_examples": 1, "tokenizer": "words", "progress": False}
    result = evaluate([], "locomo:sample", memories=[Remembers(), "bm25"], **settings)
    assert [row.system for row in result.rows] == ["remembers", "bm25:k=10"]
    assert result.config["settings"]["memory"] == ["given in Python", "bm25"]
    with pytest.raises(TypeError, match="Did you mean 'memory'"):
        evaluate([], "locomo:sample", memoires=["bm25"])


def test_added_data_stands_next_to_datasets(place: Workplace) -> None:
    """Its main score is then not that of the run; its section stays."""
    place.write("own.jsonl", '{"question": "q", "answer": "q"}\n')
    result = result_of(
        place, *ECHO, "--dataset", "own.jsonl", "--promptfoo", "tests.json", "--score-field", "f1"
    )
    assert [row["dataset"] for row in result["rows"]] == ["own", *["tests.json"] * 2]
    assert "promptfoo" in result["sections"]


def test_help_shows_the_flags_with_their_plugin(place: Workplace) -> None:
    """As the options describe themselves."""
    shown = " ".join(place.cb("run", "--help").stdout.split())
    assert "--promptfoo FILE Tests of a file in the manner of promptfoo. Repeatable." in shown
    assert "--promptfoo-most N Tests of each file. (cb-promptfoo)" in shown


def test_options_are_imported_when_they_are_used(place: Workplace) -> None:
    """The flags are known from the entry points. A run without them needs only the hooks."""
    place.write("own.jsonl", '{"question": "q", "answer": "q"}\n')
    broken = place.site / "cb_promptfoo.py"
    broken.write_text("raise RuntimeError('imported')", encoding="utf-8")
    done = place.cb("run", *ECHO, "--dataset", "own.jsonl")
    assert done.returncode == 0, done.stderr
    assert "imported" not in done.stderr
    done = place.cb("run", *ECHO, "--promptfoo", "tests.json")
    assert (done.returncode, "RuntimeError: imported" in done.stderr) == (3, True)


MISTAKES = {
    "wrong type": (
        ("--promptfoo", "tests.json", "--promptfoo-most", "many"),
        "--promptfoo-most must be int, not 'many'",
    ),
    "out of bounds": (
        ("--promptfoo", "tests.json", "--promptfoo-most", "0"),
        "--promptfoo-most must be at least 1, not 0",
    ),
    "option twice": (
        ("--promptfoo", "tests.json", "--promptfoo-most", "1", "--promptfoo-most", "2"),
        "--promptfoo-most is given 2 times",
    ),
    "the same data twice": (
        ("--promptfoo", "tests.json", "--promptfoo", "tests.json"),
        "'tests.json' is asked for twice",
    ),
    "no data at all": ((), "a run needs data: --dataset"),
}


@pytest.mark.parametrize(("arguments", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_ends_in_one_clear_error(
    place: Workplace, arguments: tuple[str, ...], message: str
) -> None:
    """Before anything is run, with the exit code of wrong usage."""
    done = place.cb("run", *ECHO, *arguments)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr


def test_a_flag_of_a_plugin_that_is_left_out_is_refused(place: Workplace) -> None:
    """With the reason, and nothing of the plugin is imported."""
    (place.site / "cb_promptfoo.py").write_text("raise RuntimeError('imported')")
    done = place.cb("run", *ECHO, "--promptfoo", "tests.json", "--no-plugin", "cb-promptfoo")
    assert (done.returncode, "'cb-promptfoo'" in done.stderr) == (3, True), done.stderr
    assert "disabled" in done.stderr


def test_a_hook_that_fails_refuses_only_runs_that_ask_for_it(place: Workplace) -> None:
    """With the name of the plugin and its exit code; in other runs, with a warning."""
    place.write("own.jsonl", '{"question": "q", "answer": "q"}\n')
    rewrite_hooks(place, "def cb_configure(settings, builder):", "def cb_configure(settings):")
    done = place.cb("run", *ECHO, "--promptfoo", "tests.json")
    assert done.returncode == 3
    assert "plugin 'cb-promptfoo': cb_configure failed: NameError" in done.stderr
    rewrite_hooks(place, "    if not files:\n        return\n", "    files[0]\n")
    done = place.cb("run", *ECHO, "--dataset", "own.jsonl")
    assert done.returncode == 0
    assert "cb_configure of cb-promptfoo" in done.stderr
    assert "IndexError" in done.stderr


def test_a_run_is_configured_once(place: Workplace) -> None:
    """By each command that runs, `cb rescore` included; reading a run configures nothing."""
    place.write("own.jsonl", '{"question": "q", "answer": "q"}\n')
    body = "    print('configured')\n    if not files:\n        return\n"
    rewrite_hooks(place, "    if not files:\n        return\n", body)
    for command, n_times in (
        (("run", *ECHO[:-1], "--dataset", "own.jsonl"), 1),
        (("rescore", "latest", "--evaluator", "answer_quality"), 1),
        (("report", "--output", "r.json"), 0),
    ):
        done = place.cb(*command)
        assert done.stderr.count("configured") == n_times, (command, done.stderr)


def test_reading_a_run_imports_no_hook_module(place: Workplace) -> None:
    """They are for commands that run or show components."""
    place.write("own.jsonl", '{"question": "q", "answer": "q"}\n')
    assert "importing" in place.cb("run", "-v", *ECHO[:-1], "--dataset", "own.jsonl").stderr
    for command in (("report",), ("report", "-o", "r.json"), ("runs",), ("list-plugins",)):
        done = place.cb(command[0], "-v", *command[1:])
        assert (done.returncode, "importing" in done.stderr) == (0, False), command


def test_a_run_needs_no_table(place: Workplace) -> None:
    """It is a plugin like others: without any, other reports are written."""
    place.write("own.jsonl", '{"question": "q", "answer": "q"}\n')
    left_out = ("--no-plugin", "cbcore/table", "--no-plugin", "cb-reporters")
    done = place.cb("run", *ECHO, "--dataset", "own.jsonl", *left_out, "--output", "r.json")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert json.loads((place.folder / "r.json").read_text())["rows"]


def test_a_section_that_fails_costs_nothing_else(place: Workplace) -> None:
    """The rows are paid for: they are reported, and a warning has the reason."""
    rewrite_hooks(place, "        lines = []\n", "        raise KeyError('lost')\n")
    done = place.cb("run", *ECHO, "--promptfoo", "tests.json", "--output", "json")
    result = json.loads(done.stdout)
    assert (len(result["rows"]), result["sections"]) == (2, {})
    assert "KeyError: 'lost'" in done.stderr


def test_a_value_that_is_not_a_section_is_left_out(place: Workplace) -> None:
    """No report has to cope with it; the rows are shown as they are without it."""
    rewrite_hooks(place, "        lines = []\n", "        return 3\n")
    result = result_of(place, *ECHO, "--promptfoo", "tests.json")
    assert (len(result["rows"]), result["sections"]) == (2, {})
    assert any("cb_summarize returned a int" in problem for problem in result["problems"])


def test_a_result_names_the_plugins_of_its_options(place: Workplace) -> None:
    """With their versions, which made the numbers as well."""
    result = result_of(place, *ECHO, "--promptfoo", "tests.json", "--promptfoo-most", "1")
    records = [(o["name"], o["plugin"], o["version"]) for o in result["config"]["options"]]
    assert records == [
        ("promptfoo", "cb-promptfoo", "1.0"),
        ("promptfoo_most", "cb-promptfoo", "1.0"),
    ]
    place.write("result.json", json.dumps(result))
    told = place.cb("provenance", "result.json")
    assert told.returncode == 0, told.stderr
    assert "option promptfoo (cb-promptfoo 1.0)" in told.stdout


def test_info_shows_how_a_flag_is_used(place: Workplace) -> None:
    """It is not part of a spec."""
    assert "cb run --help" in place.cb("info", "promptfoo").stdout


KINDS = """
from cbcore.components import Kind
from cbcore.settings import Option

BOOK = Kind(
    name="riddle-book",
    offer="collections of riddles",
    target="It returns riddles.",
    problem=lambda value: None if isinstance(value, list) else "return a list",
)
PLAIN = Kind(name="plain", offer="anything", target="It returns anything.", is_named=False)
RIDDLE = Option(many=True, help="Book of riddles.")
"""
RIDDLES = """
def cb_configure(settings, builder):
    from cbcore.assembly import Benchmark

    for book in settings.get("riddle") or ():
        part = builder.build("riddle-book", book)
        builder.build("plain", "text")
        examples = [{"question": question} for question in part.value]
        settings.datasets.append(Benchmark(part.record["name"], examples, record=part.record))
"""
GRIMM = """
def grimm(most=2):
    "Old riddles."
    return ["Who?", "What?"][:most]


def torn():
    "No riddles."
    return "Who?"


def text():
    "A text."
    return "text"
"""


@pytest.fixture
def library(workplace: Workplace) -> Workplace:
    """A plugin with kinds of its own, and a package that offers components of them."""
    entry_points = {
        "cb.kinds": {"riddle-book": "cb_riddles:BOOK", "plain": "cb_riddles:PLAIN"},
        "cb.options": {"riddle": "cb_riddles:RIDDLE"},
        "cb.plugins": {"riddle": "cb_riddles_hooks"},
    }
    modules = {"cb_riddles.py": KINDS, "cb_riddles_hooks.py": RIDDLES}
    write_distribution(workplace.site, "cb-riddles", entry_points, modules)
    offers = {
        "cb.riddle-books": {"grimm": "cb_grimm:grimm", "torn": "cb_grimm:torn"},
        "cb.plains": {"text": "cb_grimm:text"},
    }
    write_distribution(workplace.site, "cb-grimm", offers, {"cb_grimm.py": GRIMM})
    workplace.write("echo.py", SYSTEM)
    return workplace


def test_a_hook_builds_components_of_a_kind_of_its_plugin(library: Workplace) -> None:
    """From specs; the result has their records."""
    done = library.cb("run", *ECHO, "--riddle", "grimm:most=1", "--output", "json")
    result = json.loads(done.stdout)
    assert [row["dataset"] for row in result["rows"]] == ["grimm"]
    (record,) = result["config"]["datasets"]
    assert (record["component"], record["plugin"]) == ("grimm", "cb-grimm")
    assert result["config"]["settings"]["riddle"] == ["grimm:most=1"]


def test_a_component_that_its_kind_refuses_is_the_fault_of_its_plugin(library: Workplace) -> None:
    """In a run, and by the kit."""
    done = library.cb("run", *ECHO, "--riddle", "torn")
    assert (done.returncode, "'cb-grimm'" in done.stderr) == (3, True), done.stderr
    assert "this riddle-book (str): return a list" in done.stderr
    checked = library.cb("plugins", "check", "cb-grimm").stdout
    assert "component-protocol torn" in checked
    assert "return a list" in checked
    assert "component-protocol text" not in checked


def test_a_flag_of_the_core_cannot_be_taken(workplace: Workplace) -> None:
    """Its meaning stays."""
    write_distribution(
        workplace.site,
        "cb-greedy",
        {"cb.options": {"dataset": "cb_greedy:X", "seed": "cb_greedy:X"}},
        {"cb_greedy.py": "raise RuntimeError('imported')"},
    )
    workplace.write("echo.py", SYSTEM)
    workplace.write("own.jsonl", '{"question": "q", "answer": "q"}\n')
    done = workplace.cb("run", *ECHO, "--dataset", "own.jsonl", "--seed", "1")
    assert done.returncode == 0, done.stderr


def test_the_core_does_not_know_plugins_by_name() -> None:
    """What the first-party packages offer is data; the code names none of them."""
    import cbcore

    naming = [
        path
        for path in Path(cbcore.__file__).parent.rglob("*.py")
        if "suite" in path.read_text(encoding="utf-8").lower()
    ]
    assert naming == []


CANNED = """
from cbcore.settings import Option

CANNED = Option(many=True, metavar="TEXT", help="Text that is every answer. Repeatable.")


class Answer:
    name = "always"

    def __init__(self, text):
        self.text = text

    def process(self, example):
        return {**example, "response": self.text}


def cb_configure(settings):
    texts = settings.get("canned") or ()
    if texts and not settings.systems:
        settings.score = "exact_match"
    settings.systems += [Answer(text) for text in texts]
"""


@pytest.fixture
def canned(workplace: Workplace) -> Workplace:
    """A third party's plugin that adds systems, and data for them."""
    entries = {"cb.options": {"canned": "cb_canned:CANNED"}, "cb.plugins": {"canned": "cb_canned"}}
    write_distribution(workplace.site, "cb-canned", entries, {"cb_canned.py": CANNED})
    workplace.write("own.jsonl", '{"question": "q", "answer": "yes"}\n')
    workplace.write("echo.py", SYSTEM)
    return workplace


RUN = ("--tokenizer", "words", "--no-cache", "--max-workers", "2")


def test_a_hook_adds_systems_and_sets_the_score(canned: Workplace) -> None:
    """They see the data of the run, which needs no other system. The record keeps what was asked."""
    result = result_of(canned, *RUN, "--canned", "yes", "--dataset", "own.jsonl")
    assert [(row["system"], row["response"]) for row in result["rows"]] == [("always", "yes")]
    config = result["config"]
    assert (config["score_field"], config["settings"]["score"]) == ("exact_match", None)
    assert [system["name"] for system in config["systems"]] == ["always"]
    others = ("--system", "py:./echo.py:Echo", "--dataset", "own.jsonl")
    result = result_of(canned, *RUN, "--canned", "yes", *others)
    assert {row["system"] for row in result["rows"]} == {"echo", "always"}
    assert result["config"]["score_field"] == "f1"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--canned", "yes"), "a run needs data: --dataset"),
        (("--canned", "yes", "--canned", "no", "--dataset", "own.jsonl"), "two systems are called"),
    ],
)
def test_added_systems_are_checked_like_others(
    canned: Workplace, arguments: tuple[str, ...], problem: str
) -> None:
    """Before anything runs."""
    done = canned.cb("run", *RUN, *arguments)
    assert done.returncode == 2
    assert problem in done.stderr


FILLING = """
from cbcore.settings import Option

LOUD = Option(type=bool, help="Answer in capitals.", fill=True)
TIMES = Option(name="repetitions", type=int, metavar="N", help="Say it N times.", at_least=1, fill=True)
"""
SHOUTING = """
class Shouting:
    name = "shouting"

    def __init__(self, loud: bool = False, repetitions: int = 1) -> None:
        self.loud, self.repetitions = loud, repetitions

    def process(self, example):
        text = example["question"].upper() if self.loud else example["question"]
        return {"response": " ".join([text] * self.repetitions)}
"""


@pytest.fixture
def filling(workplace: Workplace) -> Workplace:
    """A third party's options, and a system of somebody else that takes them."""
    options = {"loud": "cb_filling:LOUD", "times": "cb_filling:TIMES"}
    write_distribution(
        workplace.site, "cb-filling", {"cb.options": options}, {"cb_filling.py": FILLING}
    )
    workplace.write("shouting.py", SHOUTING)
    workplace.write("own.jsonl", '{"question": "q", "answer": "q"}\n')
    return workplace


@pytest.mark.parametrize(
    ("spec", "flags", "response"),
    [
        ("py:./shouting.py:Shouting", (), "q"),
        ("py:./shouting.py:Shouting", ("--loud",), "Q"),
        ("py:./shouting.py:Shouting", ("--loud", "--times", "2"), "Q Q"),
        ("py:./shouting.py:Shouting,loud=false", ("--loud", "--times=2"), "q q"),
    ],
)
def test_an_option_fills_parameters_of_its_name(
    filling: Workplace, spec: str, flags: tuple[str, ...], response: str
) -> None:
    """Of any component, unless its spec sets them; a bool is a flag without a value."""
    common = ("--dataset", "own.jsonl", "--tokenizer", "words", "--no-cache")
    result = result_of(filling, "--system", spec, *flags, *common)
    assert result["rows"][0]["response"] == response
    assert result["config"]["settings"].get("loud") is (True if "--loud" in flags else None)


def test_a_run_file_sets_an_option_that_fills(filling: Workplace) -> None:
    """By the name of its flag, checked like a flag."""
    bench = "systems: py:./shouting.py:Shouting\ndatasets: own.jsonl\nloud: true\ntimes: {}\n"
    filling.write("bench.yaml", bench.format(2))
    result = result_of(filling, "bench.yaml", "--tokenizer", "words", "--no-cache")
    assert result["rows"][0]["response"] == "Q Q"
    filling.write("bench.yaml", bench.format(0))
    done = filling.cb("run", "bench.yaml", "--tokenizer", "words", "--no-cache")
    assert (done.returncode, "--times must be at least 1, not 0" in done.stderr) == (2, True)


def test_an_option_that_two_plugins_declare_is_refused_where_it_is_given(
    filling: Workplace,
) -> None:
    """By flag or key, with both names. Help shows it once, and leaving out one plugin settles it."""
    entries = {"cb.options": {"loud": "cb_a_loud:LOUD"}}
    source = "from cbcore.settings import Option\nLOUD = Option(type=bool, help='Shout.')\n"
    write_distribution(filling.site, "cb-a-loud", entries, {"cb_a_loud.py": source})
    run = ("run", *ECHO[2:], "--system", "py:./shouting.py:Shouting", "--dataset", "own.jsonl")
    assert filling.cb(*run).returncode == 0
    assert filling.cb("run", "--help").stdout.count("--loud") == 1
    filling.write("bench.yaml", "loud: true\n")
    for given in ("--loud", "bench.yaml"):
        done = filling.cb(*run, given)
        assert done.returncode == 3, done.stderr
        assert "the option name 'loud' is claimed by cb-a-loud and cb-filling" in done.stderr
        assert "hint: disable one of them with --no-plugin" in done.stderr
        done = filling.cb(*run, given, "--no-plugin", "cb-a-loud", "-o", "json")
        assert json.loads(done.stdout)["rows"][0]["response"] == "Q"


def test_an_option_of_a_broken_plugin_names_the_plugin(filling: Workplace) -> None:
    """Only if its flag is used."""
    (filling.site / "cb_filling.py").write_text("raise RuntimeError('broken')", encoding="utf-8")
    run = ("run", *ECHO[2:], "--system", "py:./shouting.py:Shouting", "--dataset", "own.jsonl")
    assert filling.cb(*run).returncode == 0
    done = filling.cb(*run, "--times", "2")
    assert (done.returncode, "RuntimeError: broken" in done.stderr) == (3, True), done.stderr
