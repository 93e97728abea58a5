"""`cb` where something is missing or in the way: streams, the working folder, names of files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fake_distributions import Workplace

CB = Path(sys.executable).with_name("cb")
"""The script. `python -m cbcore` puts the working folder on the import path by itself."""

ROW = '{"id": 1, "context": "a word", "question": "q", "answer": "word"}\n'
RUN = ("-d", "data.jsonl", "--tokenizer", "words", "--no-cache")

SYSTEM = """
{imports}

class System:
    name = "mine"

    def process(self, example):
        return {{"response": {response}}}
"""


def shell(workplace: Workplace, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in the working folder, `$CB` being the command."""
    workplace.write("data.jsonl", ROW)
    return subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=workplace.folder,
        env=workplace.environment(CB=str(CB)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# -- streams -----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["--help", "--version", "list systems", "list-plugins --json"])
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"], ids=["output", "all"])
def test_output_that_nobody_gets_is_no_success(
    workplace: Workplace, command: str, closed: str
) -> None:
    """Exit code 1, and the reason where there is somebody to tell."""
    done = shell(workplace, f"$CB {command} {closed}")

    assert done.returncode == 1
    told = "cb: error: standard output is closed: nothing can be written\n"
    assert done.stderr == (told if closed == ">&-" else "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_run_that_writes_files_needs_no_streams(workplace: Workplace, closed: str) -> None:
    """Nothing is printed, so nothing is lost; and no file gets what was meant for a stream."""
    run = "run -s 'identity | extractive' -d data.jsonl --tokenizer words -o json=out.json"

    done = shell(workplace, f"$CB {run} {closed}")

    assert done.returncode == 0, done.stderr
    assert len(json.loads((workplace.folder / "out.json").read_text())["rows"]) == 1
    again = shell(workplace, f"$CB {run} && $CB runs")
    assert again.returncode == 0, again.stderr


def test_errors_that_nobody_gets_are_no_output(workplace: Workplace) -> None:
    """The exit code tells."""
    done = shell(workplace, "$CB no-such-command 2>&-")

    assert (done.returncode, done.stdout) == (2, "")


# -- the working folder ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("--help", 0),
        ("list systems", 0),
        ("list-plugins", 0),
        ("doctor", 3),
        ("run -s identity -d hotpotqa:sample -n 1", 6),
        ("run -s extractive -d hotpotqa:sample -n 1 --cache-dir ../elsewhere", 6),
        ("run -s extractive -d hotpotqa:sample -n 1 --cache-dir $HERE/elsewhere", 0),
        ("run -s extractive -d hotpotqa:sample -n 1 --timeout inf --no-cache", 2),
        ("run -s py:mine:System -d hotpotqa:sample -n 1 --no-cache", 2),
    ],
)
def test_a_working_folder_that_is_gone(workplace: Workplace, command: str, code: int) -> None:
    """What needs none works; what does says so, and is no defect."""
    done = shell(workplace, f'HERE=$PWD; mkdir gone; cd gone; rmdir "$PWD"; $CB {command}')

    assert done.returncode == code, done.stderr
    assert "defect" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("named", ["py:mine:System", "py:./mine.py:System"])
@pytest.mark.parametrize("shadow", ["statistics", "cb_metrics", "click", "splintr", "json"])
def test_a_file_here_takes_the_place_of_no_module(
    workplace: Workplace, shadow: str, named: str
) -> None:
    """Although the user's own modules are found here."""
    workplace.write(f"{shadow}.py", "raise RuntimeError('run by accident')")
    workplace.write("mine.py", SYSTEM.format(imports="import beside", response="beside.WORD"))
    workplace.write("beside.py", "import statistics\nWORD = 'found'\n")

    done = shell(workplace, f"$CB run -s {named} {' '.join(RUN)} -o json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"][0]["response"] == "found"


@pytest.mark.parametrize("option", ["-s py:statistics:System", "--import statistics -s identity"])
def test_a_name_that_means_two_modules_is_refused(workplace: Workplace, option: str) -> None:
    """The file is taken when it is named as one."""
    workplace.write("statistics.py", SYSTEM.format(imports="", response="'mine'"))

    done = shell(workplace, f"$CB run {option} {' '.join(RUN)}")
    named = shell(workplace, f"$CB run -s py:./statistics.py:System {' '.join(RUN)} -o json")

    assert done.returncode == 2
    assert "name the file, as in ./statistics.py" in done.stderr
    assert json.loads(named.stdout)["rows"][0]["response"] == "mine"


def test_modules_beside_a_file_are_found(workplace: Workplace) -> None:
    """Wherever it is."""
    (workplace.folder / "code").mkdir()
    workplace.write("code/mine.py", SYSTEM.format(imports="import beside", response="beside.WORD"))
    workplace.write("code/beside.py", "WORD = 'found'\n")

    done = shell(workplace, f"$CB run -s py:./code/mine.py:System {' '.join(RUN)} -o json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"][0]["response"] == "found"


# -- the home ----------------------------------------------------------------------------------


@pytest.mark.parametrize("home", ["/dev/null/nowhere", "$PWD/data.jsonl"])
def test_a_home_that_cannot_be_written(workplace: Workplace, home: str) -> None:
    """What would be remembered there is found out each time."""
    line = f"env -u XDG_CACHE_HOME HOME={home} $CB run -s 'identity | extractive' {' '.join(RUN)}"

    done = shell(workplace, line)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("flags", ["-I", "-OO", "-W error", "-X utf8=0"])
def test_flags_of_the_interpreter(workplace: Workplace, flags: str) -> None:
    """They change nothing."""
    done = shell(workplace, f"{sys.executable} {flags} $CB run -s 'identity | extractive' "
                            f"{' '.join(RUN)} -o json")  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 1
