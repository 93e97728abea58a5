"""`evaluate_memory`, called as in context-bench and carried out by the memory mode of `cb`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import cbcore
from cb_memory.nouns import History, Item
from cb_memory.nouns import QueryResult as Found
from cb_memory.rendering import rendered
from cbcore.results import EvalResult
from context_bench.evaluators.wrapping import component_of
from context_bench.memory_types import BenchmarkExample, QueryResult, as_item
from context_bench.utils.tokens import ENCODING


def evaluate_memory(
    systems: Sequence[Any],
    dataset: Iterable[BenchmarkExample | Mapping[str, Any]],
    evaluators: Sequence[Any],
    metrics: Sequence[Any] | None = None,
    max_examples: int | None = None,
    progress: bool = True,
    **options: Any,
) -> EvalResult:
    """Feed memories with each history, ask them its questions, and score the answers.

    `dataset` has `BenchmarkExample`s, or dicts with `turns` and `qa_pairs`; `max_examples` is a
    number of them. Each system is fed with all items of a history at once, one history after
    another. A query or an ingest that fails makes rows with `error` set. `options` are further
    arguments of `cbcore.evaluate`.
    """
    kept: dict[str, Any] = {}
    rows = list(_rows(_first(dataset, max_examples), kept))
    result = cbcore.evaluate(
        systems=[],
        dataset=rows,
        evaluators=[component_of(evaluator) for evaluator in evaluators],
        metrics=[] if metrics is None else list(metrics),
        progress=progress,
        memories=[_Adapted(system, kept) for system in systems],
        **{"tokenizer": ENCODING, **options},
    )
    config: dict[str, Any] = result.config  # type: ignore[assignment]
    config["num_examples"] = len({row["cluster"] for row in rows})
    for row in result.rows:
        _as_before(row)
    return result


class _Adapted:
    """A memory of context-bench as `cb` feeds and asks one."""

    one_at_a_time = True

    def __init__(self, system: Any, kept: Mapping[str, Any]) -> None:
        self.name: str = system.name
        self._system = system
        self._kept = kept

    @property
    def identity(self) -> list[Any]:
        return [self._system]

    def reset(self) -> None:
        self._system.reset()

    def ingest(self, items: Sequence[Item]) -> None:
        self._system.ingest([self._kept[item.id] for item in items])

    def query(self, question: str, budget: int | None = None) -> Found:
        told = self._system.query(str(question))
        if isinstance(told, QueryResult):
            return Found(answer=told.answer, details=told.details)
        if isinstance(told, str):
            return Found(answer=told)
        raise TypeError(f"query() returned a {type(told).__name__}, not a QueryResult or a text")


def _first(examples: Iterable[Any], n: int | None) -> Iterator[Any]:
    for number, example in enumerate(examples):
        if n is not None and number >= n:
            return
        yield example


def _rows(examples: Iterable[Any], kept: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One example of `cb` for each question; the items go into `kept`, by their ids."""
    for number, example in enumerate(examples):
        name, tag, items, asked = _parts(example, number)
        made = [as_item(item, f"{name}:{place}") for place, item in enumerate(items)]
        kept.update(zip((item.id for item in made), items, strict=True))
        history = History(made, str(name))
        context = rendered(history.items)
        for place, question in enumerate(asked):
            yield {
                "id": f"{name}_{place}",
                "dataset": tag,
                **question,
                "context": context,
                "history": history,
                "cluster": str(name),
            }


def _parts(example: Any, number: int) -> tuple[Any, str, Sequence[Any], list[dict[str, Any]]]:
    if isinstance(example, BenchmarkExample):
        asked = [
            {"question": one.question, "answer": one.answer, "question_type": one.query_type}
            for one in example.queries
        ]
        return example.id, example.dataset, example.items, asked
    pairs = [
        {"question": q["question"], "answer": q["answer"], "question_type": q.get("type", "")}
        for q in example.get("qa_pairs", ())
    ]
    turns = example.get("turns", ())
    return example.get("id", number), example.get("dataset", ""), turns, pairs


def _as_before(row: Any) -> None:
    """What context-bench had in the metadata of a row, beside what `cb` has."""
    told = row.metadata
    if "ingest" in told:
        told["qa_type"] = told.get("question_type", "")
        told["conversation_id"] = told.get("cluster")
        told["turn_count"] = told.get("history_items")
        told["ingest_latency"] = told["ingest"]["seconds"]
        told["query_latency"] = told["query_s"]
