"""Evaluators: what they declare, what they return, and what they make of odd input."""

from __future__ import annotations

import copy
import math
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cb_testing import samples
from cb_testing.cases import Case
from cb_testing.rule_registry import Unchecked, rule
from cbcore.boundary import contained, describe_exception
from cbcore.exceptions import ScoringError
from cbcore.results import Scored

N_THREADS = 8


def _pairs(case: Case) -> list[samples.Pair]:
    return copy.deepcopy([*case.examples, *samples.pairs()])


def try_score(case: Case, pair: samples.Pair) -> Any:
    """The scores, or the exception in their place."""
    with contained() as tried:
        return case.call("score", "ascore", *pair)
    return tried.error


def _fresh_score(case: Case, pair: samples.Pair) -> Any:
    """As `try_score`, on a copy: an evaluator that changes its input is told so elsewhere."""
    return try_score(case, copy.deepcopy(pair))


def _scored(case: Case) -> list[Mapping[str, Any]]:
    """The scores of the pairs that got any."""
    outcomes = [_plain(try_score(case, pair)) for pair in _pairs(case)]
    return [scores for scores in outcomes if isinstance(scores, Mapping) and scores]


def _plain(outcome: Any) -> Any:
    """The scores of an outcome, without what a `Scored` says beside them."""
    return outcome.scores if isinstance(outcome, Scored) else outcome


def _told(outcome: Any) -> str:
    """An outcome as text, by which two are compared; the order of scores does not matter."""
    if isinstance(outcome, BaseException):
        return describe_exception(outcome)
    return repr(dict(sorted(outcome.items(), key=repr)) if isinstance(outcome, dict) else outcome)


def _declared(case: Case) -> tuple[str, ...]:
    return tuple(getattr(case.value, "emits", ()) or case.component.emits)


def _unscored() -> Unchecked:
    return Unchecked("it scores none of the made-up examples: give it some that it can score")


@rule("evaluator-emits", "evaluator")
def emits(case: Case) -> Iterator[str]:
    """`emits` names exactly the scores that it returns."""
    scored = _scored(case)
    returned = {str(name) for scores in scored for name in scores}
    declared = set(_declared(case))
    if not declared:
        named = f": {', '.join(sorted(returned))}" if returned else ""
        yield f"declare `emits`, the names of its scores{named}"
    elif not scored:
        yield _unscored()
    else:
        for name in sorted(returned - declared):
            yield f"add {name!r} to `emits`: score returned it"
        for name in sorted(declared - returned):
            yield f"score never returned {name!r}: take it out of `emits`, or give an example of it"


@rule("evaluator-finite", "evaluator")
def finite(case: Case) -> Iterator[str]:
    """Scores are a dict from text to finite numbers."""
    outcomes = [try_score(case, pair) for pair in _pairs(case)]
    returned = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    yield from filter(None, map(_wrong, returned))
    if not returned:
        yield _unscored()


def _wrong(scores: Any) -> str | None:
    scores = _plain(scores)
    if not isinstance(scores, Mapping):
        return f"return a dict of scores, not a {type(scores).__name__}"
    for name, value in scores.items():
        if not isinstance(name, str):
            return f"name scores by texts, not {name!r}"
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            fix = "raise MissingScoreError where there is none"
            return f"return {name!r} as a finite float, not {value!r}; {fix}"
    return None


@rule("evaluator-deterministic", "evaluator")
def deterministic(case: Case) -> Iterator[str]:
    """The same output gets the same scores every time."""
    for pair in _pairs(case):
        first, second = _fresh_score(case, pair), _fresh_score(case, pair)
        if _told(first) != _told(second):
            yield (
                "score the same output alike each time; seed what is random: "
                f"first {_told(first)}, then {_told(second)}"
            )
            return


@rule("evaluator-thread-safe", "evaluator")
def thread_safe(case: Case) -> Iterator[str]:
    """Scoring from several threads at once gives what scoring one by one gives."""
    pairs = _pairs(case)
    expected = [_told(_fresh_score(case, pair)) for pair in pairs]
    if expected != [_told(_fresh_score(case, pair)) for pair in pairs]:
        return  # not deterministic to begin with, which is told elsewhere
    for found in _from_threads(case, pairs):
        for wanted, got in zip(expected, found, strict=True):
            if wanted != got:
                yield (
                    "keep nothing in attributes while scoring: called from "
                    f"{N_THREADS} threads it gave {got} instead of {wanted}"
                )
                return


def _from_threads(case: Case, pairs: Sequence[samples.Pair]) -> list[list[str]]:
    """The outcomes that each of the threads saw, all having started together."""
    together = threading.Barrier(N_THREADS)
    seen: list[list[str]] = [[] for _ in range(N_THREADS)]

    def work(number: int) -> None:
        together.wait()
        # Each thread begins elsewhere, so that different pairs are scored at the same time.
        order = [(number + step) % len(pairs) for step in range(len(pairs))]
        found = {index: _told(_fresh_score(case, pairs[index])) for index in order}
        seen[number] = [found[index] for index in range(len(pairs))]

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(N_THREADS)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return seen


@rule("evaluator-pure", "evaluator")
def pure(case: Case) -> Iterator[str]:
    """Scoring changes neither the example nor the output."""
    for pair in _pairs(case):
        original, processed = before = copy.deepcopy(pair)
        try_score(case, pair)
        for what, was, now in (
            ("the example", original, pair[0]),
            ("the output", processed, pair[1]),
        ):
            if was != now:
                changed = [key for key in {**was, **now} if was.get(key) != now.get(key)]
                yield f"copy {what} before changing it: score changed {', '.join(map(repr, changed))}"
        if before != pair:
            return


@rule("evaluator-copes", "evaluator")
def copes(case: Case) -> Iterator[str]:
    """Odd input gets scores, or a `MissingScoreError` or `ScoringError` with the reason."""
    needs = tuple(getattr(case.value, "needs", ()))
    for what, pair in samples.hostile_pairs(needs):
        outcome = _fresh_score(case, pair)
        if isinstance(outcome, BaseException) and not isinstance(outcome, ScoringError):
            yield f"raise MissingScoreError with the reason for {what}: it raised {_told(outcome)}"
            return
