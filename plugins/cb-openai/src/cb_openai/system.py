"""The system `openai`: an endpoint or a proxy under test."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal

from cb_openai import addresses
from cb_openai.client import ChatClient
from cb_openai.encodings import encoding_of
from cb_openai.errors import EndpointError, Outcome
from cb_openai.keys import DEFAULT_KEY_VARIABLE, find_key
from cb_openai.messages import BuildMessages, Prompting, check_template
from cb_openai.parameters import as_mapping, check_extra_body, check_headers
from cb_openai.prices import PRICES_VARIABLE, find_price
from cb_openai.replies import Reply
from cbcore.exceptions import DataError

logger = logging.getLogger("cb.openai")

DEFAULT_MODEL = "gpt-4o-mini"
_USUAL_REPLY_TOKENS = 256
"""What an estimate assumes of replies that `max_tokens` does not limit."""


class OpenAI:
    """Asks an OpenAI-compatible endpoint: a model, or a proxy in front of one.

    The first parameter is its address, with or without `/v1`. The context and the question
    of an example become the user's message; `system_prompt`, `prompt` (a template with
    `{context}` and `{question}`) and `build_messages` (a function from an example to
    messages) change that. Tools of an example are sent as tools. An example with turns is a
    conversation: the model is asked at each turn of the user. With `stream` replies come in
    pieces, and rows tell when the first one came.
    """

    name_is_label = True

    def __init__(
        self,
        base_url: str,
        model: str = DEFAULT_MODEL,
        *,
        name: str | None = None,
        api: Literal["chat", "responses", "completions"] = "chat",
        api_key: str | None = None,
        api_key_env: str | None = DEFAULT_KEY_VARIABLE,
        system_prompt: str | None = None,
        prompt: str | None = None,
        build_messages: BuildMessages | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        seed: int | None = None,
        stop: Sequence[str] | str | None = None,
        stream: bool = False,
        extra_body: Mapping[str, Any] | str | None = None,
        headers: Mapping[str, str] | str | None = None,
        timeout_s: float = 120.0,
        max_retries: int = 5,
        backoff_s: float = 0.5,
        max_wait_s: float = 60.0,
        retry_unreached: bool = False,
        max_in_flight: int = 256,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        max_reply_bytes: int = 16_000_000,
        prices: str | None = None,
    ) -> None:
        if prompt is not None and build_messages is not None:
            raise ValueError("give prompt or build_messages, not both")
        if temperature is not None and not 0 <= temperature < float("inf"):
            raise ValueError(f"temperature is {temperature!r}: it must be 0 or more")
        if max_tokens is not None and max_tokens < 1:
            raise ValueError(f"max_tokens is {max_tokens!r}: it must be 1 or more")
        if api == "responses" and not (seed is None and stop is None):
            raise ValueError("the responses API has no seed and no stop: leave them out")
        self.headers = None if headers is None else check_headers(as_mapping("headers", headers))
        self._client = ChatClient(
            base_url,
            model,
            api_key=api_key,
            api_key_env=api_key_env,
            headers=self.headers,
            timeout_s=timeout_s,
            max_retries=max_retries,
            backoff_s=backoff_s,
            max_wait_s=max_wait_s,
            retry_unreached=retry_unreached,
            max_in_flight=max_in_flight,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            max_reply_bytes=max_reply_bytes,
            api=api,
        )
        self.base_url = self._client.base_url
        self.model = model
        self.name = name or addresses.host_and_port(self.base_url)
        self.api = api
        self.api_key = None if api_key is None else find_key(api_key, None)
        self.api_key_env = api_key_env
        self.system_prompt = system_prompt
        self.prompt = None if prompt is None else check_template(prompt)
        self.build_messages = build_messages
        self.temperature = temperature
        self.max_tokens = max_tokens
        self.seed = seed
        self.stop = [stop] if isinstance(stop, str) else None if stop is None else list(stop)
        self.stream = stream
        self.extra_body = (
            None
            if extra_body is None
            else dict(check_extra_body(as_mapping("extra_body", extra_body)))
        )
        self.timeout_s = timeout_s
        self.max_retries = max_retries
        self.backoff_s = backoff_s
        self.max_wait_s = max_wait_s
        self.retry_unreached = retry_unreached
        self.max_in_flight = max_in_flight
        self.requests_per_minute = requests_per_minute
        self.tokens_per_minute = tokens_per_minute
        self.max_reply_bytes = max_reply_bytes
        self.prices = prices
        self._price = find_price(model, prices)
        self._prompting = Prompting(system_prompt, self.prompt, build_messages)
        self._outcomes: Counter[Outcome] = Counter()
        self._lacked_usage = False
        if self._price is None:
            logger.warning(
                "%s: no price is known for the model %r, so rows have tokens but no cost; "
                "prices=FILE or %s can give it",
                self.name,
                model,
                PRICES_VARIABLE,
            )

    def __repr__(self) -> str:
        return f"OpenAI({self.base_url!r}, {self.model!r}, name={self.name!r})"

    # -- one example ---------------------------------------------------------------------------

    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        """The model's answer as `response`, its `tool_calls`, the `usage` and what it cost."""
        if example.get("turns"):
            return await self.aprocess_conversation(example)
        reply = await self._ask(self._prompting.messages(example), _tools(example))
        output = _output(reply)
        output["usage"] = _usage(reply)
        output["metadata"] = self._facts([reply])
        return output

    async def aprocess_conversation(self, example: dict[str, Any]) -> dict[str, Any]:
        """As `aprocess`, turn by turn: all answers as `turn_responses`, the last as `response`."""
        if not example.get("turns"):
            return await self.aprocess(example)
        tools = _tools(example)
        conversation = self._prompting.conversation(example)
        replies: list[Reply] = []
        try:
            messages = next(conversation)
            while True:
                replies.append(await self._ask(messages, tools))
                messages = conversation.send(replies[-1].text or "")
        except StopIteration:
            pass
        if not replies:
            raise DataError(
                f"example {example.get('id')!r}: no turn of its conversation waits for a reply"
            )
        output = _output(replies[-1])
        output["turn_responses"] = [reply.text or "" for reply in replies]
        output["usage"] = [_usage(reply) for reply in replies]
        output["metadata"] = self._facts(replies)
        return output

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """As `aprocess`, for callers that cannot await; the connection is closed again."""
        return self._blocking(self.aprocess, example)

    def process_conversation(self, example: dict[str, Any]) -> dict[str, Any]:
        """As `aprocess_conversation`, for callers that cannot await."""
        return self._blocking(self.aprocess_conversation, example)

    def _blocking(
        self,
        call: Callable[[dict[str, Any]], Coroutine[Any, Any, dict[str, Any]]],
        example: dict[str, Any],
    ) -> dict[str, Any]:
        async def and_close() -> dict[str, Any]:
            async with self._client:
                return await call(example)

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(and_close())
        raise RuntimeError("a running event loop cannot wait here: await aprocess instead")

    async def _ask(
        self, messages: Sequence[Mapping[str, Any]], tools: list[dict[str, Any]] | None
    ) -> Reply:
        try:
            reply = await self._client.chat(
                messages,
                temperature=self.temperature,
                max_tokens=self.max_tokens,
                seed=self.seed,
                stop=self.stop,
                tools=tools,
                extra_body=self.extra_body,
                stream=self.stream,
            )
        except EndpointError as error:
            self._outcomes[error.outcome] += 1
            raise
        except (TypeError, ValueError) as error:  # nothing was sent: the request cannot be made
            raise DataError(str(error)) from error
        self._outcomes[reply.outcome] += 1
        return reply

    # -- what is told of it --------------------------------------------------------------------

    def _facts(self, replies: Sequence[Reply]) -> dict[str, Any]:
        """What a row keeps of the replies besides their text."""
        facts: dict[str, Any] = {"finish_reason": replies[-1].finish_reason}
        if replies[-1].request_id is not None:
            facts["request_id"] = replies[-1].request_id
        facts["request_s"] = sum([reply.latency_s for reply in replies])
        if replies[-1].first_token_s is not None:
            facts["first_token_s"] = replies[-1].first_token_s
        if "length" in [reply.finish_reason for reply in replies]:
            facts["outcome"] = Outcome.TRUNCATED.value
        if retries := sum([reply.retries for reply in replies]):
            facts["retries"] = retries
        cost = self._cost_usd(replies)
        if cost is not None:
            facts["cost_usd"] = cost
        return facts

    def _cost_usd(self, replies: Sequence[Reply]) -> float | None:
        if self._price is None:
            return None
        costs = [self._price.cost_usd(reply.usage) for reply in replies]
        known = [cost for cost in costs if cost is not None]
        if len(known) < len(costs):
            self._lacked_usage = True
            return None
        return sum(known)

    @property
    def estimate_usd(self) -> Callable[[int, int], float] | None:
        """What calls with so many input tokens would cost; None without a known price.

        A reply is taken to be `max_tokens` long, or 256 tokens where that is not set.
        """
        price = self._price
        if price is None:
            return None
        reply_tokens = _USUAL_REPLY_TOKENS if self.max_tokens is None else self.max_tokens

        def estimate(calls: int, input_tokens: int) -> float:
            return (input_tokens * price.input + calls * reply_tokens * price.output) / 1e6

        return estimate

    async def warm_up(self) -> None:
        """Set up the client. Nothing is sent."""
        await self._client.warm_up()

    async def aclose(self) -> None:
        """Close the connections, and say what came of the requests if not all went well."""
        await self._client.aclose()
        counted, self._outcomes = self._outcomes, Counter()
        if set(counted) - {Outcome.OK}:
            told = ", ".join(f"{n} {outcome.value}" for outcome, n in counted.most_common())
            logger.warning("%s: %d requests: %s", self.name, counted.total(), told)
        if self._lacked_usage:
            self._lacked_usage = False
            logger.warning("%s: the endpoint reports no usage, so rows have no cost", self.name)


def _usage(reply: Reply) -> dict[str, Any]:
    """What the endpoint counted, and in which encoding, where the model that answered tells."""
    encoding = encoding_of(reply.model) if reply.usage else None
    return {**reply.usage, "tokenizer": encoding} if encoding is not None else dict(reply.usage)


def _output(reply: Reply) -> dict[str, Any]:
    output: dict[str, Any] = {}
    if reply.text is not None:
        output["response"] = reply.text
    if reply.tool_calls:
        output["tool_calls"] = [dict(call) for call in reply.tool_calls]
    return output


def _tools(example: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The example's tools as the API takes them; a bare function is wrapped."""
    tools = example.get("tools")
    if not tools:
        return None
    if not isinstance(tools, list | tuple) or not all(isinstance(tool, Mapping) for tool in tools):
        raise DataError(f"example {example.get('id')!r}: 'tools' is not a list of objects")
    return [
        dict(tool)
        if "type" in tool and "name" not in tool
        else {"type": "function", "function": dict(tool)}
        for tool in tools
    ]
