"""What a program costs in the sandbox: run it with the interpreter that has cb-code-execution.

Two asserts on an addition, again and again, by each mechanism; and calls of one program, which
each go to another process and back.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from cb_code_execution import SandboxError
from cb_code_execution.limits import Limits
from cb_code_execution.machine import MECHANISMS, find
from cb_code_execution.sandbox import Sandbox

ADD = "def add(a, b):\n    return a + b\n"
ASSERTS = "assert add(1, 2) == 3\nassert add(2, 2) == 4\n"
CALLS = 20_000


def took_ms(sandbox: Sandbox, tests: str) -> float:
    """How long one program takes, from its sources to the end of its last process."""
    begin = time.perf_counter()
    outcome = sandbox.run(ADD, tests)
    if not outcome.passed:
        raise SystemExit(str(outcome))
    return 1000 * (time.perf_counter() - begin)


def main() -> None:
    """Print one line for each mechanism that works here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=100)
    programs = parser.parse_args().programs
    for mechanism in MECHANISMS:
        try:
            sandbox = find(Limits(time_s=60), mechanisms=(mechanism,))
        except SandboxError as error:
            sys.stdout.write(f"{mechanism}: {error.message}\n")
            continue
        found = sorted(took_ms(sandbox, ASSERTS) for _ in range(programs))
        calls_ms = took_ms(sandbox, f"for i in range({CALLS}):\n    assert add(i, i) == 2 * i\n")
        each_us = 1000 * (calls_ms - found[0]) / CALLS
        sys.stdout.write(
            f"{mechanism}: a program {statistics.median(found):.1f} ms (least {found[0]:.1f}), "
            f"a call {each_us:.0f} us\n"
        )


if __name__ == "__main__":
    main()
