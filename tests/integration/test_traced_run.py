"""How much of the core lies between a command and the code of the user."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TRACED_RUN = Path(__file__).parents[1] / "traced_run.py"


def test_few_functions_lead_to_the_code_of_the_user():
    done = subprocess.run(
        [sys.executable, str(TRACED_RUN)], check=True, capture_output=True, text=True
    )
    entered = json.loads(done.stdout)
    assert entered["frames"][-5:] == [
        "Runner._run",
        "Runner._collect",
        "Pair.fill",
        "Pair.run_blocking",
        "Chain.process",
    ]
    assert len(entered["frames"]) <= 8
    assert entered["modules"] <= 62
