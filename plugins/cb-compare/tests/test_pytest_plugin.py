"""A benchmark as a test, in a project of its own."""

from __future__ import annotations

import os
import subprocess
import sys

PROJECT = """
from cb_compare import assert_no_regression

class Reader:
    name = "reader"
    def __init__(self, broken=()):
        self.broken = broken
    def process(self, example):
        return {**example, "response": "no" if example["id"] in self.broken else example["answer"]}

DATA = [{"id": i, "context": "c", "question": "q?", "answer": f"word{i}"} for i in range(40)]

def test_kept(cb_run):
    base = cb_run([Reader()], DATA, ["answer_quality"])
    assert_no_regression(cb_run([Reader()], DATA, ["answer_quality"]), base)

def test_lost(cb_run):
    base = cb_run([Reader()], DATA, ["answer_quality"])
    now = cb_run([Reader(range(9))], DATA, ["answer_quality"])
    assert_no_regression(now, base, max_drop=0.02)
"""


def test_the_fixture_runs_and_the_assertion_names_examples(tmp_path):
    """One test passes, one fails with the rule and the examples in its message."""
    (tmp_path / "test_benchmark.py").write_text(PROJECT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        check=False,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "AssertionError: broken: max-drop f1=0.02 for reader" in done.stdout
    assert "lost most: 0 (1" in done.stdout


def test_the_plugin_itself_imports_nothing_of_cb():
    """It is loaded in every test run of every project on the machine."""
    code = (
        "import sys, cb_compare.pytest_plugin\n"
        "heavy = {'numpy', 'cbcore.api', 'cbcore.results', 'cb_compare.comparing'}\n"
        "sys.exit(repr(heavy & sys.modules.keys()) if heavy & sys.modules.keys() else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
