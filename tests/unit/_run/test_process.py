"""What components may do to the process of a run."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cbcore._run import process


def test_a_hard_exit_is_an_error_while_a_run_is_under_way():
    """And what it was before and afterwards, however many runs overlap."""
    real = os._exit
    first, second = process.surviving_exits(), process.surviving_exits()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with pytest.raises(process.HardExitError, match=r"it called os\._exit\(3\)"):
        os._exit(3)
    second.__exit__(None, None, None)
    assert os._exit is real


CHILD = """
import os
from cbcore._run import process

with process.surviving_exits():
    here = process.current
    child = os.fork()
    if not child:
        {does}
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), process.current == here == os.getpid())
"""


@pytest.mark.parametrize(
    ("does", "code"),
    [
        ("os._exit(5)", 5),
        ("process.current == here or process.leave_copy('a system')", 1),
        ("process.current == os.getpid() and os._exit(7)", 7),
    ],
)
def test_a_forked_process_ends_as_it_means_to_or_as_a_copy(does, code):
    """It has a number of its own, and its parent keeps its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD.format(does=does)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == f"{code} True\n", done.stderr
    assert ("a system forked and returned twice" in done.stderr) == ("leave_copy" in does)
