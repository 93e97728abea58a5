"""The faults of these tests for as long as one likes, with dice that no test has thrown.

    make soak SOAK_MINUTES=30

Prints what was done as a table and exits with 1 when something failed; a failure is told with
what makes it again: `make soak SOAK_KIND=… SOAK_SEED=…`.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cb_openai.testing import FaultServer
from cbcore.cli.kit import echo_columns
from tests.faults.endpoint import run_against
from tests.faults.forked import Forks
from tests.faults.hostile import run_hostile
from tests.faults.kills import kill_and_resume
from tests.faults.store_faults import ALWAYS, ERRORS, Place, fail_at_sizes, fail_everywhere

COUNTED = ("rounds", "kills", "faults injected", "rows checked", "repeats", "failures")
Round = Callable[[Path, int, "Counter[str]"], None]


def rounds(forks: Forks, server: FaultServer) -> dict[str, Round]:
    """One round of each kind of fault: it takes an empty folder, a seed, and what to count in."""
    return {
        "kills": lambda folder, seed, counts: kill_and_resume(forks, folder, seed, counts),
        "store": lambda folder, seed, counts: store_round(Place(folder, forks), seed, counts),
        "components": lambda folder, seed, counts: run_hostile(random.Random(seed), folder, counts),
        "endpoint": lambda folder, seed, counts: run_against(
            server, folder, random.Random(seed), counts
        ),
    }


def store_round(place: Place, seed: int, counts: Counter[str]) -> None:
    """Every statement with one error, and some sizes of files."""
    dice = random.Random(seed)
    error = dice.choice(ERRORS)
    # A lock is waited for, a minute long.
    times = 1 if "locked" in error else dice.choice([1, 2, ALWAYS])
    fail_everywhere(place, error, dice.choice(["before", "after"]), times, seed % 2 == 0, counts)
    fail_at_sizes(place, [dice.randrange(100_000) for _ in range(10)], seed % 2 == 0, counts)


def soak(minutes: float, seed: int, only: str) -> dict[str, Counter[str]]:
    """Round after round, each kind with an equal share of the time; the counts of each kind."""
    counts: dict[str, Counter[str]] = {}
    spent: Counter[str] = Counter()
    end = time.monotonic() + 60 * minutes
    with Forks() as forks, FaultServer() as server:
        kinds = {kind: one for kind, one in rounds(forks, server).items() if only in ("", kind)}
        counts.update({kind: Counter() for kind in kinds})
        while time.monotonic() < end or not all(spent[kind] for kind in kinds):
            kind = min(kinds, key=lambda name: spent[name])
            started = time.monotonic()
            attempt(kind, kinds[kind], seed, counts[kind])
            spent[kind] += time.monotonic() - started  # type: ignore[assignment]
            seed += 1
    return counts


def attempt(kind: str, one: Round, seed: int, counts: Counter[str]) -> None:
    """One round. A failure is told, and its folder kept."""
    folder = Path(tempfile.mkdtemp(prefix=f"cb-soak-{kind}-"))
    counts["rounds"] += 1
    try:
        # What is wrong with hostile things is reported thousands of times.
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stderr(nowhere):
            one(folder, seed, counts)
    except (Exception, SystemExit):
        counts["failures"] += 1
        print(f"\nfailed: SOAK_KIND={kind} SOAK_SEED={seed}, in {folder}", file=sys.stderr)
        traceback.print_exc()
    else:
        shutil.rmtree(folder)


def main() -> int:
    """Soak as the environment says."""
    minutes = float(os.environ.get("SOAK_MINUTES", "10"))
    seed = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(10**9))
    os.environ.pop("OPENAI_API_KEY", None)
    print(f"soaking for {minutes:g} minutes, from SOAK_SEED={seed}", flush=True)
    counts = soak(minutes, seed, os.environ.get("SOAK_KIND", ""))
    echo_columns(
        ("FAULTS", *(word.upper() for word in COUNTED)),
        [(kind, *(f"{found[word]:,}" for word in COUNTED)) for kind, found in counts.items()],
    )
    return int(any(found["failures"] for found in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
