"""Log lines during a run: those of libraries in a file, those of plugins on the terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RUN = """
import json, logging, sys
from cbcore import evaluate

class Logs:
    name = "logs"

    def process(self, example):
        logging.getLogger("urllib3").warning("of a library")
        logging.getLogger("cb.openai").warning("of a plugin")
        logging.getLogger("cb.openai").info("a detail of a plugin")
        return {"response": "a"}

result = evaluate([Logs()], [{"id": 1, "context": "c"}], [], [], progress=False, cache_dir=sys.argv[1])
print(json.dumps(result.config["run_id"]))
"""


def test_lines_of_libraries_go_to_a_file_and_warnings_of_plugins_are_shown(tmp_path: Path) -> None:
    """In a program that has set no logging up."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)], capture_output=True, text=True, check=True
    )
    (line,) = (tmp_path / "logs" / f"{json.loads(done.stdout)}.log").read_text().splitlines()
    assert line.endswith("WARNING urllib3: of a library")
    assert done.stderr.count("of a plugin") == 1
    assert "of a library" not in done.stderr
