"""Build every distribution into dist/, and try them where nothing else is.

    python -m tools.release.dist [FOLDER]

Wheels and source archives are built, their metadata and licences looked at, and everything is
installed into a new environment: what is ours from that folder alone. The smoke test of the
clone then runs there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Sequence
from email import message_from_string
from pathlib import Path

from tools.release.projects import ROOT, Project, inconsistencies, name_of, projects


def main(arguments: Sequence[str]) -> int:
    """Build and check; 1 if anything is wrong, which is told line by line."""
    folder = Path(arguments[0] if arguments else ROOT / "dist").resolve()
    found = projects()
    problems = [*inconsistencies(found)]
    if not problems:
        build(found, folder)
        problems = [*archive_problems(found, folder)]
    if not problems:
        _run(sys.executable, "-m", "twine", "check", "--strict", *sorted(folder.glob("*")))
        with tempfile.TemporaryDirectory(prefix="cb-dist-") as scratch:
            python = install(found, folder, Path(scratch) / "env")
            _run(sys.executable, "-m", "tools.release.smoke", python.parent / "cb")
    for problem in problems:
        print(f"✗ {problem}", file=sys.stderr)
    if not problems:
        print(f"✓ {len(found)} distributions in {folder}, installed and tried")
    return 1 if problems else 0


def build(found: Sequence[Project], folder: Path) -> None:
    """A wheel and a source archive of each, and nothing older beside them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for project in found:
        print(f"building {project.name} {project.version}")
        command = (sys.executable, "-m", "hatchling", "build", "-d", folder)
        _run(*command, cwd=project.folder, quietly=True)


def archive_problems(found: Sequence[Project], folder: Path) -> Iterator[str]:
    """What is wrong with the archives themselves."""
    for project in found:
        stem = f"{project.name.replace('-', '_')}-{project.version}"
        wheel, source = folder / f"{stem}-py3-none-any.whl", folder / f"{stem}.tar.gz"
        for archive in (wheel, source):
            if not archive.is_file():
                yield f"{archive.name} was not built"
        if wheel.is_file() and source.is_file():
            yield from _contents_problems(project, wheel, source)


def _contents_problems(project: Project, wheel: Path, source: Path) -> Iterator[str]:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        stated = message_from_string(archive.read(metadata).decode("utf-8"))
    if stated["Version"] != project.version:
        yield f"{wheel.name} says that it is version {stated['Version']}"
    for field in ("Summary", "License-Expression", "Requires-Python", "Description-Content-Type"):
        if not stated[field]:
            yield f"{wheel.name} does not state {field}"
    if not any(name.endswith("licenses/LICENSE") for name in names):
        yield f"{wheel.name} does not carry its licence"
    code = [name for name in names if "/_template/" not in name]
    stray = [name for name in code if "/tests/" in name or "__pycache__" in name]
    if stray:
        yield f"{wheel.name} carries {stray[0]}"
    with tarfile.open(source) as archive_of_sources:
        members = archive_of_sources.getnames()
    for needed in ("LICENSE", "README.md", "pyproject.toml"):
        if f"{source.name.removesuffix('.tar.gz')}/{needed}" not in members:
            yield f"{source.name} does not carry {needed}"


def install(found: Sequence[Project], folder: Path, place: Path) -> Path:
    """An environment in which everything is installed: ours from the folder, and nowhere else."""
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    ours = {project.name for project in found}
    _run(*pip, "--no-index", "--no-deps", "--find-links", folder, *sorted(ours))
    # With the extras of the core, which cb-bench asks for. Those of plugins are whole other tools.
    required = [r for p in found for r in (p.requirements if p.folder == ROOT else p.dependencies)]
    others = {r for r in required if name_of(r) not in ours}
    _run(*pip, "-c", ROOT / "constraints.txt", *sorted(others))
    _run(python, "-m", "pip", "check", quietly=True)
    return python


def _run(*command: object, cwd: Path = ROOT, quietly: bool = False) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdout=subprocess.PIPE if quietly else None,
        stderr=subprocess.STDOUT if quietly else None,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        shown = " ".join(map(str, command))
        sys.exit(f"{done.stdout or ''}✗ exit {done.returncode}: {shown}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
