"""cb-ragas-precision, in its own environment."""

from __future__ import annotations

import asyncio
from typing import Any

import retrieval
import workload

from cb_ragas_precision import ContextPrecision, ContextPrecisionNonLLM
from cbcore import evaluate
from cbcore.results import Scored


class Given:
    """The contexts of the example, as if they had been retrieved."""

    name = "given"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return example


def _values(outcomes: list[Any], name: str) -> str:
    plain = [o.scores if isinstance(o, Scored) else o for o in outcomes]
    return workload.digest([[round(scores[name], 8)] for scores in plain])


def similarity(n: int) -> dict[str, Any]:
    """A whole run: rows, tokens, scores, summary."""
    data = retrieval.samples(n)

    def work(examples: list[dict[str, Any]]) -> Any:
        return evaluate([Given()], examples, [ContextPrecisionNonLLM()], progress=False)

    work(data[: workload.WARM_UP])
    result, taken = workload.measured(lambda: work(data))
    scores = [row.scores for row in result.rows]
    return {**taken, "rows": n, "digest": _values(scores, "context_precision_nonllm")}


def similarity_alone(n: int) -> dict[str, Any]:
    """The evaluator in a loop."""
    data, score = retrieval.samples(n), ContextPrecisionNonLLM().score
    for example in data[: workload.WARM_UP]:
        score(example, example)
    outcomes, taken = workload.measured(lambda: [score(e, e) for e in data])
    return {**taken, "rows": n, "digest": _values(outcomes, "context_precision_nonllm")}


def judged(n: int, n_contexts: int, latency_s: float) -> dict[str, Any]:
    """Examples one after another, each with all its contexts judged by something that waits."""

    async def judge(prompt: str) -> int:
        await asyncio.sleep(latency_s)
        return 1

    data = retrieval.samples(n, n_contexts)
    evaluator = ContextPrecision(judge=judge)
    result, taken = workload.measured(
        lambda: evaluate([Given()], data, [evaluator], progress=False)
    )
    assert all(row.scores["context_precision"] == 1.0 for row in result.rows)
    return {**taken, "rows": n}


if __name__ == "__main__":
    workload.answer(
        {"similarity": similarity, "similarity_alone": similarity_alone, "judged": judged}
    )
