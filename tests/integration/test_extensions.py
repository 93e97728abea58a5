"""Extensions: a plugin brings a flag, data with its scorers, and a section to every report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cb_testing import FakeEvaluator, FakeSystem
from cbcore import evaluate
from cbcore.exceptions import UsageError
from cbcore.extensions import Contribution, Scorer, Source
from tests.conftest import Workplace
from tests.fake_distributions import write_distribution

PROMPTFOO = '''
import json

from cbcore.extensions import INTEGER, Contribution, Option, Scorer, Section, Source

MOST = Option(name="most", kind=INTEGER, metavar="N", help="Tests of each file.", least=1)


class Contains:
    """Whether a response has the text that its test asks for."""

    name = "contains"
    emits = ("pass",)

    def score(self, example, output):
        return {"pass": float(example["wanted"] in output.get("response", ""))}


class Promptfoo:
    """Tests of a file in the manner of promptfoo. Repeatable."""

    name = "promptfoo"
    metavar = "FILE"

    def __init__(self, files, most=None):
        self.files, self.most = files, most

    def set_up(self, setup):
        scorer = Scorer.of(setup.shared(setup.build("evaluator", Contains())))
        sources = []
        for file in self.files:
            with open(file) as opened:
                tests = json.load(opened)["tests"][: self.most]
            examples = [{"id": i, "question": t["ask"], "context": t["ask"], "wanted": t["want"]}
                        for i, t in enumerate(tests)]
            sources.append(Source(file, examples, [scorer], contained=True))
        return Tests(sources, datasets=[{"name": s.tag} for s in sources], main_score="pass")


class Tests(Contribution):
    def section(self, rows, failures):
        lines = []
        for source in self.sources:
            values = {}
            for system, of_system in rows.items():
                passed = [r.scores["pass"] for r in of_system if r.dataset == source.tag]
                values[system] = {"value": sum(passed) / len(passed), "stderr": None,
                                  "n": len(passed)}
            score = {"metric": "pass", "higher_is_better": True, "values": values}
            lines.append({"name": source.tag, "key": source.tag, "scores": [score]})
        return Section("Promptfoo", lines, header="file", columns={}), ["a remark of promptfoo"]
'''
SYSTEM = """
class Echo:
    name = "echo"

    def process(self, example):
        return {**example, "response": example["question"]}
"""
ENTRY_POINTS = {
    "cb.extensions": {"promptfoo": "cb_promptfoo:Promptfoo"},
    "cb.options": {"promptfoo-most": "cb_promptfoo:MOST"},
}
ECHO = ("--system", "py:./echo.py:Echo", "--tokenizer", "words", "--no-cache")


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    """A third party's extension, a system, and a file of tests."""
    write_distribution(workplace.site, "cb-promptfoo", ENTRY_POINTS, {"cb_promptfoo.py": PROMPTFOO})
    workplace.write("echo.py", SYSTEM)
    tests = [{"ask": "say hi", "want": "hi"}, {"ask": "say hi", "want": "ho"}]
    workplace.write("tests.json", json.dumps({"tests": tests}))
    return workplace


def result_of(place: Workplace, *arguments: str) -> dict[str, Any]:
    done = place.cb("run", *arguments, "--output", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_flag_contributes_data_its_main_score_and_a_section(place: Workplace) -> None:
    """And the result says which extension it was, what it was given, and what it had to say."""
    result = result_of(place, *ECHO, "--promptfoo", "tests.json")
    assert [row["scores"] for row in result["rows"]] == [{"pass": 1.0}, {"pass": 0.0}]
    (line,) = result["sections"]["promptfoos"]["lines"]
    assert line["scores"][0]["values"]["echo"] == {"value": 0.5, "stderr": None, "n": 2}
    config = result["config"]
    assert (config["score_field"], config["extensions"]) == ("pass", ["promptfoo"])
    assert config["promptfoos"] == ["tests.json"]
    assert "a remark of promptfoo" in result["problems"]


@pytest.mark.parametrize("reporter", ["table", "markdown", "html"])
def test_every_report_shows_the_section(place: Workplace, reporter: str) -> None:
    """With the headers that the extension chose."""
    done = place.cb("run", *ECHO, "--promptfoo", "tests.json", "--output", reporter)
    assert done.returncode == 0, done.stderr
    for part in ("Promptfoo", "file", "tests.json", "0.5000"):
        assert part in done.stdout


def test_an_option_goes_to_the_extension_of_its_plugin(place: Workplace) -> None:
    """Read and checked as it is declared, and recorded."""
    result = result_of(place, *ECHO, "--promptfoo", "tests.json", "--promptfoo-most", "1")
    assert (len(result["rows"]), result["config"]["most"]) == (1, 1)


@pytest.mark.parametrize("key", ["promptfoo", "promptfoos"])
def test_a_run_file_says_the_same(place: Workplace, key: str) -> None:
    """By the name of the flag, or its plural; a list or one value."""
    place.write("bench.yaml", f"systems: py:./echo.py:Echo\n{key}: tests.json\npromptfoo_most: 1\n")
    result = result_of(place, "bench.yaml", "--tokenizer", "words", "--no-cache")
    assert len(result["rows"]) == 1


def test_an_extension_stands_beside_datasets(place: Workplace) -> None:
    """Its main score is then not the run's; its section stays."""
    place.write("own.jsonl", '{"question": "q", "answer": "q"}\n')
    result = result_of(
        place, *ECHO, "--dataset", "own.jsonl", "--promptfoo", "tests.json", "--score-field", "f1"
    )
    assert [row["dataset"] for row in result["rows"]] == ["own", *["tests.json"] * 2]
    assert "promptfoos" in result["sections"]


def test_help_shows_the_flags_with_their_owner(place: Workplace) -> None:
    """The line and the value's name are the extension's own; the plugin is looked at elsewhere."""
    shown = " ".join(place.cb("run", "--help").stdout.split())
    assert "--promptfoo FILE Tests of a file in the manner of promptfoo. Repeatable." in shown
    assert "--promptfoo-most N Tests of each file. (cb-promptfoo)" in shown


def test_nothing_of_the_plugin_is_imported_unless_its_flag_is_used(place: Workplace) -> None:
    """The flag comes from the entry point alone."""
    place.write("own.jsonl", '{"question": "q", "answer": "q"}\n')
    broken = place.site / "cb_promptfoo.py"
    broken.write_text("raise RuntimeError('imported')", encoding="utf-8")
    done = place.cb("run", *ECHO, "--dataset", "own.jsonl")
    assert done.returncode == 0, done.stderr
    assert "imported" not in done.stderr
    done = place.cb("run", *ECHO, "--promptfoo", "tests.json")
    assert (done.returncode, "RuntimeError: imported" in done.stderr) == (3, True)


MISTAKES = {
    "option alone": (("--dataset", "x.jsonl", "--promptfoo-most", "1"), "without --promptfoo"),
    "option of a wrong type": (
        ("--promptfoo", "tests.json", "--promptfoo-most", "many"),
        "--promptfoo-most must be int, not 'many'",
    ),
    "option out of bounds": (
        ("--promptfoo", "tests.json", "--promptfoo-most", "0"),
        "--promptfoo-most must be at least 1, not 0",
    ),
    "option twice": (
        ("--promptfoo", "tests.json", "--promptfoo-most", "1", "--promptfoo-most", "2"),
        "--promptfoo-most is given 2 times",
    ),
    "the same twice": (
        ("--promptfoo", "tests.json", "--promptfoo", "tests.json"),
        "'tests.json' is asked for twice",
    ),
    "no data at all": ((), "a run needs data: --dataset or --promptfoo"),
}


@pytest.mark.parametrize(("arguments", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_ends_in_one_clear_error(
    place: Workplace, arguments: tuple[str, ...], said: str
) -> None:
    """Before anything is run, with the exit code of wrong usage."""
    place.write("x.jsonl", '{"question": "q", "answer": "q"}\n')
    done = place.cb("run", *ECHO, *arguments)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr


def test_the_flag_of_a_plugin_that_is_left_out_says_so(place: Workplace) -> None:
    """Its flag is known all the same, and nothing of it is imported."""
    (place.site / "cb_promptfoo.py").write_text("raise RuntimeError('imported')")
    done = place.cb("run", *ECHO, "--promptfoo", "tests.json", "--no-plugin", "cb-promptfoo")
    assert (done.returncode, "'cb-promptfoo'" in done.stderr) == (3, True), done.stderr
    assert "disabled" in done.stderr


FAULTS = {
    "raises when made": ("def __init__(self, files): raise KeyError('x')", "KeyError"),
    "raises when set up": ("def set_up(self, setup): raise KeyError('x')", "KeyError"),
    "sets up nothing": ("def set_up(self, setup): return None", "not a Contribution"),
    "cannot be set up": ("set_up = None", "has no set_up()"),
}


@pytest.mark.parametrize(("body", "said"), FAULTS.values(), ids=FAULTS)
def test_what_an_extension_does_wrong_is_its_own_fault(
    place: Workplace, body: str, said: str
) -> None:
    """Told with its name and the exit code of a plugin's fault."""
    source = f"class Promptfoo:\n    name = 'promptfoo'\n    def __init__(self, files): ...\n    {body}\n"
    (place.site / "cb_promptfoo.py").write_text(source, encoding="utf-8")
    done = place.cb("run", *ECHO, "--promptfoo", "tests.json")
    assert (done.returncode, said in done.stderr) == (3, True), done.stderr
    assert "plugin 'cb-promptfoo'" in done.stderr


def test_a_section_that_fails_costs_nothing_else(place: Workplace) -> None:
    """The rows are paid for: they are reported, with a word on what went wrong."""
    source = PROMPTFOO.replace("        lines = []\n", "        raise KeyError('lost')\n")
    (place.site / "cb_promptfoo.py").write_text(source, encoding="utf-8")
    result = result_of(place, *ECHO, "--promptfoo", "tests.json")
    assert (len(result["rows"]), result["sections"]) == (2, {})
    assert any("KeyError: 'lost'" in problem for problem in result["problems"])


NO_SECTIONS = {
    "a dict": ('return {"lines": []}, []', "section() returned a dict"),
    "lines that are none": ('return Section("Mine", ["a line"]), []', "a list of dicts"),
    "nothing": ("return None", "cannot unpack"),
}


@pytest.mark.parametrize(("body", "said"), NO_SECTIONS.values(), ids=NO_SECTIONS)
def test_what_is_no_section_is_told_and_not_handed_to_reports(
    place: Workplace, body: str, said: str
) -> None:
    """No report has to cope with it; the rows are shown as they are without it."""
    source = PROMPTFOO.replace("        lines = []\n", f"        {body}\n")
    (place.site / "cb_promptfoo.py").write_text(source, encoding="utf-8")
    result = result_of(place, *ECHO, "--promptfoo", "tests.json")
    assert (len(result["rows"]), result["sections"]) == (2, {})
    assert any(said in problem for problem in result["problems"])


def test_a_result_says_whose_the_extension_and_its_data_are(place: Workplace) -> None:
    """Data of which the extension tells no more than the name is traced to the extension."""
    arguments = (*ECHO, "--promptfoo", "tests.json", "--promptfoo-most", "1")
    result = result_of(place, *arguments)
    (record,) = result["config"]["extension_plugins"]
    assert (record["plugin"], record["version"]) == ("cb-promptfoo", "1.0")
    assert record["params"] == {"promptfoos": ["tests.json"], "most": 1}
    assert record["flags"] == {"promptfoos": "--promptfoo", "most": "--promptfoo-most"}
    (dataset,) = result["config"]["datasets"]
    assert (dataset["name"], dataset["plugin"]) == ("tests.json", "cb-promptfoo")
    place.write("result.json", json.dumps(result))
    told = place.cb("provenance", "result.json")
    assert told.returncode == 0, told.stderr
    assert "extension promptfoo (cb-promptfoo 1.0)" in told.stdout
    assert "dataset tests.json (cb-promptfoo 1.0)" in told.stdout


def test_an_option_cannot_take_the_place_of_a_setting_of_the_run(place: Workplace) -> None:
    """In what the result records; the value of the option is told with the extension."""
    source = PROMPTFOO.replace('name="most"', 'name="threshold"').replace(
        "most=None", "threshold=1"
    )
    source = source.replace("self.most = files, most", "self.most = files, threshold")
    (place.site / "cb_promptfoo.py").write_text(source, encoding="utf-8")
    config = result_of(place, *ECHO, "--promptfoo", "tests.json", "--promptfoo-most", "2")["config"]
    assert config["threshold"] == 0.7
    assert config["extension_plugins"][0]["params"]["threshold"] == 2


def test_info_shows_how_the_flag_is_used(place: Workplace) -> None:
    """What the extension is made of is no part of a spec."""
    shown = place.cb("info", "promptfoo").stdout
    assert "cb run --system identity --promptfoo VALUE" in shown


RIDDLES = """
from cbcore.extensions import Contribution, Source
from cbcore.kinds import Kind

BOOK = Kind(
    name="riddle-book",
    offer="collections of riddles",
    target="It returns riddles.",
    problem=lambda value: None if isinstance(value, list) else "return a list",
)
PLAIN = Kind(name="plain", offer="anything", target="It returns anything.", is_named=False)


class Riddles:
    name = "riddles"

    def __init__(self, books):
        self.books = books

    def set_up(self, setup):
        parts = [setup.build("riddle-book", book) for book in self.books]
        setup.build("plain", "text")
        sources = [Source(p.record["name"], [{"question": q} for q in p.value]) for p in parts]
        return Contribution(sources, used=[part.component for part in parts])
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
    """An extension with kinds of its own, and a package that offers components of them."""
    entry_points = {
        "cb.kinds": {"riddle-book": "cb_riddles:BOOK", "plain": "cb_riddles:PLAIN"},
        "cb.extensions": {"riddle": "cb_riddles:Riddles"},
    }
    write_distribution(workplace.site, "cb-riddles", entry_points, {"cb_riddles.py": RIDDLES})
    offers = {
        "cb.riddle-books": {"grimm": "cb_grimm:grimm", "torn": "cb_grimm:torn"},
        "cb.plains": {"text": "cb_grimm:text"},
    }
    write_distribution(workplace.site, "cb-grimm", offers, {"cb_grimm.py": GRIMM})
    workplace.write("echo.py", SYSTEM)
    return workplace


def test_an_extension_builds_components_of_a_kind_of_its_own(library: Workplace) -> None:
    """From specs, as those of the core; the result names those that went into it."""
    done = library.cb("run", *ECHO, "--riddle", "grimm:most=1", "--output", "json")
    result = json.loads(done.stdout)
    assert [row["dataset"] for row in result["rows"]] == ["grimm"]
    (record,) = result["config"]["riddle-book_plugins"]
    assert (record["component"], record["plugin"]) == ("grimm", "cb-grimm")
    assert (result["config"]["riddles"], len(result["rows"])) == (["grimm:most=1"], 1)


def test_what_a_kind_refuses_is_the_fault_of_who_offers_it(library: Workplace) -> None:
    """In a run, and by the kit."""
    done = library.cb("run", *ECHO, "--riddle", "torn")
    assert (done.returncode, "'cb-grimm'" in done.stderr) == (3, True), done.stderr
    assert "this riddle-book (str): return a list" in done.stderr
    checked = library.cb("plugins", "check", "cb-grimm").stdout
    assert "component-protocol torn: return a list" in checked
    assert "component-protocol text" not in checked


def test_a_flag_of_the_core_cannot_be_taken(workplace: Workplace) -> None:
    """The core's own meaning of it stays."""
    write_distribution(
        workplace.site,
        "cb-greedy",
        {"cb.extensions": {"dataset": "cb_greedy:X", "seed": "cb_greedy:X"}},
        {"cb_greedy.py": "raise RuntimeError('imported')"},
    )
    workplace.write("echo.py", SYSTEM)
    workplace.write("own.jsonl", '{"question": "q", "answer": "q"}\n')
    done = workplace.cb("run", *ECHO, "--dataset", "own.jsonl", "--seed", "1")
    assert done.returncode == 0, done.stderr


class _Adds:
    """An extension made in Python."""

    name = "adds"

    def set_up(self, setup: Any) -> Any:
        from cbcore.extensions import Contribution, Source

        return Contribution([Source("mine", [{"question": "q", "context": "c"}])])


class _Echo:
    name = "echo"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {**example, "response": "r"}


def test_python_passes_extensions_as_objects(tmp_path: Path) -> None:
    """No entry point is needed; what is none is refused with a word on what it lacks."""
    result = evaluate([_Echo()], extensions=[_Adds()], tokenizer="words", progress=False)
    assert [row.dataset for row in result.rows] == ["mine"]
    with pytest.raises(Exception, match="has no set_up"):
        evaluate([_Echo()], extensions=[_Echo()], tokenizer="words", progress=False)


def test_two_extensions_of_one_name_are_refused() -> None:
    """A result could not keep their sections apart."""
    with pytest.raises(UsageError, match="two extensions of this run are called 'adds'"):
        evaluate([_Echo()], extensions=[_Adds(), _Adds()], tokenizer="words", progress=False)


def test_python_knows_the_settings_of_plugins_by_name() -> None:
    """As keywords; one that nobody knows is refused as Python does, with a suggestion."""
    result = evaluate([_Echo()], suites=["demo"], max_examples=1, tokenizer="words", progress=False)  # type: ignore[call-arg]
    assert result.sections["suites"].lines
    with pytest.raises(TypeError, match="Did you mean 'suites'"):
        evaluate([_Echo()], siutes=["demo"])  # type: ignore[call-arg]


def test_the_core_does_not_know_its_extensions_by_name() -> None:
    """What the first-party packages offer is data; the code names none of them."""
    import cbcore

    said = [
        path
        for path in Path(cbcore.__file__).parent.rglob("*.py")
        if "suite" in path.read_text(encoding="utf-8").lower()
    ]
    assert said == []


BRINGS_SYSTEMS = '''
from cbcore.extensions import Contribution, Section


class Answer:
    name = "always"

    def __init__(self, text):
        self.text = text

    def process(self, example):
        return {**example, "response": self.text}


class Canned:
    """Text that is every answer. Repeatable."""

    name = "canneds"
    metavar = "TEXT"

    def __init__(self, texts):
        self.texts = texts

    def set_up(self, setup):
        assert setup.max_workers in (None, 2)
        made = [setup.build("system", Answer(text)) for text in self.texts]
        return Contribution(systems=made, main_score="exact_match")
'''


@pytest.fixture
def canned(workplace: Workplace) -> Workplace:
    """A third party's extension that brings systems, and data for them."""
    entries = {"cb.extensions": {"canned": "cb_canned:Canned"}}
    write_distribution(workplace.site, "cb-canned", entries, {"cb_canned.py": BRINGS_SYSTEMS})
    workplace.write("own.jsonl", '{"question": "q", "answer": "yes"}\n')
    workplace.write("echo.py", SYSTEM)
    return workplace


RUN = ("--tokenizer", "words", "--no-cache", "--max-workers", "2")


def test_an_extension_may_bring_systems(canned: Workplace) -> None:
    """They see the data of the run, and its main score is theirs; it needs no other system."""
    result = result_of(canned, *RUN, "--canned", "yes", "--dataset", "own.jsonl")
    assert [(row["system"], row["response"]) for row in result["rows"]] == [("always", "yes")]
    assert result["config"]["score_field"] == "exact_match"
    assert [system["name"] for system in result["config"]["systems"]] == ["always"]


def test_systems_of_an_extension_stand_beside_others(canned: Workplace) -> None:
    """Whose score it then does not choose."""
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
def test_systems_of_an_extension_are_checked_like_others(
    canned: Workplace, arguments: tuple[str, ...], problem: str
) -> None:
    """Before anything runs."""
    done = canned.cb("run", *RUN, *arguments)
    assert done.returncode == 2
    assert problem in done.stderr


def test_a_spec_with_parameters_in_a_run_file_is_recorded_as_one_text() -> None:
    """By which it can be asked for again."""
    from cbcore._build.extending import Extending

    class Named:
        name = "memories"

    asked = [{"full | extractive": {"name": "all, of it"}}, {"bm25": None}, {"a": 1, "b": 2}]
    told = Extending("memories", asked, {}, Named()).recorded()
    assert told["memories"] == [
        "full | extractive:name='all, of it'",
        "bm25",
        "given in Python",
    ]


class OwnScore:
    """Brings data, and an evaluator that no other part of the run knows."""

    name = "own-score"

    def set_up(self, setup: Any) -> Contribution:
        scorer = Scorer.of(setup.build("evaluator", FakeEvaluator({"kept": 0.5}, name="keeping")))
        source = Source("own", [{"id": 1, "context": "c"}], [scorer])
        return Contribution([source], datasets=[{"name": "own"}], main_score="kept")


def test_a_main_score_counts_whoever_else_knows_its_evaluator() -> None:
    """An extension need not share an evaluator for its score to be what quality means."""
    result = evaluate(systems=[FakeSystem()], extensions=[OwnScore()])
    assert result.config["score_field"] == "kept"
    assert [one["name"] for one in result.config["evaluators"]] == ["keeping"]
    assert result.counts()["fake"].scored == 1
