"""context-bench 0.1.0, in its own environment.

Its release has no evaluators: it gets one made of its own functions.
"""

from __future__ import annotations

from typing import Any

import peer_tokens
import workload

from context_bench import evaluate
from context_bench.metrics.quality import (
    MeanScore,
    PassRate,
    exact_match,
    f1_score,
    recall_score,
)


class AnswerEvaluator:
    """The scores its functions give."""

    name = "answer"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        response, answer = processed["response"], original["answer"]
        return {
            "f1": f1_score(response, answer),
            "exact_match": exact_match(response, answer),
            "recall": recall_score(response, answer),
        }


def _evaluate(dataset: list[dict[str, Any]]) -> Any:
    return evaluate(
        systems=[workload.Constant()],
        dataset=dataset,
        evaluators=[AnswerEvaluator()],
        metrics=[MeanScore(score_field="f1"), PassRate(score_field="f1")],
        text_fields=peer_tokens.TEXT_FIELDS,
        progress=False,
    )


def sequential(n: int) -> dict[str, Any]:
    peer_tokens.prepare()
    dataset = list(workload.examples(n))
    _evaluate(dataset[: workload.WARM_UP])
    result, taken = workload.measured(lambda: _evaluate(dataset))
    mean = result.summary["constant"]["mean_score"]
    return {**taken, "rows": len(result.rows), "mean_f1": mean}


def quality(n: int) -> dict[str, Any]:
    score = AnswerEvaluator().score
    pairs = [({"answer": gold}, {"response": said}) for said, gold in workload.answer_pairs(n)]
    for original, processed in pairs[: workload.WARM_UP]:
        score(original, processed)
    scores, taken = workload.measured(lambda: [score(*pair) for pair in pairs])
    compared = [[s["f1"], s["exact_match"], s["recall"]] for s in scores]
    return {**taken, "rows": n, "digest": workload.digest(compared)}


if __name__ == "__main__":
    workload.answer({"sequential": sequential, "quality": quality})
