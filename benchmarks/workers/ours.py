"""`cb`, through its public interface."""

from __future__ import annotations

import random
import tempfile
from typing import Any

import workload

from cb_answerquality import AnswerQuality
from cb_metrics import MeanScore, PassRate
from cbcore import evaluate


def _evaluate(system: Any, dataset: Any, **options: Any) -> Any:
    return evaluate(
        systems=[system],
        dataset=dataset,
        evaluators=[AnswerQuality()],
        metrics=[MeanScore(score_field="f1"), PassRate(score_field="f1")],
        progress=False,
        **options,
    )


def _measure(system: Any, dataset: Any, **options: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        warm = {**options, "cache_dir": folder} if "cache_dir" in options else options
        _evaluate(system, list(workload.examples(workload.WARM_UP)), **warm)
    result, taken = workload.measured(lambda: _evaluate(system, dataset, **options))
    if any(row.error for row in result.rows):
        raise RuntimeError("some rows have errors")
    return {**taken, "rows": len(result.rows), "mean_f1": result.summary[system.name]["mean_score"]}


def sequential(n: int, **options: Any) -> dict[str, Any]:
    return _measure(workload.Constant(), list(workload.examples(n)), **options)


def cutting(n: int, **options: Any) -> dict[str, Any]:
    """As `sequential`, with a system whose outputs say more than their rows."""
    return _measure(workload.Cutting(), list(workload.examples(n)), **options)


def streamed(n: int, **options: Any) -> dict[str, Any]:
    """As `sequential`, but examples are made as they are asked for: memory is what is kept."""
    return _measure(workload.Constant(), workload.examples(n), **options)


def threads(n: int, latency_s: float, in_flight: int) -> dict[str, Any]:
    system = workload.Blocking(latency_s)
    return _measure(system, list(workload.examples(n)), max_workers=in_flight)


def awaited(n: int, latency_s: float, in_flight: int) -> dict[str, Any]:
    system = workload.Awaited(latency_s)
    return _measure(system, list(workload.examples(n)), max_workers=in_flight)


def quality(n: int) -> dict[str, Any]:
    score = AnswerQuality().score
    pairs = [({"answer": gold}, {"response": said}) for said, gold in workload.answer_pairs(n)]
    for original, processed in pairs[: workload.WARM_UP]:
        score(original, processed)
    scores, taken = workload.measured(lambda: [score(*pair) for pair in pairs])
    compared = [[s["f1"], s["exact_match"], s["recall"]] for s in scores]
    return {**taken, "rows": n, "digest": workload.digest(compared)}


def long_context(size_mb: int, **options: Any) -> dict[str, Any]:
    """One example with a very long context, cut in half; peak memory beyond that of a short run."""
    piece = " ".join(random.Random(size_mb).choices(workload.vocabulary(), k=140_000))
    context = f"{piece} " * size_mb  # made without further memory
    text_mb = len(context) / 1024**2
    (example,) = workload.examples(1)
    _evaluate(workload.Cutting(), [example])
    before = workload.memory_mb("VmHWM")
    data = [{**example, "context": context}]
    result, taken = workload.measured(lambda: _evaluate(workload.Cutting(), data, **options))
    if result.rows[0].error:
        raise RuntimeError(result.rows[0].error)
    # The text itself is part of it, and was there before.
    added_mb = taken["peak_mb"] - before + text_mb
    return {**taken, "rows": 1, "text_mb": text_mb, "added_mb": added_mb}


if __name__ == "__main__":
    workload.answer(
        {
            "sequential": sequential,
            "cutting": cutting,
            "streamed": streamed,
            "threads": threads,
            "awaited": awaited,
            "quality": quality,
            "long_context": long_context,
        }
    )
