"""Shared by all tests: `cb` in a process of its own, with nothing of the machine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cb_suites.bounded import child, worker
from cbcore import evaluate
from tests.forkserver import copy_plugin_cache, run_cb


@pytest.fixture
def cb(tmp_path):
    """Run `cb` in an empty folder, with these environment variables on top."""
    copy_plugin_cache(tmp_path / "home")

    def run(*arguments, **environ):
        kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        home = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home")}
        return run_cb(*arguments, cwd=tmp_path, env={**kept, **home, **environ})

    return run


@pytest.fixture(scope="module")
def short_time_limit():
    """Patterns and templates may take half a second and 400 MB, in new processes."""
    limit = "from cb_suites.bounded import child; child.MOST_CPU_S = 0.5"
    limit += "; child.MOST_MEMORY = 400_000_000"
    worker.WORKERS.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "MOST_CPU_S", 0.5)
        patch.setattr(worker, "_PROGRAM", worker._PROGRAM.replace("; main()", f"; {limit}; main()"))
        assert limit in worker._PROGRAM
        yield
        worker.WORKERS.close()


@pytest.fixture
def lines_of(tmp_path, monkeypatch):
    """Run a suite and give each line of its table by its path."""
    monkeypatch.chdir(tmp_path)

    def run(suite, system, **options):
        result = evaluate([system], suites=[suite], progress=False, **options)
        return {line["path"]: line for line in result.sections["suites"].lines}

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
