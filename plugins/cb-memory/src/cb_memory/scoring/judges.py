"""Answers judged by a model: strictly, leniently, and by LongMemEval's criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, ClassVar

from cb_llm_judge import BINARY, FunctionJudge, JudgeClient, JudgeError
from cb_llm_judge.rubrics import FIELDS, SYSTEM_PROMPT, Rubric, find_rubric
from cb_llm_judge.settings import Sampling
from cb_openai.prices import add_costs
from cb_openai.settings import Connection
from cbcore.binding import Trusted, by_field
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.scoring import response_of

_ASKED = """\
Question:
{question}

Gold answer:
{gold}

Response:
{response}

"""

STRICT = f"""\
Judge whether a response answers a question about an earlier conversation as the gold answer does.

{_ASKED}Say yes only if the response states everything that the gold answer states, as specifically,
and nothing that contradicts it. Another wording, or another way to write the same date or number,
is fine. Say no to a response that is vague, that is only about the same subject, that has part of
the gold answer, that hedges between several answers, or that says it does not know although the
gold answer does."""

LENIENT = f"""\
Judge whether a response answers a question about an earlier conversation in the sense of the gold
answer.

{_ASKED}Say yes if the response gets the main point of the gold answer, even if it is longer, less
exact or leaves details out; for times, yes if the same day, week, month or year is meant. Say no
only if it is wrong, is about something else, or does not answer."""

_LONGMEMEVAL = {
    "default": f"""\
Judge whether a response to a question about earlier chats is right.

{_ASKED}Say yes if the response contains the gold answer, or is equivalent to it, or has all the steps
that lead to it. Say no if it has only a part of what the gold answer asks for.""",
    "temporal-reasoning": f"""\
Judge whether a response to a question about times in earlier chats is right.

{_ASKED}Say yes if the response contains the gold answer, or is equivalent to it, or has all the steps
that lead to it. Say no if it has only a part of what the gold answer asks for. A number of days,
weeks or months that is off by one is right: say yes to 19 days where the gold answer is 18.""",
    "knowledge-update": f"""\
Judge whether a response to a question about something that changed in earlier chats is right.

{_ASKED}Say yes if the response gives the updated answer that the gold answer is, even if it also tells
what was true before. Say no otherwise.""",
    "single-session-preference": f"""\
Judge whether a response uses what the user told of themselves. The gold answer is a rubric: it
describes a response that the user would want.

{_ASKED}Say yes if the response recalls and uses the user's personal information rightly; it need not
meet every point of the rubric. Say no otherwise.""",
    "abstention": f"""\
Judge whether a response recognizes that a question cannot be answered from earlier chats. The
gold answer explains why it cannot.

{_ASKED}Say yes if the response says that it cannot be answered: that the information is incomplete, or
that something else was mentioned and what is asked for was not. Say no otherwise.""",
}
"""A rubric for each type of question; types that are not named have the first."""


class _ByRubrics:
    """An evaluator that asks a judge by rubrics of its own, each with a name."""

    _TEMPLATES: ClassVar[Mapping[str, str]]

    @by_field
    def __init__(
        self,
        base_url: Trusted[str | None] = None,
        model: str | None = None,
        *,
        votes: int = 1,
        sampling: Sampling = Sampling(),
        connection: Connection = Connection(),
        judge: Callable[[str], Any] | None = None,
    ) -> None:
        self.base_url, self.model, self.votes = base_url, model, votes
        self.sampling, self.connection, self.judge = sampling, connection, judge
        if (judge is None) == (base_url is None or model is None):
            raise ValueError("a judge needs base_url and model, or judge: one of the two")
        self._judge: JudgeClient | FunctionJudge
        if base_url is not None and model is not None:
            self._judge = JudgeClient(
                base_url, model, votes=votes, sampling=sampling, connection=connection
            )
        else:
            self._judge = FunctionJudge(judge)  # type: ignore[arg-type]
        self.templates = dict(self._TEMPLATES)
        self._rubrics = {name: _rubric(text) for name, text in self.templates.items()}

    async def aclose(self) -> None:
        """Close the connection of the judge."""
        await self._judge.aclose()


class MemoryJudge(_ByRubrics):
    """Right or wrong by a model, read twice: `memory_strict` and `memory_lenient`.

    The same answers can be 91 % or 35 % right by the prompt of the judge alone, so both are
    told. `base_url` and `model` say whom to ask, or `judge`, a function from prompt to reply;
    `votes` how often. The rows keep the judge's model, its reasons and a digest of each prompt.
    What fails makes the score missing.
    """

    name = "memory_judge"
    emits = ("memory_strict", "memory_lenient")
    needs = ("question", "answer")
    reads = ("question", "answer", "response")

    _TEMPLATES: ClassVar[Mapping[str, str]] = {"memory_strict": STRICT, "memory_lenient": LENIENT}

    async def ascore(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """Ask for both readings. Raises `MissingScoreError` where no verdict can be had."""
        texts = _texts(original, processed)
        scores: dict[str, float] = {}
        details: dict[str, Any] = {"model": self._judge.model}
        cost: dict[str, Any] = {}
        for score, rubric in self._rubrics.items():
            try:
                given = await self._judge.binary(rubric.fill(texts))
            except JudgeError as error:
                error.cost = add_costs(cost, error.cost)
                raise
            scores[score] = float(given.verdict)
            details[score] = {"reason": given.reason, "prompt": prompt_hash(rubric)}
            cost = add_costs(cost, given.cost)
        return Scored(scores, details=details, cost=cost)


class LongMemEvalJudge(_ByRubrics):
    """LongMemEval's accuracy: right or wrong by the rubric of the question's type.

    Questions that cannot be answered have the rubric for those, whatever their type. The
    criteria are those of the benchmark, in words of our own; its numbers are those of
    gpt-4o-2024-08-06 with its own prompt. Parameters are those of `memory_judge`.
    """

    name = "longmemeval_judge"
    emits = ("longmemeval_accuracy",)
    needs = ("question", "answer", "question_type")
    reads = ("question", "answer", "question_type", "abstention", "response")

    _TEMPLATES = _LONGMEMEVAL

    async def ascore(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """Ask by the rubric of the type. Raises `MissingScoreError` where no verdict can be had."""
        kind = "abstention" if original.get("abstention") else str(original.get("question_type"))
        chosen = kind if kind in self._rubrics else "default"
        rubric = self._rubrics[chosen]
        given = await self._judge.binary(rubric.fill(_texts(original, processed)))
        details = {
            "model": self._judge.model,
            "rubric": chosen,
            "prompt": prompt_hash(rubric),
            "reason": given.reason,
        }
        accuracy = float(given.verdict)
        return Scored({"longmemeval_accuracy": accuracy}, details=details, cost=given.cost)


def prompt_hash(rubric: Rubric) -> str:
    """A digest of all that a judge is told beside the texts under judgement."""
    whole = "\0".join((SYSTEM_PROMPT, rubric.template, BINARY.instruction))
    return sha256(whole.encode()).hexdigest()[:16]


def _rubric(template: str) -> Rubric:
    return find_rubric(template, {}, FIELDS, required=("response",))


def _texts(original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, str | None]:
    response = response_of(processed)
    if original.get("answer") is None:
        raise MissingScoreError("the example has no gold answer")
    return {
        "question": str(original.get("question")),
        "gold": str(original["answer"]),
        "response": response,
    }
