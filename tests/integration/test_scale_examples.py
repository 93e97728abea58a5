"""The ready examples for clusters and CI: they are what those would run, so here they are run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from cbcore.cli import cli

SCALE = Path(__file__).resolve().parents[2] / "examples" / "scale"
SCRIPTS = sorted(SCALE.glob("*.sbatch"))
WORKFLOW = SCALE / "github-matrix.yml"


@pytest.fixture
def folder(tmp_path):
    """A working folder with the run file, and `cb` on the path."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cb").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cbcore "$@"\n')
    (tmp_path / "bin" / "cb").chmod(0o755)
    shutil.copy(SCALE / "cb.yaml", tmp_path)
    return tmp_path


def bash(folder, *arguments, **environ):
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PATH": path, **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def rows_of(path):
    return len(json.loads(path.read_text())["rows"])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_of_slurm_is_bash_with_directives_in_front(script):
    """Slurm reads no directive behind the first command."""
    subprocess.run(["bash", "-n", script], check=True)
    lines = script.read_text().splitlines()
    assert lines[0] == "#!/bin/bash"
    directives = [n for n, line in enumerate(lines) if line.startswith("#SBATCH")]
    commands = [n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    assert directives
    assert max(directives) < min(commands)
    assert all(re.fullmatch(r"#SBATCH --[a-z-]+=\S+", lines[n]) for n in directives)


def test_an_array_of_jobs_is_merged(folder):
    """Job by job as Slurm would start them; one is started twice, as after a failure."""
    for task in ("1", "2", "3", "2"):
        bash(folder, SCALE / "shards.sbatch", "cb.yaml", SHARDS="3", SLURM_ARRAY_TASK_ID=task)
    bash(folder, SCALE / "merge.sbatch")
    assert rows_of(folder / "results" / "merged.json") == 80


def test_the_array_has_as_many_jobs_as_there_are_shards():
    """Two places say it, since a job cannot ask for the first."""
    script = (SCALE / "shards.sbatch").read_text()
    assert re.search(r"--array=1-(\d+)", script)[1] == re.search(r"SHARDS:-(\d+)", script)[1]


def test_the_matrix_of_jobs_is_merged(folder):
    """Every command of the workflow, with what its expressions stand for."""
    workflow = yaml.safe_load(WORKFLOW.read_text())
    shards = workflow["jobs"]["shard"]["strategy"]["matrix"]["shard"]
    assert shards == list(range(1, workflow["env"]["SHARDS"] + 1))
    summary = folder / "summary.md"
    environ = {"SHARDS": str(workflow["env"]["SHARDS"]), "GITHUB_STEP_SUMMARY": str(summary)}
    for number in shards:
        for command in commands_of(workflow["jobs"]["shard"]):
            text = command.replace("${{ matrix.shard }}", str(number))
            assert "${{" not in text
            bash(folder, "-c", text, **environ)
        shutil.rmtree(folder / ".cb")  # another machine
    for command in commands_of(workflow["jobs"]["merge"]):
        bash(folder, "-c", command, **environ)
    assert rows_of(folder / "merged.json") == 80
    assert "full context" in summary.read_text()


def commands_of(job):
    return [s["run"] for s in job["steps"] if s.get("run", "pip").split()[0] != "pip"]


def test_what_the_workflow_leaves_is_what_it_fetches():
    """The name of an artefact fits the pattern, and every action has a version."""
    workflow = yaml.safe_load(WORKFLOW.read_text())
    steps = {name: job["steps"] for name, job in workflow["jobs"].items()}
    (left,) = [s["with"] for s in steps["shard"] if "upload" in s.get("uses", "")]
    (fetched,) = [s["with"] for s in steps["merge"] if "download" in s.get("uses", "")]
    assert left["name"].startswith(fetched["pattern"].rstrip("*"))
    assert workflow["jobs"]["merge"]["needs"] == "shard"
    used = [s["uses"] for all_steps in steps.values() for s in all_steps if "uses" in s]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", action) for action in used)


@pytest.mark.parametrize("path", [*SCRIPTS, WORKFLOW], ids=lambda path: path.name)
def test_every_option_in_the_examples_is_one_of_the_command(path):
    """Also of those that no test happens to reach."""
    text = path.read_text().replace("\\\n", " ")
    found = re.findall(r"^(?:\s*- run: )?cb (\w+)(.*)$", text, re.MULTILINE)
    assert found
    for name, rest in found:
        context = cli.make_context("cb", ["--help"], resilient_parsing=True)
        command = cli.get_command(context, name)
        if hasattr(command, "commands"):
            command = command.commands[rest.split()[0]]
        parameters = command.get_params(click.Context(command, context))
        known = {option for parameter in parameters for option in parameter.opts}
        assert set(re.findall(r"(?<!\S)--[\w-]+", rest)) <= known
