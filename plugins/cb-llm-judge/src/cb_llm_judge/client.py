"""Whom to ask: a model behind an OpenAI-compatible endpoint, or a function.

An endpoint is asked for structured output by a JSON schema. One that refuses the schema is
asked without, which is remembered as long as the client lives.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from cb_llm_judge.panel import poll
from cb_llm_judge.replies import read_reply
from cb_llm_judge.rubrics import SYSTEM_PROMPT
from cb_llm_judge.settings import Sampling, check_count
from cb_llm_judge.verdicts import (
    BINARY,
    BinaryVerdict,
    Form,
    JudgeError,
    Rating,
    Verdict,
    rating_form,
)
from cb_openai.prices import max_cost, request_cost
from cb_openai.settings import Connection
from cbcore.binding import by_field
from cbcore.boundary import describe_exception
from cbcore.protocols import Cost
from cbcore.secrets import redact

if TYPE_CHECKING:
    from cb_openai import ChatClient, Reply

_REFUSED_AS_REQUESTED = frozenset({400, 404, 405, 415, 422, 501})
"""Statuses by which an endpoint may say that it does not know `response_format`."""


class JudgeClient:
    """A judge behind an OpenAI-compatible endpoint.

    - `base_url`, `model`: the endpoint, with or without `/v1`, and what it calls the model.
    - `votes`: how often `binary` and `rate` ask; more than half have to be usable.
    - `sampling`, `connection`: how replies are drawn, and how the endpoint is reached: records,
      whose fields (`temperature`, `api_key_env`, `max_retries`, …) can be given in their place.

    Safe to share among all tasks of an event loop; `await aclose()` there at the end.
    """

    @by_field
    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        votes: int = 1,
        sampling: Sampling = Sampling(),
        connection: Connection = Connection(),
    ) -> None:
        from cb_openai import ChatClient

        check_count("votes", votes)
        self.base_url = base_url
        self.model = model
        self.votes = votes
        self.temperature = sampling.temperature_for(votes)
        self.max_tokens = sampling.max_tokens
        self._client: ChatClient = ChatClient(
            base_url,
            model,
            access=connection.access,
            retry=connection.retry,
            limits=connection.limits,
        )
        self._takes_schema: bool | None = None
        self.price = connection.pricing.of(model)

    def __repr__(self) -> str:
        return f"JudgeClient({redact(self.base_url)!r}, {self.model!r})"

    @property
    def identity(self) -> dict[str, Any]:
        """All that can change a verdict, as plain data without secrets: for keys of a cache."""
        return {
            "base_url": redact(self.base_url),
            "model": self.model,
            "votes": self.votes,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }

    async def binary(self, prompt: str) -> BinaryVerdict:
        """Yes or no, by majority of the votes. Raises `JudgeError` where there is none."""
        given = await poll([self], prompt, BINARY, self.votes)
        given.check_quorum()
        verdict = given.majority()
        reason = next(v.verdict.reason for v in given.votes if v.verdict.value == verdict)
        votes = tuple(int(v.verdict.value) for v in given.votes) if self.votes > 1 else ()
        return BinaryVerdict(1 if verdict == 1 else 0, reason, votes, given.cost)

    async def rate(self, prompt: str, low: int = 1, high: int = 5) -> Rating:
        """A place on a scale of whole numbers: the mean of the votes. Raises `JudgeError`."""
        given = await poll([self], prompt, rating_form(low, high), self.votes)
        given.check_quorum()
        score = given.number("mean")
        return Rating(score, given.reason_nearest(score), given.cost)

    async def ask(self, prompt: str, form: Form, *, seed: int | None = None) -> Verdict:
        """One verdict in a form, whatever `votes` is. Raises `JudgeError`."""
        text, cost = await self._complete(_messages(prompt, form), form, seed)
        try:
            return attrs.evolve(read_reply(text, form), cost=cost)
        except JudgeError as error:
            raise JudgeError(f"judge {self.model}: {error.message}", cost=cost) from error

    def max_cost(self, prompt: str, form: Form = BINARY) -> Cost:
        """The most that all votes on a prompt may cost."""
        from cb_openai.counting import count_prompt

        n_prompt = count_prompt(_messages(prompt, form), form.response_format)
        return max_cost(self.price, self.votes * n_prompt, self.votes * self.max_tokens)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _complete(
        self, messages: Sequence[Mapping[str, Any]], form: Form, seed: int | None
    ) -> tuple[str, dict[str, Any]]:
        """The reply, and what all requests for it cost."""
        from cb_openai import EndpointError

        options: dict[str, Any] = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": seed,
        }
        try:
            if self._takes_schema is not False:
                try:
                    reply = await self._client.chat(
                        messages, response_format=form.response_format, **options
                    )
                except EndpointError as error:
                    if self._takes_schema or error.status not in _REFUSED_AS_REQUESTED:
                        raise
                else:
                    self._takes_schema = True
                    return reply.text or "", self._cost_of(reply)
            reply = await self._client.chat(messages, **options)
        except EndpointError as error:
            cost = request_cost(
                self.price, error.usage, error.lost_attempts, billed=error.may_be_billed
            )
            hint = f" ({error.hint})" if error.hint else ""
            raise JudgeError(f"judge {self.model}: {error.message}{hint}", cost=cost) from error
        # Only now is it certain that it was the schema which the endpoint did not take.
        self._takes_schema = False
        return reply.text or "", self._cost_of(reply)

    def _cost_of(self, reply: Reply) -> dict[str, Any]:
        return request_cost(self.price, reply.usage, reply.lost_attempts)


def _messages(prompt: str, form: Form) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": f"{prompt}\n\n{form.instruction}"},
    ]


class FunctionJudge:
    """A Python function as judge: it is given the whole prompt and returns the reply.

    The reply is a text, read as a model's is, or a dict or number in its place. The function
    may be asynchronous; one that is not runs in a thread.
    """

    def __init__(self, function: Callable[[str], Any]) -> None:
        if not callable(function):
            raise TypeError(f"judge is {function!r}: it must be a function of the prompt")
        self.function = function

    @property
    def model(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    async def ask(self, prompt: str, form: Form, *, seed: int | None = None) -> Verdict:
        """One verdict in a form; `seed` is not passed on. Raises `JudgeError`."""
        whole = f"{SYSTEM_PROMPT}\n\n{prompt}\n\n{form.instruction}"
        try:
            reply = await _called(self.function, whole)
            text = reply if isinstance(reply, str) else json.dumps(reply)
        except Exception as error:  # the user's own code
            raise JudgeError(f"judge {self.model}: {describe_exception(error)}") from error
        try:
            return read_reply(text, form)
        except JudgeError as error:
            raise JudgeError(f"judge {self.model}: {error.message}") from error

    async def binary(self, prompt: str) -> BinaryVerdict:
        """Yes or no, asked once. Raises `JudgeError`."""
        given = await self.ask(prompt, BINARY)
        return BinaryVerdict(1 if given.value == 1 else 0, given.reason)

    async def aclose(self) -> None:
        """Nothing to close."""


async def _called(function: Callable[[str], Any], prompt: str) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(prompt)
    reply = await asyncio.to_thread(function, prompt)
    return await reply if isinstance(reply, Awaitable) else reply
