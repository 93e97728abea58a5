"""The page on security: each of its promises has a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import cbcore

ROOT = Path(cbcore.__file__).parent.parent
PAGE = (ROOT / "docs/explanation/security.md").read_text(encoding="utf-8")


def test_every_attack_names_tests_that_exist():
    table = PAGE.partition("## How it is tested")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert rows
    for row in rows:
        files = re.findall(r"`((?:tests|plugins)/[^`]*\.py)`", row)
        assert files, row
        for file in files:
            assert "def test_" in (ROOT / file).read_text(encoding="utf-8"), file
