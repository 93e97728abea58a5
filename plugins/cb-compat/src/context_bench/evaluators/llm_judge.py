"""A model as judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cb_llm_judge
from cb_openai import Access, Connection, Limits
from cbcore.results import Scored
from context_bench.blocking import finished
from context_bench.evaluators.wrapping import Wrapped, plain


class LLMJudge(Wrapped):
    """A model's rating of the response, from 0.0 to 1.0.

    It is rated for correctness against the gold `answer`, and for helpfulness where there is
    none. `api_key` is by default what the environment variable OPENAI_API_KEY holds.
    """

    def __init__(
        self,
        base_url: str,
        model: str = "gpt-4",
        api_key: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        self.component: _ByWhatThereIs
        super().__init__(_ByWhatThereIs(base_url, model, api_key, timeout))

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Ask the judge. Raises `MissingScoreError` where no rating can be had."""
        return plain(finished(self.component.ascore(original, processed), self.component.aclose))


_NO_QUESTION = "(The question is not known.)"


class _ByWhatThereIs:
    """Chooses the rubric by what the example has."""

    name = "llm_judge"
    emits = ("judge_score",)

    def __init__(self, base_url: str, model: str, api_key: str | None, timeout: float) -> None:
        connection = Connection(
            access=Access(api_key=api_key or None), limits=Limits(timeout_s=timeout)
        )
        self.correctness, self.helpfulness = (
            cb_llm_judge.LLMJudge(base_url, model, rubric=rubric, connection=connection)
            for rubric in ("correctness", "helpfulness")
        )

    async def ascore(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        gold = original.get("answer")
        judge = self.correctness if gold not in (None, "", []) else self.helpfulness
        if original.get("question") is None and not original.get("turns"):
            original = {**original, "question": original.get("context") or _NO_QUESTION}
        return await judge.ascore(original, processed)

    async def aclose(self) -> None:
        await self.correctness.aclose()
        await self.helpfulness.aclose()
