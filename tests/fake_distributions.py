"""Plugins made on the spot: importable distributions written into a folder, and `cb` beside them.

A distribution is what an installer leaves behind: modules and a `.dist-info` folder. Writing
one takes a millisecond, so a test can have exactly the plugins it speaks of.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.forkserver import copy_plugin_cache, run_cb

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGES = Path(__file__).parent / "packages"
"""Real plugins, good and broken, each with its `pyproject.toml`."""

SYSTEM = """
class System:
    '''Answer with a word.'''

    name = "{name}"

    def process(self, example):
        return {{"response": "word"}}
"""
"""Source of a module that holds a working system."""

_TRACE = """
import atexit, json, os, sys

def _trace(folder=os.environ.get("CB_TEST_TRACE")):
    if folder:
        with open(os.path.join(folder, f"{os.getpid()}.json"), "w") as out:
            json.dump({"argv": sys.orig_argv[1:], "modules": sorted(sys.modules)}, out)

atexit.register(_trace)
_trace()
"""


def write_distribution(
    folder: Path,
    name: str,
    entries: Mapping[str, Mapping[str, str]] | None = None,
    modules: Mapping[str, str] | None = None,
    *,
    version: str = "1.0",
    requires: Iterable[str] = ("cbcore>=0.1",),
    summary: str = "Made for a test",
) -> Path:
    """Write a distribution and return its `.dist-info` folder.

    `entries` maps entry-point groups to names and targets, `modules` file paths to sources.
    """
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    headers = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    headers += [f"Summary: {summary}", *(f"Requires-Dist: {r}" for r in requires)]
    (info / "METADATA").write_text("\n".join(headers) + "\n\nA description.\n", encoding="utf-8")
    sections = [
        "\n".join([f"[{group}]", *(f"{key} = {value}" for key, value in table.items())])
        for group, table in (entries or {}).items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    for path, source in (modules or {}).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    written = [*(modules or {}), *(f"{info.name}/{f}" for f in ("METADATA", "entry_points.txt"))]
    record = "".join(f"{path},,\n" for path in [*written, f"{info.name}/RECORD"])
    (info / "RECORD").write_text(record, encoding="utf-8")
    return info


def write_system(folder: Path, distribution: str, component: str, source: str = "") -> Path:
    """Write a distribution that offers one system by a static entry point."""
    module = distribution.replace("-", "_")
    return write_distribution(
        folder,
        distribution,
        {"cb.systems": {component: f"{module}:System"}},
        {f"{module}.py": source or SYSTEM.format(name=component)},
    )


def write_hooks(folder: Path, distribution: str, source: str, **keywords: Any) -> Path:
    """Write a distribution whose one module is a hook module."""
    module = distribution.replace("-", "_")
    return write_distribution(
        folder,
        distribution,
        {"cb.plugins": {distribution: module}},
        {f"{module}.py": source},
        **keywords,
    )


def write_package(folder: Path, name: str) -> Path:
    """Write one of `tests/packages` as an installer would, without building it."""
    project = tomllib.loads((PACKAGES / name / "pyproject.toml").read_text(encoding="utf-8"))
    table = project["project"]
    shutil.copytree(
        PACKAGES / name / "src",
        folder,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return write_distribution(
        folder,
        name,
        table["entry-points"],
        version=table["version"],
        requires=table["dependencies"],
        summary=table["description"],
    )


class Workplace:
    """A folder to work in, a folder of plugins on the import path, and `cb` in a process."""

    def __init__(self, root: Path, *, cold: bool = False) -> None:
        """The plugin cache knows the installed plugins already, unless it is to be `cold`."""
        self.site = root / "site"
        self.folder = root / "work"
        self.cache = root / "cache"
        self.traces = root / "traces"
        for folder in (self.site, self.folder, self.cache, self.traces):
            folder.mkdir()
        if not cold:
            copy_plugin_cache(self.cache)

    def install(self, *packages: str) -> None:
        """Add some of `tests/packages`."""
        for name in packages:
            write_package(self.site, name)

    def environment(self, **changes: str) -> dict[str, str]:
        """What a process gets: nothing of the machine but where programs are."""
        kept = {k: os.environ[k] for k in ("PATH", "SYSTEMROOT", "LANG") if k in os.environ}
        return {
            **kept,
            "PYTHONPATH": str(self.site),
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": str(self.cache),
            "HOME": str(self.cache),
            **changes,
        }

    def cb(
        self, *arguments: str, process: bool = False, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `cb` to its end, with these environment variables on top.

        With `process` in a new interpreter, else in a fork of one that has imported the core.
        """
        env = self.environment(**environ)
        return run_cb(*arguments, cwd=self.folder, env=env, process=process)

    def json(self, *arguments: str, **environ: str) -> Any:
        """Run `cb`, expect success, and read the whole of standard output as JSON."""
        done = self.cb(*arguments, "--json", **environ)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def plugins(self, *arguments: str, **environ: str) -> dict[str, dict[str, Any]]:
        """`cb list-plugins --json` by name."""
        return {
            record["name"]: record for record in self.json("list-plugins", *arguments, **environ)
        }

    def traced(self, *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[Any]]:
        """Run `cb`; also tell of each Python process that ran its arguments and its modules.

        The process of `cb` itself comes first.
        """
        (self.site / "sitecustomize.py").write_text(_TRACE, encoding="utf-8")
        for old in self.traces.iterdir():
            old.unlink()
        done = self.cb(*arguments, process=True, CB_TEST_TRACE=str(self.traces))
        processes = [json.loads(file.read_text()) for file in self.traces.iterdir()]
        processes.sort(key=lambda process: process["argv"][:2] != ["-m", "cbcore"])
        return done, processes

    def write(self, name: str, text: str) -> Path:
        """Write a file into the working folder."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path
