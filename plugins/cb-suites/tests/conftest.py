"""Shared by all tests: `cb` in a process of its own, with nothing of the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def cb(tmp_path):
    """Run `cb` in an empty folder, with these environment variables on top."""

    def run(*arguments, **environ):
        kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        home = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home")}
        return subprocess.run(
            [sys.executable, "-m", "cbcore", *arguments],
            cwd=tmp_path,
            env={**kept, **home, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def lines_of(cb):
    """Run a suite and give each line of its table by its path."""

    def run(suite, system, *arguments, **environ):
        chosen = ("--suite", suite, "--system", system)
        done = cb("run", *chosen, *arguments, "--output", "json", **environ)
        assert done.returncode == 0, done.stderr
        return {
            line["path"]: line for line in json.loads(done.stdout)["sections"]["suites"]["lines"]
        }

    return run


@pytest.fixture
def data_dir(tmp_path):
    """Write files of rows that stand in for the hub; gives the folder for `CB_DATA_DIR`."""

    def write(files):
        for name, rows in files.items():
            path = tmp_path / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return str(Path(tmp_path / "data"))

    return write
