"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CHECK = "from cb_testing import check_plugin; check_plugin('cb-ray').assert_ok()"


@pytest.mark.slow
def test_conformance(tmp_path):
    """Every rule of the kit holds. In a process of its own: a Ray that starts there changes what
    this one could join."""
    done = subprocess.run(
        [sys.executable, "-c", CHECK],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
