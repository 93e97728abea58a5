"""The pytest plugin: opt-in, and its fixtures work in a suite of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import cb_testing
from cbcore.registry import load_dataset

pytest_plugins = ["cb_testing"]

SYSTEM = "class S:\n    '''Says hello.'''\n    name = 's'\n    def process(self, example):\n        return {'response': 'hello'}\n"


@pytest.mark.parametrize("process", [False, True], ids=["here", "process"])
def test_cb_runs_with_a_plugin_made_for_the_test(cb_runner, tmp_plugin, process):
    """Exit code and both streams come back."""
    name = tmp_plugin("cb-hello", {"cb.systems": {"hello": "cb_hello:S"}}, {"cb_hello.py": SYSTEM})
    done = cb_runner("list", "systems", process=process)
    assert done.exit_code == 0, done.stderr
    assert "hello" in done.stdout
    assert name in done.stdout
    wrong = cb_runner("run", "--system", "helo", "--dataset", "x.jsonl", process=process)
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "did you mean hello" in wrong.stderr


@pytest.mark.parametrize("process", [False, True], ids=["here", "process"])
def test_cb_runs_apart_from_the_user(cb_runner, monkeypatch, process):
    """Settings of the user do not count, those of the test do; nothing is left behind."""
    monkeypatch.setenv("CB_DISABLE_PLUGINS", "no-such-plugin")
    before = dict(os.environ), Path.cwd(), sys.argv
    assert cb_runner("list-plugins", process=process).exit_code == 0
    disabled = {"CB_DISABLE_PLUGINS": "no-such-plugin"}
    assert cb_runner("list-plugins", process=process, env=disabled).exit_code == 2
    assert (dict(os.environ), Path.cwd(), sys.argv) == before


def test_cb_works_in_a_folder_of_its_own(cb_runner):
    """Files of the test are put there by its name."""
    (cb_runner.folder / "data.jsonl").write_text(
        '{"id": 1, "context": "a", "question": "a?", "answer": "a"}\n'
    )
    done = cb_runner("run", "-s", "identity | extractive", "-d", "data.jsonl", "-o", "csv=out.csv")
    assert done.exit_code == 0, done.stderr
    assert (cb_runner.folder / "out.csv").read_text().count("\n") == 2


def test_a_run_here_leaves_the_process_as_it_was(cb_runner):
    """Ctrl-C is still for pytest, and no thread waits for the end of the process."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers], threading.enumerate()
    run = ("run", "-s", "identity | extractive", "-d", "hotpotqa:sample", "-n", "1")
    assert cb_runner(*run).exit_code == 0
    assert ([signal.getsignal(number) for number in numbers], threading.enumerate()) == before


def test_a_tmp_plugin_is_seen_from_python(tmp_plugin):
    """Also after something was looked up already."""
    source = "def data():\n    '''Data.'''\n    return [{'id': 1, 'context': 'a'}]\n"
    tmp_plugin("cb-one", {"cb.datasets": {"one": "cb_one:data"}}, {"cb_one.py": source})
    assert load_dataset("one")
    tmp_plugin("cb-two", {"cb.datasets": {"two": "cb_one:data"}})
    assert load_dataset("two") == [{"id": 1, "context": "a"}]


def test_a_tmp_plugin_is_gone_after_its_test():
    """The module of the test above is not importable any more."""
    assert "cb_one" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        __import__("cb_one")


def run_pytest(folder, *arguments):
    # Nothing of this run's settings: a stranger's suite, with warnings as errors.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**environment, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("where", ["conftest.py", "test_it.py"])
def test_a_suite_opts_in_with_one_line(tmp_path, where):
    """In its conftest or a test module, also when the package was imported before."""
    lines = {
        "conftest.py": "import cb_testing\n",
        "test_it.py": "def test_it(cb_runner, tmp_plugin):\n    assert cb_runner('--version').exit_code == 0\n",
    }
    lines[where] += 'pytest_plugins = ["cb_testing"]\n'
    for name, text in lines.items():
        (tmp_path / name).write_text(text)
    done = run_pytest(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_suite_that_does_not_opt_in_pays_nothing(tmp_path):
    """Neither the fixtures nor the package are there."""
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_nothing():\n    assert not any(m.startswith('cbcore') for m in sys.modules)\n"
        "def test_fixture(cb_runner):\n    pass\n"
    )
    done = run_pytest(tmp_path)
    assert "1 passed, 1 error" in done.stdout
    assert "fixture 'cb_runner' not found" in done.stdout


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import cbcore", {"cb_testing", "pytest"}),
        ("import cb_testing", {"pytest", "_pytest", "datasets", "numpy", "rich", "structlog"}),
    ],
)
def test_importing_stays_light(statement, absent):
    """pytest is imported by pytest."""
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not absent & set(done.stdout.split())


def test_the_public_names():
    """One assertion holds what authors may rely on."""
    assert cb_testing.__all__ == [
        "AsyncFakeSystem",
        "BrokenDataset",
        "Case",
        "FakeDataset",
        "FakeEvaluator",
        "FakeSystem",
        "FaultyEvaluator",
        "FaultySystem",
        "Given",
        "MutatingSystem",
        "Report",
        "SlowSystem",
        "Unchecked",
        "Verdict",
        "WrongSystem",
        "catalog_from",
        "check_plugin",
        "rule",
    ]
    for name in cb_testing.__all__:
        assert hasattr(cb_testing, name)
