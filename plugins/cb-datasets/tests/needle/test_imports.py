"""The import cost of the tasks that are made offline."""

from __future__ import annotations

import subprocess
import sys


def test_needle_imports_neither_the_table_nor_the_hub():
    """They belong to the other datasets of the package."""
    code = (
        "import sys; from cb_datasets.needle import Needle, NeedleGrid, NeedleMatch;"
        "next(iter(Needle(length=200))); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    others = {"cb_datasets.catalog", "cb_datasets.loading", "cbcore.hf", "datasets", "pyarrow"}
    assert not others & set(done.stdout.split())
