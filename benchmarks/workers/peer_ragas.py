"""ragas 0.4.3, in its own environment, with its telemetry off."""

from __future__ import annotations

import asyncio
import os
import warnings
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
warnings.simplefilter("ignore")

import retrieval  # noqa: E402
import workload  # noqa: E402
from langchain_core.outputs import Generation, LLMResult  # noqa: E402
from ragas import EvaluationDataset, SingleTurnSample, evaluate  # noqa: E402
from ragas.llms import BaseRagasLLM  # noqa: E402
from ragas.metrics import (  # noqa: E402
    LLMContextPrecisionWithReference,
    NonLLMContextPrecisionWithReference,
)


def _dataset(samples: list[dict[str, Any]]) -> EvaluationDataset:
    return EvaluationDataset(
        samples=[
            SingleTurnSample(
                user_input=sample["question"],
                reference=sample["answer"],
                retrieved_contexts=sample["contexts"],
                reference_contexts=sample["reference_contexts"],
            )
            for sample in samples
        ]
    )


def similarity(n: int) -> dict[str, Any]:
    data = retrieval.samples(n)

    def work(examples: list[dict[str, Any]]) -> Any:
        metric = NonLLMContextPrecisionWithReference()
        return evaluate(_dataset(examples), metrics=[metric], show_progress=False)

    work(data[: workload.WARM_UP])
    result, taken = workload.measured(lambda: work(data))
    name = "non_llm_context_precision_with_reference"
    # Its epsilon costs up to 1e-10: what is compared is rounded.
    values = [[round(score[name], 8)] for score in result.scores]
    return {**taken, "rows": n, "digest": workload.digest(values)}


class Waiting(BaseRagasLLM):
    """A model that finds everything relevant, after a while."""

    def __init__(self, latency_s: float) -> None:
        super().__init__()
        self.latency_s = latency_s

    def generate_text(self, *_: Any, **__: Any) -> LLMResult:
        raise NotImplementedError

    async def agenerate_text(self, *_: Any, **__: Any) -> LLMResult:
        await asyncio.sleep(self.latency_s)
        reply = '{"reason": "yes", "verdict": 1}'
        return LLMResult(generations=[[Generation(text=reply)]])

    def is_finished(self, response: LLMResult) -> bool:
        return True


def judged(n: int, n_contexts: int, latency_s: float) -> dict[str, Any]:
    metric = LLMContextPrecisionWithReference(llm=Waiting(latency_s))
    data = _dataset(retrieval.samples(n, n_contexts))

    async def one_after_another() -> list[float]:
        return [await metric.single_turn_ascore(sample) for sample in data.samples]

    scores, taken = workload.measured(lambda: asyncio.run(one_after_another()))
    assert all(score > 0.99 for score in scores)
    return {**taken, "rows": n}


if __name__ == "__main__":
    workload.answer({"similarity": similarity, "judged": judged})
