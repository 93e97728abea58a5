"""Components that return, raise and score what no caller expects, thrown by dice.

All is made of a `random.Random`: one that hypothesis hands out, and so can make smaller, or one
with a seed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import numpy

from cb_metrics import MeanScore
from cb_reporters import Csv, Html, JsonLines, Markdown, Table
from cbcore import EvalResult, Scored, evaluate
from cbcore.exceptions import DataError, MissingScoreError, ProcessError, StoreError, UsageError

REPORTERS = [Table(), Markdown(), Html(), Csv(), JsonLines()]


class OwnBaseError(BaseException):
    """What test frameworks end tests with."""


RAISED: list[Callable[[Any], BaseException]] = [
    *(ValueError, KeyError, RecursionError, MemoryError, StopIteration, StopAsyncIteration),
    *(SystemExit, GeneratorExit, OwnBaseError, OSError, TimeoutError, BrokenPipeError),
    *(lambda _: asyncio.TimeoutError(), lambda _: UnicodeDecodeError("utf-8", b"x", 0, 1, "")),
    *(lambda _: UsageError("why"), lambda _: StoreError("why"), lambda _: DataError("why")),
    *(lambda _: MissingScoreError("why"), lambda _: ProcessError("why")),
]
METHODS = ["__str__", "__repr__", "__float__", "__int__", "__index__", "__bool__", "__eq__"]
METHODS += ["__hash__", "__len__", "__iter__", "__getitem__", "__contains__", "__fspath__"]
METHODS += ["__deepcopy__", "__reduce_ex__", "__format__", "__getattribute__", "__class__"]
METHODS += ["keys", "items", "values", "get", "copy", "tolist", "encode", "split", "__sub__"]
FIELDS = ["response", "context", "question", "turn_responses", "tool_calls", "usage", "metadata"]
FIELDS += ["responses", "stage_usage", "api_usage", "answer", "id", "choices", "more", "error"]


def exception(dice: Random, depth: int = 1) -> BaseException:
    """An exception, perhaps with arguments that have no text, and a cause that is itself."""
    error = dice.choice(RAISED)(value(dice, depth))
    if dice.random() < 0.1:
        error.__cause__ = error
    return error


def monster(dice: Random) -> Any:
    """An object some of whose methods raise, derived from something that looks harmless."""
    base = dice.choice([object, object, dict, list, str, int, float, Exception])
    raised = dice.choice([ValueError, RecursionError, SystemExit, OwnBaseError, KeyError])

    def fail(*_: object, **__: object) -> Any:
        raise raised("no")

    methods: dict[str, Any] = dict.fromkeys(dice.sample(METHODS, dice.randint(1, 4)), fail)
    if "__class__" in methods:
        methods["__class__"] = property(fail)
    if "__eq__" in methods:
        methods.setdefault("__hash__", object.__hash__)
    return type("Monster", (base,), methods)()


def nested(levels: int) -> Any:
    inside: Any = 1
    for _ in range(levels):
        inside = [inside] if levels % 2 else {"k": inside}
    return inside


def loop() -> list[Any]:
    found: list[Any] = [1]
    found += [found, {"again": found}]
    return found


PLAIN: list[Callable[[Random], Any]] = [
    lambda _: None,
    lambda dice: dice.choice([True, 0, -1, 10**20, 10**400, -(10**5000)]),
    lambda dice: dice.choice([0.5, math.nan, math.inf, -math.inf, 5e-324, 1.7e308, -0.0]),
    lambda dice: dice.choice(["", "Paris", "\ud800", "\0\x1b[2J\u202e", "x" * 7_000, "</script>"]),
    lambda dice: dice.choice([b"x", bytearray(b"\xff"), memoryview(b"y")]),
    lambda dice: dice.choice([complex(1, 2), object, len, threading.Lock(), Ellipsis]),
    lambda dice: dice.choice([numpy.float32("nan"), numpy.array([[1, 2]]), numpy.int64(3)]),
    lambda dice: dice.choice([nested(300), nested(3001), nested(20_000), loop()]),
    lambda dice: dice.choice([iter([1]), itertools.count(), range(10**9), {1, "a"}]),
    monster,
    monster,
]


def value(dice: Random, depth: int = 3) -> Any:
    """Anything at all, also made of such things."""
    kind = dice.randrange(12 if depth else 8)
    if kind < 8:
        return dice.choice(PLAIN)(dice)
    members = [value(dice, depth - 1) for _ in range(dice.randrange(4))]
    if kind == 8:
        return members
    if kind == 9:
        return tuple(members)
    keys = [dice.choice(["k", "api_key", 1, None, ("t",), 10**5000, "\ud800"]) for _ in members]
    return dict(zip(keys, members, strict=True))


def output(dice: Random) -> Any:
    """What a system returns: mostly a dict with fields that are read."""
    if dice.random() < 0.15:
        return value(dice)
    fields = dice.sample(FIELDS, dice.randint(1, 4))
    return {"response": "Paris", **{field: value(dice) for field in fields}}


def scores(dice: Random) -> Any:
    """What an evaluator returns: a score, anything as one, or anything beside one."""
    kind = dice.randrange(6)
    if kind == 0:
        return value(dice)
    if kind == 1:
        return {"quality": value(dice)}
    if kind == 2:
        return {
            dice.choice(["quality", "", 1, None, "\ud800", "a" * 999]): 1.0,
            "more": value(dice),
        }
    if kind == 3:
        return Scored({"quality": 1.0}, {}, value(dice))
    if kind == 4:
        return Scored(value(dice), value(dice), value(dice))
    return Scored({}, {"quality": value(dice)}, {"why": value(dice)})


class Returning:
    """Returns, for each example, what was thrown for it; or raises it."""

    name = "returning"
    identity = "hostile"

    def __init__(self, acts: list[tuple[str, Any]]) -> None:
        self._done = acts  # by another name, as parameters are written down

    def process(self, example: dict[str, Any]) -> Any:
        verb, what = self._done[example["number"]]
        if verb == "raise":
            raise what
        return what


class Awaited(Returning):
    name = "awaited"

    async def aprocess(self, example: dict[str, Any]) -> Any:
        return self.process(example)


class Scoring(Returning):
    name = "scoring"
    emits = ("quality",)

    def score(self, original: dict[str, Any], processed: Any) -> Any:
        return self.process(original)


class Judging(Scoring):
    name = "judging"

    async def ascore(self, original: dict[str, Any], processed: Any) -> Any:
        return self.process(original)


class Fits:
    """A score that is always there."""

    name = "fits"
    emits = ("fits",)

    def score(self, original: dict[str, Any], processed: Any) -> dict[str, float]:
        return {"fits": 1.0}


def acts(dice: Random, make: Callable[[Random], Any], n: int) -> list[tuple[str, Any]]:
    """What a component does with each of `n` examples."""
    verbs = [dice.choice(["return", "return", "raise"]) for _ in range(n)]
    return [(verb, exception(dice) if verb == "raise" else make(dice)) for verb in verbs]


def run_hostile(dice: Random, folder: Path, counts: Counter[str]) -> None:
    """One run of hostile components, and all that can be made of its result."""
    n = dice.randint(1, 6)
    data = [{"id": f"e{i}", "number": i, "context": "c", "answer": "Paris"} for i in range(n)]
    system = dice.choice([Returning, Awaited])(acts(dice, output, n))
    evaluator = dice.choice([Scoring, Judging])(acts(dice, scores, n))
    settings: dict[str, Any] = {"max_workers": dice.choice([None, 1, 3])}
    settings["rows"] = dice.choice(["memory", "disk"])
    settings["timeout_s"] = dice.choice([None, 60.0])
    stores = dice.random() < 0.5
    for _ in range(1 + stores):
        result = evaluate(
            [system],
            data,
            [evaluator, Fits()],
            [MeanScore("quality"), MeanScore("fits")],
            score_field="quality",
            progress=False,
            cache_dir=folder if stores else None,
            **settings,
        )
        check_result(result, [example["id"] for example in data])
        counts["rows checked"] += n
    counts["faults injected"] += 2 * n


def check_result(result: EvalResult, ids: Iterable[str]) -> None:
    """One row for each example, errored or with a score; every report can be made and read."""
    assert [row.example_id for row in result.rows] == [*ids]
    assert result.config["state"] == "finished"
    for row in result.rows:
        assert row.error is None or not row.scores
        assert row.error is not None or "quality" in {*row.scores, *row.missing}
        assert row.error is not None or "fits" in {*row.scores, *row.missing}
        assert all(math.isfinite(score) for score in row.scores.values())
    document = result.to_json()
    json.loads(document, parse_constant=_refuse)
    assert [row.example_id for row in EvalResult.from_json(document).rows] == [*ids]
    for reporter in REPORTERS:
        assert reporter.render(result)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")
