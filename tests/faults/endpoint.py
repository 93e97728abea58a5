"""An endpoint that misbehaves in another way at each request, and what a run makes of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from cb_openai import OpenAI
from cb_openai.testing import FAULTS, FaultServer
from cb_openai.testing_replies import BODIES, REPLIES
from cb_openai.testing_streams import STREAM_FAULTS
from cbcore import EvalRow, evaluate
from cbcore.exceptions import RunStoppedError

SLOW = ("hang", "drip", "endless", "large")
"""What takes until a time limit; in a random run, of a second."""
WITHOUT_USAGE = {name for name, reply in REPLIES.items() if "usage" not in reply}
WITHOUT_USAGE |= {"zero_usage", "odd_usage"}
NOT_BILLED = {*BODIES, *WITHOUT_USAGE, "status", "echo_key", "redirect", "drop_at_once"}
"""Where nothing was answered, or nobody can know what it cost."""
MISCHIEF = sorted({*FAULTS} - {*SLOW, *STREAM_FAULTS})

EXAMPLES = [{"id": i, "context": "Paris is in France.", "question": "Where?"} for i in range(40)]
COST = (60 * 2.5 + 40 * 1.25 + 2 * 10) / 1e6
"""What the server's usual usage costs at the list price of gpt-4o: 100 tokens, 40 cached, and 2."""


def run_against(server: FaultServer, folder: Path, dice: Random, counts: Counter[str]) -> None:
    """One run with a budget against an endpoint with a random row of faults."""
    faults = [
        dice.choice([*MISCHIEF, "ok", "ok", *["ok"] * 10]) for _ in range(dice.randint(1, 30))
    ]
    url = server.url(fault=",".join(faults))
    # The most that a call is taken to cost is hardly more than the server bills.
    system = OpenAI(url, "gpt-4o", max_tokens=21, backoff_s=0.001, timeout_s=20, max_retries=0)
    settings: dict[str, Any] = {"max_workers": dice.choice([1, 4, 32])}
    if dice.random() < 0.7:
        settings["budget_usd"] = COST * dice.uniform(1.1, 25)
    rows, why = rows_of(system, cache_dir=folder, **settings)
    billed = check_endpoint_run(rows, why, server.requests(url), faults)
    assert billed <= settings.get("budget_usd", math.inf), (billed, settings, faults)
    counts["rows checked"] += len(rows)
    counts["faults injected"] += len(server.requests(url))


def rows_of(system: OpenAI, **settings: Any) -> tuple[Sequence[EvalRow], str]:
    """The rows of a run, and what stopped it."""
    settings = {"evaluators": [], "metrics": [], "max_errors": math.inf, **settings}
    try:
        return evaluate([system], EXAMPLES, **settings).rows, ""
    except RunStoppedError as stopped:
        return stopped.result.rows if stopped.result else [], stopped.message


def check_endpoint_run(
    rows: Sequence[EvalRow], why: str, requests: list[Any], faults: list[str]
) -> float:
    """Rows are answers or errors, one for each request; what was billed, as the server knows it."""
    ids = [row.example_id for row in rows]
    assert ids == [example["id"] for example in EXAMPLES][: len(ids)]
    assert len(ids) == len(EXAMPLES) or "budget" in why, why
    for row in rows:
        assert row.error is None or row.response is None, row
    assert len(requests) == len(ids)
    sent = [faults[number % len(faults)] for number in range(len(requests))]
    return COST * sum(fault not in NOT_BILLED for fault in sent)
