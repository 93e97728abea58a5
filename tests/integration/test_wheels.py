"""What users install: wheels of core and plugins in a clean environment.

A forgotten data file, dependency or entry point fails here and nowhere else.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.tables import check_each

ROOT = Path(__file__).parents[2]
PLUGINS = sorted(source.parent.name for source in (ROOT / "plugins").glob("cb-*/src"))
HEAVY = {"datasets", "huggingface-hub", "numpy", "pandas", "pyarrow", "torch"}
MOST_BYTES = 150_000_000
BLOCK = re.MULTILINE | re.DOTALL

pytestmark = pytest.mark.slow


def run(*command, cwd, code=0, **environ):
    process = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**_clean_environment(), **environ},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert process.returncode == code, f"{command}\n{process.stdout}\n{process.stderr}"
    return process.stdout


def _clean_environment():
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "CB_DATA_DIR")}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Wheels of everything, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheels")
    projects = [ROOT, ROOT / "plugins" / "cb-bench", *(ROOT / "plugins" / name for name in PLUGINS)]
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", folder, *projects),
        cwd=folder,
    )
    return folder


@pytest.fixture(scope="module")
def installed(wheels, tmp_path_factory):
    """A new environment with the wheels, and what they require, in it."""
    folder = tmp_path_factory.mktemp("environment")
    return install(folder, wheels, *sorted(wheels.glob("*.whl")))


@pytest.fixture(scope="module")
def plain(wheels, tmp_path_factory):
    """A new environment after `pip install cb-bench`."""
    return install(tmp_path_factory.mktemp("plain"), wheels, "cb-bench")


def install(folder, wheels, *required):
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    run(
        *(python, "-m", "pip", "install", "--quiet", "--no-compile", "--find-links", wheels),
        *("-c", ROOT / "constraints.txt", *required),
        cwd=folder,
    )
    return folder


def cb(installed, *arguments, **keywords):
    keywords.setdefault("XDG_CACHE_HOME", str(installed / "cache"))
    return run(installed / "env" / "bin" / "cb", *arguments, cwd=installed, **keywords)


def test_every_plugin_is_there_and_works(installed):
    """The wheels carry their entry points, and every component can be imported."""
    cb(installed, "doctor")
    plugins = {
        plugin["name"]: plugin
        for plugin in json.loads(cb(installed, "doctor", "--json"))["plugins"]
    }
    assert set(plugins) == {"cbcore", *PLUGINS}
    assert {plugin["status"] for plugin in plugins.values()} == {"ok"}, plugins


def test_the_main_job_runs_from_the_wheels(installed):
    """The bundled sample, the tokenizers and every report are in the wheels."""
    cb(
        installed,
        *("run", "-s", "bm25:max_tokens=150 | extractive", "-s", "identity | extractive"),
        *("-d", "hotpotqa:sample", "-o", "table", "-o", "html=r.html", "-o", "json=r.json"),
    )
    result = json.loads((installed / "r.json").read_text())
    assert len(result["rows"]) == 80
    assert all(row["error"] is None and row["input_tokens"] > 100 for row in result["rows"])
    assert "<svg" in (installed / "r.html").read_text()


def test_the_smoke_test_of_the_clone_passes(installed):
    """What a new user does first, where nothing but the wheels is."""
    run(sys.executable, "-m", "tools.release.smoke", installed / "env" / "bin" / "cb", cwd=ROOT)


def test_the_plain_installation_has_no_heavy_library(plain):
    """At most 150 MB, pip included, and none of the libraries that extras bring."""
    site = next((plain / "env" / "lib").glob("python*/site-packages"))
    names = {d.metadata["Name"].lower() for d in importlib.metadata.distributions(path=[str(site)])}
    assert "cb-bench" in names
    assert not names & HEAVY
    # Commands compile the modules that they import, and others may not have run yet.
    files = (path for path in site.rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


def test_the_commands_of_the_readme_run_in_the_plain_installation(plain):
    """Those that need no endpoint, in a folder with nothing in it but the code that it shows."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", "")
    for name, code in re.findall(r'^```python title="(.+?)"\n(.+?)^```', text, BLOCK):
        (plain / name).write_text(code)
    shown = re.findall(r"^\$ cb (run .+)$", text, re.MULTILINE)
    commands = [shlex.split(one, comments=True) for one in shown if "http://" not in one]
    assert commands[0] == ["run", "demo"]
    for command in commands:
        cb(plain, *command)
    rows = json.loads((plain / "demo-results" / "result.json").read_text())["rows"]
    assert len(rows) == 280
    assert all(row["error"] is None for row in rows)
    run(sys.executable, "-m", "tools.release.smoke", plain / "env" / "bin" / "cb", cwd=ROOT)


@check_each("dataset", ["hotpotqa", "narrativeqa"])
def test_hub_data_in_the_plain_installation_names_the_extra(plain, dataset):
    """The hint is the command that brings the library."""
    arguments = ("run", "-s", "identity | extractive", "-d", dataset, "-n", "1")
    done = subprocess.run(
        [plain / "env" / "bin" / "cb", *arguments],
        cwd=plain,
        env=_clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "pip install 'cbcore[hf]'" in done.stderr) == (2, True), done.stderr


def test_the_python_interface_runs_from_the_wheels(installed):
    """What the first page shows, without the repository."""
    program = (
        "from cbcore import evaluate\n"
        "from cb_answerquality import AnswerQuality\n"
        "from cb_metrics import MeanScore\n"
        "class S:\n"
        "    name = 's'\n"
        "    def process(self, example): return {'response': 'Paris'}\n"
        "r = evaluate([S()], [{'context': 'c', 'answer': 'Paris'}], [AnswerQuality()], [MeanScore()])\n"
        "print(r.summary)\n"
    )
    out = run(installed / "env" / "bin" / "python", "-c", program, cwd=installed)
    assert out.strip() == "{'s': {'mean_score': 1.0}}"


def test_the_packages_are_typed(installed):
    """Each package carries its type marker."""
    site = next((installed / "env" / "lib").glob("python*/site-packages"))
    packages = ["cbcore", *(marker.parent.name for marker in ROOT.glob("plugins/*/src/*/py.typed"))]
    assert len(packages) == len(PLUGINS) + 1
    assert [name for name in packages if not (site / name / "py.typed").is_file()] == []


@contextlib.contextmanager
def moved_away(installed, name):
    """The environment without the modules and the metadata of a distribution."""
    site = next((installed / "env" / "lib").glob("python*/site-packages"))
    (distribution,) = importlib.metadata.distributions(name=name, path=[str(site)])
    parts = {file.parts[0] for file in distribution.files} - {".."}
    assert len(parts) >= 2
    away = installed / "away"
    away.mkdir()
    for part in parts:
        (site / part).rename(away / part)
    try:
        yield
    finally:
        for part in parts:
            (away / part).rename(site / part)
        away.rmdir()


@check_each("gone", PLUGINS)
def test_any_plugin_can_be_uninstalled(installed, gone):
    """The rest still lists, and a run that does not need the plugin still works."""
    with moved_away(installed, gone):
        plugins = json.loads(cb(installed, "list-plugins", "--json"))
        assert gone not in {plugin["name"] for plugin in plugins}
        (installed / "own.jsonl").write_text('{"id": 1, "context": "c", "answer": "Paris"}\n')
        (installed / "own.py").write_text(
            "class S:\n    name = 's'\n    def process(self, e): return {'response': 'Paris'}\n"
            "class R:\n    name = 'r'\n    def render(self, result): return result.to_json()\n"
        )
        out = cb(
            *(installed, "run", "-s", "py:./own.py:S", "-d", "own.jsonl"),
            *("-o", "py:./own.py:R" if gone == "cb-reporters" else "json"),
            *(("-m", "compression_ratio") if gone == "cb-answerquality" else ()),
        )
        row = json.loads(out)["rows"][0]
        assert row["response"] == "Paris"
        assert ("f1" in row["scores"]) is (gone != "cb-answerquality")
