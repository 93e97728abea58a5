"""The smoke test: what a new user does first, with a `cb` of the clone or of an installation.

    python -m tools.release.smoke PATH_OF_CB

Everything runs in an empty folder with an empty home, offline. It ends with 1 at the first thing
that does not work.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

_OWN_CODE = '''\
def first_half(example, share: float = 0.5):
    """Keeps the first part of the context."""
    context = example["context"]
    return {"context": context[: int(len(context) * share)]}
'''
_OWN_DATA = '{"no": 1, "passage": "Basel: It lies on the Rhine.", "query": "What lies on the Rhine?", "gold": "Basel"}\n'


class Smoke:
    """Runs `cb` in a folder of its own, and stops at what does not go as it should."""

    def __init__(self, cb: Path, folder: Path) -> None:
        self.cb, self.folder = cb, folder
        kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        self.environment = {**kept, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}

    def __call__(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [str(self.cb), *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode != code:
            shown = " ".join(arguments)
            sys.exit(
                f"✗ exit {done.returncode}, not {code}: cb {shown}\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def rows(self, file: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads((self.folder / file).read_text())["rows"]
        return found


def plugins_work(cb: Smoke) -> None:
    """Every plugin is there, and none is broken."""
    cb("--version")
    cb("doctor")
    listed = json.loads(cb("list-plugins", "--json"))
    broken = [plugin["name"] for plugin in listed if plugin["status"] != "ok"]
    assert len(listed) > 1, "no plugin is installed"
    assert not broken, broken


def demo(cb: Smoke) -> None:
    """`cb run demo` needs no file, and writes its reports to the current folder."""
    cb("run", "demo")
    assert all(row["error"] is None for row in cb.rows("demo-results/result.json"))


def main_job(cb: Smoke) -> None:
    """Two systems on the bundled sample, with three reports, compared and gated."""
    systems = ("-s", "identity | extractive:name=full", "-s", "bm25:max_tokens=150 | extractive")
    reports = ("-o", "table", "-o", "html=report.html", "-o", "json=result.json")
    table = cb("run", *systems, "-d", "hotpotqa:sample", *reports)
    assert "quality (f1)" in table, table
    rows = cb.rows("result.json")
    assert len(rows) == 80
    assert all(row["error"] is None for row in rows)
    assert "<svg" in (cb.folder / "report.html").read_text(encoding="utf-8")
    cb("compare", "result.json")
    cb("gate", "result.json", "--max", "error_rate=1%")


def own_things(cb: Smoke) -> None:
    """A plain function on data with other names, from flags."""
    (cb.folder / "mine.py").write_text(_OWN_CODE)
    (cb.folder / "mine.jsonl").write_text(_OWN_DATA)
    names = ("context=passage", "question=query", "answer=gold", "id=no")
    fields = [part for name in names for part in ("--field", name)]
    system = "py:./mine.py:first_half:share=0.9 | extractive"
    cb("run", "-s", system, "-d", "mine.jsonl", *fields, "-o", "json=own.json")
    assert len(cb.rows("own.json")) == 1
    cb("info", "py:./mine.py:first_half")


def suites(cb: Smoke) -> None:
    """A suite of its own."""
    assert "HotpotQA" in cb("run", "--suite", "demo", "-s", "bm25:max_tokens=60 | extractive")


def beginnings(cb: Smoke) -> None:
    """`cb init` writes what runs at once, and `cb new` what can be installed."""
    cb("init", "bench", "--no-input")
    cb("run", "bench")
    cb("new", "evaluator", "smoke-score", "--no-input")
    assert (cb.folder / "cb-smoke-score" / "pyproject.toml").is_file()


STEPS: tuple[Callable[[Smoke], None], ...] = (
    *(plugins_work, demo, main_job, own_things, suites, beginnings),
)


def main(arguments: Sequence[str]) -> int:
    """Run every step."""
    cb = Path(arguments[0]).absolute()
    with tempfile.TemporaryDirectory(prefix="cb-smoke-") as folder:
        for step in STEPS:
            step(Smoke(cb, Path(folder)))
            print(f"✓ {step.__doc__}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
