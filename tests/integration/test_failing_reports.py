"""A report that fails is told by the exit code, and leaves what was there before."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forkserver import copy_plugin_cache, run_cb

REPORTERS = '''
import os, sys


class Failing:
    """Fails in the way it is told to, when it renders or while it writes."""

    extension = "txt"

    def __init__(self, how: str = "", name: str = "failing"):
        self.how, self.name = how, name

    def render(self, result):
        if self.how == "raises":
            raise ValueError("no")
        if self.how == "exits":
            sys.exit(0)
        return "new"


class Writing(Failing):
    def write(self, result, path):
        if self.how == "nothing":
            return
        with open(path, "w") as file:
            file.write("half")
            if self.how == "half":
                raise OSError(28, "No space left on device")
            file.write(" and half")
'''


@pytest.fixture
def cb(tmp_path):
    """Run `cb run` on two rows in an empty folder; returns the finished process."""
    (tmp_path / "reporters.py").write_text(REPORTERS)
    rows = [{"id": i, "context": "Paris", "question": "q", "answer": "Paris"} for i in range(2)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    copy_plugin_cache(tmp_path / "cache")

    def run(*outputs, stdout=None):
        arguments = ["run", "-s", "identity | extractive", "-d", "data.jsonl"]
        arguments += [argument for output in outputs for argument in ("-o", output)]
        if stdout is None:
            return run_cb(*arguments, cwd=tmp_path, env=environ)
        return subprocess.run(
            [sys.executable, "-m", "cbcore", *arguments],
            cwd=tmp_path,
            env=environ,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    "reporter",
    [
        *("Failing,how=raises", "Failing,how=exits"),
        *("Writing,how=half", "Writing,how=nothing"),
    ],
)
def test_a_report_that_fails_is_exit_code_8(cb, tmp_path, reporter):
    """The old one stays, and the others are written."""
    (tmp_path / "old.txt").write_text("old")
    done = cb(f"py:./reporters.py:{reporter}=old.txt", "json=good.json")
    assert done.returncode == 8, done.stderr
    assert (tmp_path / "old.txt").read_text() == "old"
    assert len(json.loads((tmp_path / "good.json").read_text())["rows"]) == 2
    assert "reporter 'failing' failed" in done.stderr
    assert "not every report was written: failing (old.txt)" in done.stderr
    assert [path.name for path in tmp_path.glob(".cb-part*")] == []


def test_reports_that_work_replace_the_old_ones(cb, tmp_path):
    """Also of a reporter that opens the file itself."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("old")
    done = cb("py:./reporters.py:Failing,how=ok=a.txt", "py:./reporters.py:Writing,how=ok=b.txt")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.txt").read_text() == "new"
    assert (tmp_path / "b.txt").read_text() == "half and half"


@pytest.mark.parametrize("output", ["json=/dev/full", "jsonl=/dev/full", "table=/dev/full"])
def test_a_full_device_is_a_failure(cb, output):
    """Of text and of files that a reporter writes itself."""
    done = cb(output)
    assert done.returncode == 8, done.stderr
    assert "No space left on device" in done.stderr


def test_a_full_standard_output_is_a_failure(cb):
    """Nobody has seen that report."""
    with Path("/dev/full").open("w") as full:
        done = cb("table", stdout=full)
    assert done.returncode == 8, done.stderr
    assert "table (standard output)" in done.stderr


def test_standard_output_by_its_name_is_written_directly(cb, tmp_path):
    """A file it is redirected to is not replaced under the shell's hands."""
    with (tmp_path / "redirected.jsonl").open("w") as file:
        file.write("before\n")
        file.flush()
        done = cb("jsonl=/dev/stdout", stdout=file)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "jsonl report: /dev/stdout\n"
    assert len((tmp_path / "redirected.jsonl").read_text().splitlines()) >= 2


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs a file system")
def test_a_full_disk_leaves_the_old_report(cb, tmp_path):
    """On a real file system without room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "x", disk], check=False
    ).returncode:
        pytest.skip("may not mount")
    try:
        (disk / "r.json").write_text("old")
        with pytest.raises(OSError, match="No space left"):
            (disk / "full").write_bytes(b"x" * 20_000)
        done = cb("json=disk/r.json")
        assert done.returncode == 8, done.stderr
        assert "No space left on device" in done.stderr
        assert sorted(path.name for path in disk.iterdir()) == ["full", "r.json"]
        assert (disk / "r.json").read_text() == "old"
    finally:
        subprocess.run(["umount", disk], check=True)
