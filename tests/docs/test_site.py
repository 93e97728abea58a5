"""The documentation as a static site."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_site_builds_without_warnings_and_loads_nothing_from_outside(tmp_path):
    """Every page is built, links and anchors hold, and no page fetches a foreign resource."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / ".mkdocs.yml", tmp_path)
    built = subprocess.run(
        [
            Path(sys.executable).with_name("zensical"),
            "build",
            "--strict",
            "--clean",
            "-f",
            ".mkdocs.yml",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    pages = {page.relative_to(ROOT / "docs").with_suffix("") for page in ROOT.glob("docs/**/*.md")}
    site = tmp_path / "site"
    assert {page.relative_to(site).with_suffix("") for page in site.glob("**/*.html")} >= pages
    foreign = re.compile(r'(?:src|<link[^>]*href)="https?://')
    assert [page for page in site.glob("**/*.html") if foreign.search(page.read_text())] == []
