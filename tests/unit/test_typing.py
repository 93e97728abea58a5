"""User code type-checks against the public interface, and does what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USER_CODE = ROOT / "tests" / "typing" / "api.py"


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """Run `mypy --strict` on a file; the checks of one module share what mypy remembers."""
    cache = tmp_path_factory.mktemp("mypy")

    def run(path):
        return subprocess.run(
            [
                *(sys.executable, "-m", "mypy", "--strict", "--no-error-summary"),
                *("--config-file", str(ROOT / "pyproject.toml")),
                *("--cache-dir", str(cache), str(path)),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_user_code_type_checks(check, tmp_path):
    """Structural classes fit their roles, and those that do not are told; so is a wrong use."""
    done = check(USER_CODE)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from cbcore import EvalRow\n"
        "from cbcore.protocols import System\n"
        "row: str = EvalRow('s', 1).latency\n"
        "def use(system: System) -> None: ...\n"
        "use(5)\n"
    )
    done = check(wrong)
    assert done.returncode == 1
    assert '"float", variable has type "str"' in done.stdout
    assert 'has incompatible type "int"; expected "System"' in done.stdout


def test_user_code_runs(tmp_path):
    """The file that type-checks is a program that works."""
    code = (
        "import runpy, sys\n"
        "names = runpy.run_path(sys.argv[1])\n"
        "assert len(names['main']().rows) == 4\n"
        "assert names['careful']() is None\n"
        "result = names['asyncio'].run(names['later']())\n"
        "print(len(result.rows), 'row')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(USER_CODE)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "shouting: {'longest': 5.0" in done.stdout
    assert done.stdout.endswith("1 row\n")
