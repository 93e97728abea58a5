"""What is missing before a release: `python -m tools.release.check` says it, line by line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator

from tools.release.projects import CORE, META, ROOT, inconsistencies, projects

DIRECTORY = "plugins/cb-manage/src/cb_manage/directory.json"


def missing() -> Iterator[str]:
    """Everything that still has to be done, as sentences."""
    found = projects()
    yield from inconsistencies(found)
    version = next(project.version for project in found if project.name == CORE)
    yield from _changelog(version)
    plugins = [project.name for project in found if project.name not in (CORE, META)]
    yield from _named_everywhere(plugins)
    if _git("status", "--porcelain"):
        yield "there are changes that are not committed"
    if f"v{version}" in _git("tag", "--list").split():
        yield f"version {version} is tagged already: raise it"
    done = subprocess.run(
        [sys.executable, "tools/docs/generate.py", "--check"], cwd=ROOT, check=False
    )
    if done.returncode != 0:
        yield "generated pages are out of date: make docs"
    built = {path.name for path in (ROOT / "dist").glob("*.whl")}
    for project in found:
        wheel = f"{project.name.replace('-', '_')}-{project.version}-py3-none-any.whl"
        if wheel not in built:
            yield f"dist/{wheel} is not there: make dist"


def _changelog(version: str) -> Iterator[str]:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    head = re.search(rf"^## \[{re.escape(version)}\] - (.+)$", text, re.MULTILINE)
    if head is None:
        yield f"CHANGELOG.md has no section for {version}"
    elif not re.fullmatch(r"\d{4}-\d{2}-\d{2}", head[1].strip()):
        yield f"CHANGELOG.md: {version} is {head[1].strip()!r}, not dated"


def _named_everywhere(plugins: list[str]) -> Iterator[str]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    directory = json.loads((ROOT / DIRECTORY).read_text(encoding="utf-8"))
    listed = {entry["name"] for entry in directory}
    for name in plugins:
        if f"plugins/{name}/README.md" not in readme:
            yield f"README.md does not name {name}"
        if name not in listed:
            yield f"{DIRECTORY} does not list {name}"


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def main() -> int:
    """Print what is missing; 1 where something is."""
    found = list(missing())
    for line in found:
        print(f"✗ {line}")
    print("nothing is missing" if not found else f"{len(found)} things to do before a release")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
