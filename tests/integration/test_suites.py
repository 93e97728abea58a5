"""`cb run --suite`: the whole way from YAML files to a report, in processes of their own."""

from __future__ import annotations

import json
import textwrap

import pytest

from tests.fake_distributions import write_distribution

BENCHMARK = """\
group: my_benchmark
group_alias: My Benchmark
task:
  - group: nli_tasks
    task:
      - task: subtask_a@mcqa
        task_alias: Sub A
        dataset_path: quiz.jsonl
        doc_to_text: question
        doc_to_target: answer
        doc_to_choice: choices
      - task: subtask_b
        formats: generate
        dataset_path: quiz.jsonl
        doc_to_text: question
        doc_to_target: answer
        doc_to_choice: choices
    aggregate_metric_list:
      - metric: acc
        aggregation: mean
        higher_is_better: true
  - task: elsewhere
    dataset: no-such-dataset
metadata:
  version: 1.0
"""
SYSTEM = """\
class Says:
    name = "says"

    def __init__(self, text: str = "Paris") -> None:
        self.text = text
        self.name = f"says-{text}"

    def process(self, example):
        with open("calls.txt", "a") as calls:
            calls.write("x")
        return {"response": self.text}
"""


@pytest.fixture
def place(workplace):
    """A folder with a benchmark, its data and a system."""
    suites = workplace.folder / "suites"
    suites.mkdir()
    (suites / "my_benchmark.yaml").write_text(BENCHMARK, encoding="utf-8")
    choices = ["Rome", "Paris", "Oslo"]
    documents = [{"question": f"q{i}", "choices": choices, "answer": i % 3} for i in range(6)]
    (suites / "quiz.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    (workplace.folder / "mine.py").write_text(SYSTEM, encoding="utf-8")
    return workplace


SAYS = ("--system", "py:./mine.py:Says", "--include-path", "suites")


def n_calls(place):
    return len((place.folder / "calls.txt").read_text())


def test_a_suite_runs_and_shows_one_table(place):
    """Groups above their members, aliases, and what cannot run with its reason."""
    done = place.cb("run", "--suite", "my_benchmark", *SAYS, COLUMNS="120")
    assert done.returncode == 0, done.stderr
    table = done.stdout.partition("Suites\n")[2]
    lines = [line.split("│")[1:-1] for line in table.splitlines() if line.startswith("│")]
    assert [cells[0].rstrip() for cells in lines if cells[0].strip()] == [
        " task",
        " My Benchmark",
        "   nli_tasks",
        "     Sub A",
        "     subtask_b",
        "   elsewhere",
    ]
    group = [cell.strip() for cell in lines[2]]
    assert group[-6:] == ["acc", "↑", "0.3333", "± 0.1491", "[0.138, 0.609]", "12"]
    assert "no dataset is called 'no-such-dataset'" in done.stdout


@pytest.mark.parametrize("form", ["json", "markdown", "html"])
def test_every_report_has_the_table(place, form):
    """The same lines, whatever shows them."""
    asked = ["--suite", "my_benchmark", *SAYS, "--system", "py:./mine.py:Says,text=Oslo"]
    done = place.cb("run", *asked, "--output", form)
    assert done.returncode == 0, done.stderr
    if form == "json":
        lines = json.loads(done.stdout)["sections"]["suites"]["lines"]
        assert [line["alias"] for line in lines][:3] == ["My Benchmark", "nli_tasks", "Sub A"]
        assert set(lines[1]["scores"][0]["values"]) == {"says-Paris", "says-Oslo"}
    else:
        for text in ("My Benchmark", "Sub A", "subtask_b", "0.3333 ± 0.1", "(n=12)", "elsewhere"):
            assert text in done.stdout


@pytest.mark.parametrize(
    ("wanted", "paths"),
    [
        ("my_benchmark::nli_tasks::subtask_b", ["my_benchmark::nli_tasks::subtask_b"]),
        (
            "my_benchmark::nli_tasks",
            [
                "my_benchmark::nli_tasks",
                "my_benchmark::nli_tasks::subtask_a@mcqa",
                "my_benchmark::nli_tasks::subtask_b",
            ],
        ),
    ],
)
def test_paths_choose_a_part(place, wanted, paths):
    """Only that is run."""
    done = place.cb("run", "--suite", wanted, *SAYS, "--output", "json")
    assert done.returncode == 0, done.stderr
    assert [
        line["path"] for line in json.loads(done.stdout)["sections"]["suites"]["lines"]
    ] == paths


def test_the_same_command_calls_nothing_again(place):
    """Each task resumes; a part run later finds what the whole stored."""
    for suite in ("my_benchmark", "my_benchmark", "my_benchmark::nli_tasks"):
        assert place.cb("run", "--suite", suite, *SAYS).returncode == 0
    assert n_calls(place) == 12


STRUCK = """\
import os
import signal

class Struck:
    name = "struck"

    def process(self, example):
        with open("calls.txt", "a+") as calls:
            calls.write("x")
            calls.flush()
            if calls.tell() == 9:
                os.kill(os.getpid(), signal.SIGINT)
        return {"response": "B"}
"""


def test_a_run_interrupted_in_the_middle_of_a_task_goes_on_there(place):
    """Nothing that was answered is asked again, in that task or in those before it."""
    (place.folder / "mine.py").write_text(STRUCK, encoding="utf-8")
    command = ("run", "--suite", "my_benchmark", "--include-path", "suites", "--output", "json")
    struck = place.cb(*command, "--system", "py:./mine.py:Struck")
    assert struck.returncode == 130
    result = json.loads(struck.stdout)
    assert result["config"]["state"] == "interrupted"
    shown = [
        line["scores"][0]["values"]["struck"]["n"]
        for line in result["sections"]["suites"]["lines"][1:4]
    ]
    assert shown == [8, 6, 2]
    done = place.cb(*command, "--system", "py:./mine.py:Struck")
    assert done.returncode == 0, done.stderr
    assert (
        json.loads(done.stdout)["sections"]["suites"]["lines"][1]["scores"][0]["values"]["struck"][
            "n"
        ]
        == 12
    )
    assert n_calls(place) == 13  # the one that was struck is asked twice


def test_a_run_file_names_suites_too(place):
    """With the keys of the flags."""
    text = "systems: [py:./mine.py:Says]\nsuites: my_benchmark\ninclude_path: suites\n"
    (place.folder / "run.yaml").write_text(f"{text}num_fewshot: 2\nmax_examples: 4\n")
    done = place.cb("run", "run.yaml", "--output", "json")
    assert done.returncode == 0, done.stderr
    leaf = json.loads(done.stdout)["sections"]["suites"]["lines"][2]
    assert leaf["num_fewshot"] == 2
    assert leaf["scores"][0]["values"]["says-Paris"]["n"] == 4


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--suite", "my_benchmrk"], 2, "my_benchmark"),
        (["--suite", "my_benchmark::elsewhere"], 2, "none of the 1 tasks can run"),
        (["--suite", "my_benchmark", "--include-path", "nowhere"], 2, "nowhere"),
        (["--suite", "my_benchmark::nli_tasks", "--num-fewshot", "9"], 4, "9 few-shot examples"),
        (["--suite", "my_benchmark::nli_tasks::subtask_b@mcq"], 2, "mcq"),
    ],
)
def test_a_mistake_ends_in_one_clear_error(place, arguments, code, said):
    """With the exit code that belongs to it."""
    done = place.cb("run", *arguments, *SAYS)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr


def test_a_plugin_adds_a_format(place):
    """By an entry point, as any component; the suite asks for it by name."""
    source = """
    from cb_suites.engine.formats import Mcqa

    class Shout(Mcqa):
        '''As mcqa, but loud.'''

        name = "shout"

        def ask(self, document):
            return super().ask(document).upper()
    """
    write_distribution(
        place.site,
        "cb-shout",
        {"cb.formats": {"shout": "cb_shout:Shout"}},
        {"cb_shout.py": textwrap.dedent(source)},
    )
    wanted = "my_benchmark::nli_tasks::subtask_b@shout"
    done = place.cb("run", "--suite", wanted, *SAYS, "--output", "json")
    assert done.returncode == 0, done.stderr
    (score,) = json.loads(done.stdout)["sections"]["suites"]["lines"][0]["scores"][:1]
    assert (score["metric"], score["values"]["says-Paris"]["n"]) == ("acc", 6)


def test_a_dry_run_counts_the_tasks(place):
    """And calls nothing."""
    done = place.cb("run", "--suite", "my_benchmark", *SAYS, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "12 calls" in done.stdout
    assert not (place.folder / "calls.txt").exists()


def test_one_task_with_different_overrides_is_run_for_each(place):
    """Asked for side by side, they are different work and have rows of their own."""
    few = "group: few\ntask:\n  - task: my_benchmark::nli_tasks::subtask_b\n    num_fewshot: 1\n"
    (place.folder / "suites" / "few.yaml").write_text(few, encoding="utf-8")
    suites = ("--suite", "few", "--suite", "my_benchmark::nli_tasks::subtask_b")
    done = place.cb("run", *SAYS, *suites, "-o", "json=result.json")
    assert done.returncode == 0, done.stderr
    result = json.loads((place.folder / "result.json").read_text(encoding="utf-8"))
    assert len(result["rows"]) == 12
    assert len({row["dataset"] for row in result["rows"]}) == 2


def test_a_key_that_has_no_effect_is_told(place):
    """Once, as a warning: the run goes on."""
    text = BENCHMARK.replace("formats: generate", "formats: generate\n        unsafe_code: true")
    (place.folder / "suites" / "my_benchmark.yaml").write_text(text, encoding="utf-8")
    done = place.cb("run", *SAYS, "--suite", "my_benchmark")
    assert done.returncode == 0
    assert done.stderr.count("unsafe_code has no effect") == 1
