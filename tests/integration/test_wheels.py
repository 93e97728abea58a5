"""What users install: wheels of core and plugins in a clean environment.

A forgotten data file, dependency or entry point fails here and nowhere else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGINS = sorted(path.name for path in (ROOT / "plugins").iterdir() if path.is_dir())

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
    projects = [ROOT, *(ROOT / "plugins" / name for name in PLUGINS)]
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
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    run(
        *(python, "-m", "pip", "install", "--quiet", "--find-links", wheels),
        *("-c", ROOT / "constraints.txt", *sorted(wheels.glob("*.whl"))),
        cwd=folder,
    )
    return folder


def cb(installed, *arguments, **keywords):
    keywords.setdefault("XDG_CACHE_HOME", str(installed / "cache"))
    return run(installed / "env" / "bin" / "cb", *arguments, cwd=installed, **keywords)


def test_every_plugin_is_there_and_works(installed):
    """The wheels carry their entry points, and every component can be imported."""
    plugins = {
        plugin["name"]: plugin for plugin in json.loads(cb(installed, "list-plugins", "--json"))
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
    run(sys.executable, "-m", "release.smoke", installed / "env" / "bin" / "cb", cwd=ROOT)


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


@pytest.mark.parametrize("gone", PLUGINS)
def test_any_plugin_can_be_uninstalled(installed, wheels, gone):
    """The rest still lists, and a run that does not need the plugin still works."""
    python = installed / "env" / "bin" / "python"
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", gone, cwd=installed)
    try:
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
    finally:
        (wheel,) = wheels.glob(f"{gone.replace('-', '_')}-*.whl")
        run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel, cwd=installed)
