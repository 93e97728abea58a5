"""User code as it should type-check under `mypy --strict`, without subclassing anything.

Lines that must not type-check carry `type: ignore`; strict mode reports those that are not needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import cbcore
from cb_memory import MemorySystem
from cbcore import Component, EvalResult, EvalRow, Owner, hookimpl
from cbcore.exceptions import CBError, MissingScoreError, RunStoppedError
from cbcore.protocols import (
    AsyncEvaluator,
    AsyncSystem,
    ComparingMetric,
    Evaluator,
    Example,
    Metric,
    Output,
    Reporter,
    Run,
    Scores,
    System,
    Tokenizer,
)
from cbcore.registry import load_dataset, registry


class Shouting:
    """A system with a plain attribute for a name."""

    name = "shouting"

    def __init__(self, times: int = 1) -> None:
        self.times = times

    def process(self, example: Example) -> Output:
        return {"response": str(example["question"]).upper() + "!" * self.times}


class Waiting:
    """An awaited system whose name is a property."""

    @property
    def name(self) -> str:
        return "waiting"

    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"response": example["question"]}


class Length:
    """An evaluator, plain and awaited."""

    name = "length"
    emits = ("length",)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        if "response" not in processed:
            raise MissingScoreError("there is no response")
        return {"length": float(len(processed["response"]))}

    async def ascore(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        return self.score(original, processed)


class Longest:
    """A metric of one system, and a comparison of all."""

    name = "longest"

    def __init__(self, score_field: str = "length") -> None:
        self.score_field = score_field

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]:
        return {"longest": max((row.scores[self.score_field] for row in rows), default=0.0)}


class Rank:
    name = "rank"

    def compare(
        self, rows_by_system: Mapping[str, Sequence[EvalRow]]
    ) -> dict[str, dict[str, float]]:
        return {system: {"rank": float(n)} for n, system in enumerate(rows_by_system, start=1)}


class Text:
    name = "text"
    extension = "txt"

    def render(self, result: EvalResult) -> str:
        lines = [f"{system}: {values}" for system, values in result.summary.items()]
        return "\n".join(lines)


class Letters:
    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


class Memory:
    name = "memory"

    def __init__(self) -> None:
        self.items: list[Any] = []

    def reset(self) -> None:
        self.items.clear()

    def ingest(self, items: Sequence[Any]) -> None:
        self.items.extend(items)

    def query(self, question: str, budget: int | None = None) -> str:
        return str(self.items[-1])


class Nothing:
    name = "nothing"


class WrongTypes:
    name = "wrong"

    def process(self, example: str) -> str:
        return example

    def compute(self, rows: Sequence[EvalRow]) -> float:
        return 0.0


system: System = Shouting()
awaited: AsyncSystem = Waiting()
evaluator: Evaluator = Length()
judge: AsyncEvaluator = Length()
metric: Metric = Longest()
ranking: ComparingMetric = Rank()
reporter: Reporter = Text()
tokenizer: Tokenizer = Letters()
memory: MemorySystem = Memory()

no_system: System = Nothing()  # type: ignore[assignment]
no_reporter: Reporter = Nothing()  # type: ignore[assignment]
wrong_system: System = WrongTypes()  # type: ignore[assignment]
wrong_metric: Metric = WrongTypes()  # type: ignore[assignment]


class Plugin:
    """A hook module as a class."""

    @hookimpl
    def cb_systems(self) -> list[Component]:
        return [Component(kind="system", name="shouting", target=Shouting, owner=Owner("x", "1"))]

    @hookimpl
    def cb_row_finished(self, row: EvalRow) -> None:
        print(row.system, row.scores.get("length"))

    @hookimpl
    def cb_run_finished(self, run: Run, result: EvalResult) -> None:
        print(run.run_id, result.config["state"], len(result.rows))


def questions(n: int | None = None) -> Iterator[dict[str, Any]]:
    for index in range(n or 3):
        yield {"id": index, "question": "why " * index}


def main() -> EvalResult:
    """A whole run, and what can be asked of its result."""
    registry.register("dataset", "typing-questions", questions, replace=True)
    names: list[str] = registry.list("dataset")
    assert "typing-questions" in names
    result = cbcore.evaluate(
        systems=[system, awaited],
        dataset=load_dataset("typing-questions", n=2),
        evaluators=[evaluator],
        metrics=[metric, ranking],
        max_workers=2,
        max_examples=2,
        text_fields=["question"],
        tokenizer=tokenizer,
        progress=False,
        on_error="continue",
    )
    value: float | None = result.summary["shouting"]["longest"]
    row: EvalRow = result.rows[0]
    identifier: str | int = row.example_id
    scores: dict[str, float] = row.scores
    error: str | None = row.error
    seconds: float = result.timing["shouting"]
    only: EvalResult = result.filter(system="shouting")
    again: EvalResult = EvalResult.from_json(result.to_json())
    scored: int = result.counts("length")["shouting"].scored
    print(value, identifier, scores, error, seconds, only.systems, again.problems, scored)
    print(reporter.render(result))
    return result


def wrong_argument() -> EvalResult:
    return cbcore.evaluate([system], [], progress="no")  # type: ignore[arg-type]


def careful() -> EvalResult | None:
    """Errors carry their facts."""
    try:
        return cbcore.evaluate([system], "absent.jsonl", max_examples=5)
    except RunStoppedError as stopped:
        return stopped.result
    except CBError as failed:
        hint: str | None = failed.hint
        code: int = failed.exit_code
        print(failed.message, hint, code)
        return None


async def later() -> EvalResult:
    return await cbcore.aevaluate([system], [{"question": "why"}], progress=False)
