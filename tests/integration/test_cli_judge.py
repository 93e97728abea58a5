"""`cb run --judge-url …` as a user types it, with a judge in another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.forkserver import copy_plugin_cache, run_cb

pytest.importorskip("cb_llm_judge", reason="cb-llm-judge is not installed")
pytest.importorskip("cb_openai", reason="cb-openai is not installed")

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "plugins" / "cb-llm-judge" / "tests" / "judge_stub.py"
KEY = "quite-a-secret-value-17"
QUESTIONS = [
    {"id": 1, "question": "Capital of France?", "context": "Paris.", "answer": "Paris"},
    {"id": 2, "question": "Capital of Italy?", "context": "Rome.", "answer": "Rome"},
]
SYSTEMS = """
class Always:
    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.name = f"always-{answer}"

    def process(self, example):
        return {"response": self.answer}
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[str]:
    """The address of a scripted judge; the model's name says how it behaves."""
    with subprocess.Popen(
        [sys.executable, str(STUB)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.terminate()


def n_asked(judge: str) -> int:
    with urlopen(f"{judge}/asked") as reply:
        return len(json.load(reply))


@pytest.fixture
def cb(tmp_path):
    """Run `cb run` in a folder with two questions and a system; the finished process."""
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    (tmp_path / "mine.py").write_text(SYSTEMS)
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    environ.pop("OPENAI_API_KEY", None)
    copy_plugin_cache(tmp_path / "cache")

    def run(*arguments, **changes):
        return run_cb("run", *arguments, cwd=tmp_path, env={**environ, **changes})

    return run


PARIS = ("-s", "py:./mine.py:Always,answer=Paris", "-d", "data.jsonl", "-o", "json=result.json")


def saved(tmp_path):
    return json.loads((tmp_path / "result.json").read_text())


def test_the_judge_joins_the_evaluators_that_apply(cb, judge, tmp_path):
    done = cb(*PARIS, "--judge-url", judge, "--judge-model", "honest")
    assert done.returncode == 0, done.stderr
    result = saved(tmp_path)
    scores = [(row["scores"]["f1"], row["scores"]["judge_score"]) for row in result["rows"]]
    assert scores == [(1.0, 1.0), (0.0, 0.0)]
    assert result["summary"]["always-Paris"]["judge_score"] == 0.5
    assert result["summary"]["always-Paris"]["mean_score"] == 0.5
    assert result["rows"][0]["metadata"]["llm_judge"]["reason"] == "Compared with Paris."


def test_the_judge_joins_the_evaluators_and_metrics_that_were_given(cb, judge, tmp_path):
    asked = ("-e", "answer_quality", "-m", "pass_rate", "--score-field", "judge_score")
    done = cb(*PARIS, *asked, "--judge-url", judge, "--judge-model", "honest")
    assert done.returncode == 0, done.stderr
    assert saved(tmp_path)["summary"]["always-Paris"] == {"pass_rate": 0.5, "judge_score": 0.5}


def test_the_same_command_again_asks_the_judge_nothing(cb, judge, tmp_path):
    """Neither for ratings nor for comparisons."""
    command = (*PARIS, "-s", "py:./mine.py:Always,answer=Rome", "--judge-pairwise")
    command = (*command, "--judge-url", judge, "--judge-model", "honest")
    before = n_asked(judge)
    assert cb(*command).returncode == 0
    first, n_first = saved(tmp_path), n_asked(judge)
    assert n_first > before
    done = cb(*command)
    assert done.returncode == 0, done.stderr
    assert n_asked(judge) == n_first
    assert saved(tmp_path)["summary"]["always-Paris"]["win_rate"] == 0.5
    again = saved(tmp_path)["rows"]
    assert all(row.pop("cached") for row in again)
    assert not any(row.pop("cached") for row in first["rows"])
    assert again == first["rows"]


def test_a_failing_judge_is_a_missing_score_with_its_reason(cb, judge, tmp_path):
    done = cb(*PARIS, "--judge-url", judge, "--judge-model", "garbage")
    assert done.returncode == 0, done.stderr
    for row in saved(tmp_path)["rows"]:
        assert "judge_score" not in row["scores"]
        assert row["missing"]["judge_score"].startswith("judge garbage: ")
    assert saved(tmp_path)["summary"]["always-Paris"]["judge_score"] is None
    assert "cb: warning: judge_score is missing in 2 rows: judge garbage: " in done.stderr


def test_a_run_file_says_the_same(cb, judge, tmp_path):
    (tmp_path / "bench.yaml").write_text(
        """
        systems: ["py:./mine.py:Always,answer=Paris", "py:./mine.py:Always,answer=Rome"]
        datasets: [data.jsonl]
        judge_url: ${JUDGE_URL}
        judge_model: honest
        judge_rubric: helpfulness
        judge_pairwise: true
        output: json=result.json
        """
    )
    done = cb("bench.yaml", JUDGE_URL=judge)
    assert done.returncode == 0, done.stderr
    summary = saved(tmp_path)["summary"]["always-Paris"]
    assert {"judge_score", "win_rate", "position_consistency"} <= set(summary)
    judges = saved(tmp_path)["config"]["evaluators"]
    assert [j["params"].get("rubric") for j in judges if j["name"] == "llm_judge"] == [
        "helpfulness"
    ]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--judge-model", "m"], "--judge-model is given without --judge-url"),
        (["--judge-url", "http://localhost:1"], "--judge-url is given without --judge-model"),
        (["--judge-pairwise"], "--judge-pairwise is given without --judge-url"),
        (["--judge-url", "localhost", "--judge-model", "m"], "must begin with http://"),
        (
            ["--judge-url", "http://h", "--judge-model", "m", "--judge-rubric", "corectness"],
            "did you mean correctness?",
        ),
        (
            ["--judge-url", "http://h", "--judge-model", "m", "--judge-api-key-env", "NO_KEY"],
            "NO_KEY",
        ),
    ],
)
def test_flags_that_cannot_be_used_are_refused_before_anything_runs(cb, tmp_path, flags, message):
    done = cb(*PARIS, *flags)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / ".cb").exists()


@pytest.mark.parametrize("model", ["honest", "leaking", "failing"])
def test_the_key_is_sent_to_the_judge_and_written_nowhere(cb, judge, tmp_path, model):
    """Not in reports, store, verdicts, debug logs or a dry run; not when the judge repeats it."""
    command = (*PARIS, "-s", "py:./mine.py:Always,answer=Rome", "-vv", "--judge-pairwise")
    command = (*command, "-o", "html=report.html", "-o", "table", "-n", "1")
    (tmp_path / "bench.yaml").write_text(
        f"""
        evaluators:
          - llm_judge: {{base_url: "{judge}", model: {model}, api_key: "${{MY_KEY}}", max_retries: 0}}
        """
    )
    flags = ("--judge-url", judge, "--judge-model", model.replace("failing", "garbage"))
    flags = (*flags, "--judge-api-key-env", "MY_KEY")
    texts = []
    for done in (
        cb("bench.yaml", *command, *flags, "--dry-run", MY_KEY=KEY),
        cb("bench.yaml", *command, *flags, MY_KEY=KEY),
    ):
        assert done.returncode in (0, 7), done.stderr
        texts += [done.stdout, done.stderr]
    with urlopen(f"{judge}/asked") as reply:
        assert json.load(reply)[-1]["key"] == f"Bearer {KEY}"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"result.json", "report.html"} <= {path.name for path in files}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert not [text for text in texts if KEY in text]
