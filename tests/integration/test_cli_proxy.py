"""`--proxy`, `--name` and `--model`: endpoints under test, from flags and from a run file."""

from __future__ import annotations

import csv
import json
import os

import pytest

from cb_openai.testing import FaultServer
from tests.forkserver import copy_plugin_cache, run_cb


@pytest.fixture(scope="module")
def server():
    with FaultServer() as running:
        yield running


@pytest.fixture
def cb(tmp_path):
    """Run `cb run` on one example in an empty folder; returns the finished process."""
    example = {"id": 1, "question": "What is the capital of France?", "answer": "Paris"}
    (tmp_path / "data.jsonl").write_text(json.dumps(example))
    environ = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "COLUMNS": "120",
    }
    for name in ("CB_DEBUG", "OPENAI_API_KEY", "CB_PRICES"):
        environ.pop(name, None)
    copy_plugin_cache(tmp_path / "cache")

    def run(*arguments, before=()):
        command = (*before, "run", *arguments, "-o", "csv=rows.csv")
        return run_cb(*command, cwd=tmp_path, env=environ)

    return run


def rows(tmp_path):
    with (tmp_path / "rows.csv").open() as file:
        return list(csv.DictReader(file))


def models(server, *urls):
    """The model that each endpoint was asked for."""
    return [server.requests(url)[0]["body"]["model"] for url in urls]


def test_a_url_is_enough(server, cb, tmp_path):
    """The row is named after the address, and scored like any other."""
    done = cb("--proxy", server.url(), "-d", "data.jsonl")
    assert done.returncode == 0, done.stderr
    (row,) = rows(tmp_path)
    assert row["system"] == f"127.0.0.1:{server.port}"
    assert (row["response"], float(row["f1"])) == ("Paris", 1.0)


@pytest.mark.parametrize(
    ("chosen", "asked"),
    [
        ([], ["gpt-4o-mini", "gpt-4o-mini"]),
        (["gpt-4"], ["gpt-4", "gpt-4"]),
        (["gpt-4", "gpt-4o"], ["gpt-4", "gpt-4o"]),
    ],
)
def test_names_and_models_belong_to_the_proxy_in_the_same_place(
    server, cb, tmp_path, chosen, asked
):
    """One model counts for all; systems stay in the order typed."""
    one, two = server.url(), server.url()
    flags = [flag for model in chosen for flag in ("--model", model)]
    done = cb(
        *("--proxy", one, "--name", "kompact", "--proxy", two, "--name", "headroom", *flags),
        *("-s", "identity", "-d", "data.jsonl"),
    )
    assert done.returncode == 0, done.stderr
    assert [row["system"] for row in rows(tmp_path)] == ["kompact", "headroom", "identity"]
    assert models(server, one, two) == asked


def test_a_run_file_has_the_same_keys(server, cb, tmp_path):
    """With one value or a list; a flag replaces its key."""
    one, two = server.url(), server.url()
    (tmp_path / "bench.yaml").write_text(
        f"proxy: ['{one}', '{two}']\nname: [a, b]\nmodel: gpt-4\ndatasets: [data.jsonl]\n"
    )
    assert cb("bench.yaml", "--model", "gpt-4o").returncode == 0
    assert [row["system"] for row in rows(tmp_path)] == ["a", "b"]
    assert models(server, one, two) == ["gpt-4o", "gpt-4o"]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--name", "a"], "--name is given 1 times and --proxy 0 times"),
        (["--model", "m"], "--model is given 1 times and --proxy 0 times"),
        (["--proxy", "http://h", "--name", "a", "--name", "b"], "--name is given 2 times"),
        (["--proxy", "http://h", "--proxy", "http://i", "--name", "a"], "--name is given 1 times"),
        (
            ["--proxy", "http://h", "--model", "m", "--model", "n"],
            "--model is given 2 times and --proxy 1 times",
        ),
        (["--proxy", "localhost:7878"], "it must begin with http:// or https://"),
        (["--proxy", "http://h", "--proxy", "http://h"], "two systems are called 'h'"),
    ],
)
def test_what_does_not_fit_together_is_refused(cb, flags, told):
    """Before anything is called, with what to write instead."""
    done = cb(*flags, "-d", "data.jsonl")
    assert done.returncode == 2
    assert told in done.stderr
    assert "hint: " in done.stderr


def test_without_the_plugin_it_says_what_to_install(cb):
    """Its flag belongs to a plugin that is known, installed or not."""
    done = cb("--proxy", "http://h", "-d", "data.jsonl", before=["--no-plugin", "cb-openai"])
    assert done.returncode == 3
    assert "cb-openai" in done.stderr
    assert "'proxy'" in done.stderr


def test_an_endpoint_that_is_not_there_is_told_as_such(cb):
    """Every row failed: exit code 4, and the reason once."""
    done = cb("--proxy", "http://127.0.0.1:9", "-d", "data.jsonl")
    assert done.returncode == 4
    assert "unreachable: cannot connect: Connection refused (127.0.0.1:9)" in done.stderr
