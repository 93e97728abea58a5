"""`evaluate`, called as in context-bench and carried out by `cb`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import cbcore
from cbcore.results import EvalResult
from context_bench.adapting import CountedExamples, Counting, adapted
from context_bench.evaluators.wrapping import component_of
from context_bench.utils.tokens import ENCODING


def evaluate(
    systems: Sequence[Any],
    dataset: Iterable[Mapping[str, Any]],
    evaluators: Sequence[Any],
    metrics: Sequence[Any] | None = None,
    max_examples: int | None = None,
    progress: bool = True,
    text_fields: Iterable[str] | None = None,
    max_workers: int | None = None,
    cache_dir: str | Path | None = None,
    *,
    legacy_tokens: bool = False,
    **options: Any,
) -> EvalResult:
    """Run systems on a dataset, score what they return, and sum it up.

    Without `metrics` there is no summary, and without `max_workers` one example is worked on
    at a time. An example that fails becomes a row with `error` set. Tokens are those of the
    context, the question and the turns, or of `text_fields`; `legacy_tokens=True` counts every
    string of an example and of an output, ids and gold included, as context-bench did.
    `options` are further arguments of `cbcore.evaluate`, such as `on_error="raise"`.
    """
    counting = Counting.of(text_fields, legacy_tokens=legacy_tokens)
    result = cbcore.evaluate(
        systems=[adapted(system, counting) for system in systems],
        dataset=CountedExamples(dataset) if counting is Counting.STRINGS else dataset,
        evaluators=[component_of(evaluator) for evaluator in evaluators],
        metrics=[] if metrics is None else list(metrics),
        max_examples=max_examples,
        progress=progress,
        text_fields=counting.fields(text_fields),
        max_workers=max_workers or 1,
        cache_dir=cache_dir,
        **{"tokenizer": ENCODING, **options},
    )
    rows = result.rows_by_system().values()
    config: dict[str, Any] = result.config  # type: ignore[assignment]
    config["num_examples"] = max(map(len, rows), default=0)
    return result
