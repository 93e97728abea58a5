"""What the tests share: `cb` in a process of its own, with no plugin but what is tested."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def cb(tmp_path: Path) -> Callable[..., str]:
    """Run `cb` with the given arguments, expect success, and return what it prints.

{% if cookiecutter.kind in ("suite", "format", "option") %}
    `pieces.py` is in its working folder.
    """
    (tmp_path / "pieces.py").write_bytes((HERE / "pieces.py").read_bytes())
{% else %}
    `pieces.py` and `questions.jsonl` are in its working folder.
    """
    for name in ("pieces.py", "questions.jsonl"):
        (tmp_path / name).write_bytes((HERE / name).read_bytes())
{% endif %}
    environment = {
        **os.environ,
{% if cookiecutter.__also %}
        "CB_ONLY_PLUGINS": "{{ cookiecutter.__distribution }},{{ cookiecutter.__also }}",
{% else %}
        "CB_ONLY_PLUGINS": "{{ cookiecutter.__distribution }}",
{% endif %}
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "cbcore", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
