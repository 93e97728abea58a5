"""The evaluator: one response, one rubric, one or more judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import attrs

from cb_llm_judge.client import FunctionJudge, JudgeClient
from cb_llm_judge.material import EXAMPLE_FIELDS, example_text
from cb_llm_judge.panel import Combine, Poll, poll
from cb_llm_judge.rubrics import FIELDS, RUBRICS, find_rubric
from cb_llm_judge.settings import Sampling, check_count
from cb_llm_judge.verdicts import rating_form
from cb_openai.settings import Connection
from cbcore.binding import FileName, Trusted, by_field
from cbcore.exceptions import MissingScoreError
from cbcore.introspection import attributes_without
from cbcore.protocols import Cost
from cbcore.results import Scored
from cbcore.scoring import response_of

LOW, HIGH = 1, 5
_USUAL_RESPONSE = " word" * 512
"""What a cost takes a response to be that is not there yet."""


class LLMJudge:
    """A model's rating of the response by a rubric, from 0.0 to 1.0.

    - `base_url`, `model`: the judge's endpoint and model; `models` for several, each of which
      is asked. Or `judge`: a Python function from the prompt to the reply.
    - `rubric`: `correctness`, `faithfulness`, `helpfulness`, or a template (a text or a file)
      with `{response}` and any of `{question}`, `{context}`, `{gold}`.
    - `votes`: how often each is asked. `combine`: `mean`, `median` or `majority`.
    - `api_key_env`: the environment variable with the key; in run files also `api_key`.
    - `max_retries`, `timeout_s`, `requests_per_minute`, …: as for `openai`, for each model.

    `judge_score` is the rating from 1 to 5, brought to 0–1. With several votes
    `judge_agreement` is the share of pairs of votes that are equal. Reason and votes are kept
    in the row's metadata. Whatever fails makes the score missing, with the reason.
    """

    emits: tuple[str, ...] = ("judge_score", "judge_agreement")
    identity = attributes_without("name", "prices")

    @by_field
    def __init__(
        self,
        base_url: Trusted[str | None] = None,
        model: str | None = None,
        *,
        rubric: FileName[str] = "correctness",
        models: Sequence[str] = (),
        votes: int = 1,
        combine: Combine = "mean",
        sampling: Sampling = Sampling(),
        connection: Connection = Connection(),
        judge: Callable[[str], Any] | None = None,
        name: str = "llm_judge",
    ) -> None:
        if combine not in get_args(Combine):
            raise ValueError(f"combine is {combine!r}: it must be majority, mean or median")
        check_count("votes", votes)
        self.name = name
        self.base_url = base_url
        self.model = model
        self.models = (models,) if isinstance(models, str) else tuple(models)
        self.rubric = rubric
        self.votes = votes
        self.combine: Combine = combine
        self.sampling = sampling
        self.connection = connection
        self.judge = judge
        found = find_rubric(rubric, RUBRICS, FIELDS, required=("response",))
        self._rubric = found
        self.template = found.template  # public: a file's content is part of what was asked
        self.needs = tuple(EXAMPLE_FIELDS[n] for n in found.fields if n in EXAMPLE_FIELDS)
        self._judges: Sequence[JudgeClient | FunctionJudge] = self._make_judges()
        self._form = rating_form(LOW, HIGH)
        if len(self._judges) * votes == 1:
            self.emits = ("judge_score",)

    def _make_judges(self) -> Sequence[JudgeClient | FunctionJudge]:
        named = [model for model in (self.model, *self.models) if model is not None]
        if self.judge is not None:
            if named or self.base_url is not None:
                raise ValueError("give either judge, or base_url and model, not both")
            return [FunctionJudge(self.judge)]
        if self.base_url is None or not named:
            raise ValueError("a judge needs base_url and model (or models), or judge")
        if len(set(named)) < len(named):
            raise ValueError(f"models has {named!r}: each judge once; votes asks one several times")
        return [
            JudgeClient(
                self.base_url,
                model,
                votes=self.votes,
                sampling=self.sampling,
                connection=self.connection,
            )
            for model in named
        ]

    async def ascore(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """Ask the judges. Raises `MissingScoreError` where no rating can be had."""
        texts: dict[str, str | None] = {"response": response_of(processed)}
        for name in self._rubric.fields:
            if name in EXAMPLE_FIELDS:
                texts[name] = example_text(original, name)
                if texts[name] is None:
                    raise MissingScoreError(
                        f"the example has no {EXAMPLE_FIELDS[name]!r}, which the rubric needs"
                    )
        given = await poll(self._judges, self._rubric.fill(texts), self._form, self.votes)
        given.check_quorum()
        return self._scored(given)

    def _scored(self, given: Poll) -> Scored:
        rating = given.number(self.combine)
        scores = {"judge_score": (rating - LOW) / (HIGH - LOW)}
        details: dict[str, Any] = {"rating": rating, "reason": given.reason_nearest(rating)}
        if len(self.emits) > 1:
            scores["judge_agreement"] = given.agreement()
            details["votes"] = [
                {"model": v.model, "score": v.verdict.value, "reason": v.verdict.reason}
                for v in given.votes
            ]
        if given.failures:
            details["failed"] = list(given.failures)
        return Scored(scores=scores, details=details, cost=given.cost)

    @property
    def max_cost(self) -> Callable[[Mapping[str, Any]], Cost]:
        """What judging may cost, if the response has 512 tokens. A function declares no cost."""
        clients = [judge for judge in self._judges if isinstance(judge, JudgeClient)]
        if not clients:
            raise AttributeError("max_cost")

        def add_costs(example: Mapping[str, Any]) -> Cost:
            texts = {name: example_text(example, name) for name in EXAMPLE_FIELDS}
            prompt = self._rubric.fill({**texts, "response": _USUAL_RESPONSE})
            costs = [client.max_cost(prompt, self._form) for client in clients]
            return attrs.evolve(Cost.of_all(costs), is_bound=False)

        return add_costs

    async def aclose(self) -> None:
        """Close the connections of all judges."""
        for judge in self._judges:
            await judge.aclose()
