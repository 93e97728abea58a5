"""The command `context-bench`, as a process against a real server."""

from __future__ import annotations

import json

import pytest

from context_bench.__main__ import build_parser, main, names_of


@pytest.fixture
def data(tmp_path, capitals):
    """A file with two questions, of which the server answers one."""
    file = tmp_path / "capitals.jsonl"
    file.write_text("\n".join(map(json.dumps, capitals)))
    return file.name


def test_a_run_prints_a_table(command, server, data):
    """Markdown on standard output, the metrics of 0.1 in it."""
    done = command("--proxy", server.url(), "--dataset", data, "--name", "kompact")
    assert done.returncode == 0
    assert "| kompact |" in done.stdout
    assert "50.0%" in done.stdout


def test_a_run_prints_json(command, server, data):
    """The keys of 0.1, the model asked for, and rows tagged as the dataset was written."""
    url = server.url()
    flags = ("--proxy", url, "--dataset", f"./{data}", "--model", "m-1", "-n", "1")
    done = command(*flags, "--output", "json", "--score-field", "recall", "--threshold", "0.9")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    values = document["summary"]["127.0.0.1"]
    assert {key: values[key] for key in ("mean_score", "pass_rate", "num_passing")} == {
        "mean_score": 1.0,
        "pass_rate": 1.0,
        "num_passing": 1.0,
    }
    assert {"compression_ratio", "cost_of_pass", "latency_p95"} <= set(values)
    assert [row["dataset"] for row in document["rows"]] == [f"./{data}"]
    assert [request["body"]["model"] for request in server.requests(url)] == ["m-1"]


def test_a_run_prints_a_page(command, server, data):
    """HTML on standard output."""
    done = command("--proxy", server.url(), "--dataset", data, "--output", "html")
    assert done.returncode == 0
    assert done.stdout.startswith("<!doctype html>")


def test_several_datasets_and_systems_are_compared(command, server):
    """A mean for each dataset, scored by its own evaluators, and a rank for each system."""
    flags = ("--proxy", server.url(text="A"), "--proxy", server.url(text="(C)"), "--name", "a")
    done = command(
        *flags,
        *("--name", "c", "--dataset", "mmlu:sample", "--dataset", "hotpotqa:sample", "-n", "2"),
        *("--score-field", "mc_accuracy", "--output", "json", "--max-workers", "4"),
    )
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["summary"]["a"]["pareto_rank"] == 1.0
    assert {"dataset:mmlu:sample", "dataset:hotpotqa:sample"} <= set(document["summary"]["a"])
    scored = {(row["dataset"], "mc_accuracy" in row["scores"]) for row in document["rows"]}
    assert scored == {("mmlu:sample", True), ("hotpotqa:sample", False)}


def test_a_judge_rates_too(command, server, data):
    """`--judge-url` adds its score to those of the dataset."""
    judge = server.url(text='{"score": 4, "reason": "Nearly."}')
    done = command(
        *("--proxy", server.url(), "--dataset", data, "--judge-url", judge, "--judge-model", "j"),
        *("--score-field", "judge_score", "--output", "json"),
    )
    assert done.returncode == 0
    assert [row["scores"]["judge_score"] for row in json.loads(done.stdout)["rows"]] == [0.75] * 2


def test_a_stored_run_is_not_asked_again(command, server, data):
    """With `--cache-dir` the second run makes no request; another model asks anew."""
    url = server.url()
    flags = ("--proxy", url, "--dataset", data, "--cache-dir", "store")
    assert [command(*flags).returncode for _ in range(2)] == [0, 0]
    assert len(server.requests(url)) == 2
    command(*flags, "--model", "other")
    assert len(server.requests(url)) == 4


def test_nothing_is_stored_unless_asked_for(command, server, data, tmp_path):
    """Without `--cache-dir` the folder stays as it was."""
    command("--proxy", server.url(), "--dataset", data)
    assert [entry.name for entry in tmp_path.iterdir() if entry.name != "cache"] == [data]


def test_the_old_token_counts_can_be_had(command, server, data):
    """`--legacy-tokens` counts ids, gold and replies; without it what a model gets to see."""
    flags = ("--proxy", server.url(), "--dataset", data, "--output", "json")
    old = json.loads(command(*flags, "--legacy-tokens").stdout)["rows"][0]
    new = json.loads(command(*flags).stdout)["rows"][0]
    assert new["output_tokens"] == new["input_tokens"]
    assert new["metadata"]["prompt_tokens"] == 100
    assert old["input_tokens"] > new["input_tokens"]
    assert old["output_tokens"] == old["input_tokens"] + 1


def test_former_names_of_scores_are_understood(command, server):
    """`ifeval_strict` is what IFEval calls the strict score of a prompt."""
    done = command(
        *("--proxy", server.url(), "--dataset", "ifeval:sample", "-n", "1"),
        *("--score-field", "ifeval_strict", "--output", "json"),
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["summary"]["127.0.0.1"]["mean_score"] in (0.0, 1.0)


@pytest.mark.parametrize(
    ("flags", "code", "told"),
    [
        ([], 2, "--proxy"),
        (["--dataset", "hotpotqua"], 2, "did you mean hotpotqa"),
        (["--dataset", "infinitebench:x"], 2, "no config 'x'"),
        (["--dataset", "missing.jsonl"], 2, "no data file"),
        (
            ["--dataset", "hotpotqa:sample", "--score-field", "exact_mach"],
            2,
            "did you mean exact_match",
        ),
        (["--dataset", "hotpotqa:sample", "-n", "0"], 2, "0 is not 1 or more"),
        (["--dataset", "hotpotqa:sample", "--name", "a", "--name", "b"], 2, "--name is given 2"),
        (["--dataset", "hotpotqa:sample", "--threshold", "nan"], 2, "threshold must be a finite"),
        (["memory", "--system", "naive"], 2, "--relay"),
        (["memory", "--system", "zep", "--relay", "http://127.0.0.1:9"], 2, "zep is not offered"),
        (["memory", "--system", "naive", "--relay", "nowhere"], 2, "http://"),
        (["dspy", "--optimizer", "COPRO"], 2, "not offered"),
    ],
)
def test_wrong_usage_is_one_message(command, flags, code, told):
    """The exit code is 2, and nothing is a traceback."""
    proxy = ["--proxy", "http://127.0.0.1:9"] if "--dataset" in flags else []
    done = command(*flags, *proxy)
    assert done.returncode == code
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_an_address_that_is_none_is_refused(command):
    """Before anything runs."""
    done = command("--proxy", "localhost:7878", "--dataset", "hotpotqa:sample")
    assert done.returncode == 2
    assert "http://" in done.stderr


def test_a_run_in_which_every_row_failed_fails(command, server, data):
    """The report is printed all the same."""
    url = server.url(fault="status", status=401)
    done = command("--proxy", url, "--dataset", data, "--output", "json")
    assert done.returncode == 4
    assert "every row errored" in done.stderr
    assert [row["scores"] for row in json.loads(done.stdout)["rows"]] == [{}, {}]


def test_a_run_without_any_score_fails(command, server, tmp_path):
    """The report is printed, and the code says that it holds nothing to rely on, as `cb` does."""
    (tmp_path / "open.jsonl").write_text('{"id": 1, "context": "c", "question": "Why?"}')
    done = command("--proxy", server.url(), "--dataset", "open.jsonl", "--output", "json")
    assert done.returncode == 7, done.stderr
    assert "context-bench: error: not one of 1 rows has a score 'f1'" in done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 1


def test_a_registered_dataset_can_be_named(server, capsys):
    """In a program that registers a loader and calls `main`."""
    from cbcore.registry import registry as of_cb
    from context_bench.registry import register_dataset

    register_dataset("my-data", lambda: [{"id": 1, "context": "c", "answer": "Paris"}])
    try:
        with pytest.raises(SystemExit) as ended:
            main(["--proxy", server.url(), "--dataset", "my-data", "--output", "json"])
    finally:
        of_cb.unregister("dataset", "my-data")
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["scores"]["f1"] == 1.0


@pytest.mark.parametrize(
    ("urls", "given", "names"),
    [
        (["http://a:1"], [], ["a"]),
        (["http://a:1", "http://b:1"], [], ["a", "b"]),
        (["http://a:1", "http://a:2"], [], ["a:1", "a:2"]),
        (["http://a:1", "http://a:2"], ["mine"], ["mine", "a"]),
        (["http://a:1", "http://b:2"], ["b"], ["b", "b:2"]),
    ],
)
def test_unnamed_systems_are_called_by_host(urls, given, names):
    """With the port where another system has the same host, so that no two share a name."""
    assert names_of(urls, given) == names


def test_every_flag_of_the_former_command_is_there():
    """With its default."""
    flags = build_parser().parse_args(["--proxy", "http://a", "--dataset", "gsm8k"])
    assert vars(flags) == {
        "proxy": ["http://a"],
        "name": [],
        "dataset": ["gsm8k"],
        "model": "gpt-4",
        "max_examples": None,
        "output": "table",
        "score_field": "f1",
        "threshold": 0.7,
        "judge_url": None,
        "judge_model": "gpt-4",
        "max_workers": 1,
        "cache_dir": None,
        "legacy_tokens": False,
    }
