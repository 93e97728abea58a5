"""The system `openai`: an endpoint or a proxy under test."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

from cb_openai import addresses
from cb_openai import likelihood as likelihoods
from cb_openai.client import ChatClient
from cb_openai.counting import count_prompt, count_tokens
from cb_openai.errors import EndpointError, Outcome
from cb_openai.messages import Prompting
from cb_openai.prices import PRICES_VARIABLE, Pricing, is_whole, max_cost
from cb_openai.replies import Reply
from cb_openai.retrying import Retry
from cb_openai.settings import Access, Generation, Limits
from cbcore.binding import by_field
from cbcore.boundary import contained
from cbcore.contexts import count_media
from cbcore.exceptions import DataError
from cbcore.introspection import attributes_without
from cbcore.protocols import Cost

logger = logging.getLogger("cb.openai")

DEFAULT_MODEL = "gpt-4o-mini"
_USUAL_REPLY_TOKENS = 256
"""Assumed by an estimate for replies that `max_tokens` does not limit."""
_MOST_STOPS = 4
"""So many texts to stop at the API takes."""
_REPLY_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""The names of the limit of a reply, by API."""


class OpenAI:
    """Asks an OpenAI-compatible endpoint: a model, or a proxy in front of one.

    The first parameter is its address, with or without `/v1`. The context and the question
    of an example become the user's message; `system_prompt`, `prompt` (a template with
    `{context}` and `{question}`) and `build_messages` (a function from an example to
    messages) change that. Tools of an example are sent as tools. An example with turns is a
    conversation: the model is asked at each turn of the user. With `stream` replies come in
    pieces, and rows tell when the first one came. `likelihood` says how the endpoint tells the
    likelihood of a prompt, for tasks that are measured by it: `echo`, as servers of completions
    do, or `prompt_logprobs`, as vLLM does; `likelihood_begin` is the model's mark before a text,
    where the endpoint puts none. Parameters come in records, and each field of
    one can be given as a parameter itself: `retry=Retry(max_retries=3)` is `max_retries=3`.
    """

    identity = attributes_without("name", "prices", "endpoints")

    @by_field
    def __init__(
        self,
        base_url: str,
        model: str = DEFAULT_MODEL,
        *,
        name: str | None = None,
        api: Literal["chat", "responses", "completions"] = "chat",
        access: Access = Access(),
        prompting: Prompting = Prompting(),
        generation: Generation = Generation(),
        retry: Retry = Retry(),
        limits: Limits = Limits(),
        pricing: Pricing = Pricing(),
        likelihood: likelihoods.Way | None = None,
        likelihood_begin: str = "",
    ) -> None:
        if api == "responses" and not (generation.seed is None and generation.stop is None):
            raise ValueError("the responses API has no seed and no stop: leave them out")
        self._client = ChatClient(
            base_url, model, access=access, retry=retry, limits=limits, api=api
        )
        self.base_url = self._client.base_url
        self.model = model
        self.api = api
        self.access = access
        self.prompting = prompting
        self.generation = generation
        self.retry = retry
        self.limits = limits
        self.pricing = pricing
        self._price = pricing.of(model)
        endpoint = addresses.host_and_port(self.base_url)
        self.name = name or endpoint
        self.endpoints = (endpoint,)  # systems at different ones may run at the same time
        self._destination: dict[str, Any] = {"endpoint": endpoint, "model": model}
        if self._price is not None and pricing.price_in is not None:
            self._destination["price"] = self._price.rates()
        self.likelihood = likelihood
        self.likelihood_begin = likelihood_begin
        if likelihood is not None and likelihood not in likelihoods.ASKED:
            known = ", ".join(likelihoods.ASKED)
            raise ValueError(f"likelihood is {likelihood!r}: it must be one of {known}")
        self._likelihoods: ChatClient | None = None
        if likelihood is not None:
            self._likelihoods = ChatClient(
                base_url, model, access=access, retry=retry, limits=limits, api="likelihood"
            )
        self._outcomes: Counter[Outcome] = Counter()
        self._lacked_usage = False
        if self._price is None:
            logger.warning(
                "%s: no price is known for the model %r, so rows have tokens but no cost; "
                "--prices FILE, %s, or price_in= and price_out= can give it",
                self.name,
                model,
                PRICES_VARIABLE,
            )

    def __repr__(self) -> str:
        return f"OpenAI({self.base_url!r}, {self.model!r}, name={self.name!r})"

    # -- one example ---------------------------------------------------------------------------

    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        """The model's answer as `response`, its `tool_calls`, the `usage` and what it cost."""
        if self._likelihoods is not None and example.get("loglikelihood_requests"):
            return await self._process_requests(
                self._likelihoods, example["loglikelihood_requests"]
            )
        if example.get("turns") and not example.get("messages"):
            return await self.aprocess_conversation(example)
        asked, tools = self._asked(example), _tools(example)
        messages = self.prompting.messages(example)
        reply = await self._ask(messages, tools, asked)
        output = _output(reply)
        output["requests"] = [self._request(messages, tools, reply)]
        output["usage"] = dict(reply.usage)
        output["metadata"] = self._facts([reply])
        return output

    async def aprocess_conversation(self, example: dict[str, Any]) -> dict[str, Any]:
        """Process turn by turn: all answers as `turn_responses`, the last as `response`."""
        if not example.get("turns"):
            return await self.aprocess(example)
        tools = _tools(example)
        conversation = self.prompting.conversation(example)
        replies: list[Reply] = []
        requests: list[Sequence[Mapping[str, Any]]] = []
        try:
            messages = next(conversation)
            while True:
                requests.append(messages)
                replies.append(await self._ask(messages, tools))
                messages = conversation.send(replies[-1].text or "")
        except StopIteration:
            pass
        except EndpointError as error:
            error.cost = self._cost_of_failure(error, replies)
            raise
        if not replies:
            raise DataError(
                f"example {example.get('id')!r}: no turn of its conversation waits for a reply"
            )
        output = _output(replies[-1])
        output["turn_responses"] = [reply.text or "" for reply in replies]
        output["requests"] = []
        n_opening = self.prompting.n_opening
        for sent, reply in zip(requests, replies, strict=True):
            request = self._request(sent, tools, reply)
            if n_opening is not None:
                request["n_opening"] = n_opening
                n_opening = len(sent)
            output["requests"].append(request)
        output["usage"] = [dict(reply.usage) for reply in replies]
        output["metadata"] = self._facts(replies)
        return output

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Process without `await`; the connection is closed again."""

        async def and_close() -> dict[str, Any]:
            async with self._client:
                return await self.aprocess(example)

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(and_close())
        raise RuntimeError("a running event loop cannot wait here: await aprocess instead")

    async def _process_requests(
        self, client: ChatClient, requests: Sequence[Sequence[str]]
    ) -> dict[str, Any]:
        """How likely each continuation is after its context.

        Texts are sent as they are: there is no chat, no prompt and no system prompt.
        """
        replies: list[Reply] = []
        asked = (self._likelihood_of(client, replies, *map(str, one)) for one in requests)
        try:
            found = await asyncio.gather(*asked)
        except EndpointError as error:
            error.cost = self._cost_of_failure(error, replies)
            raise
        usage: Counter[str] = Counter()
        for reply in replies:
            usage.update(reply.usage)
        costs = self._costs(replies)
        # The prompts are not listed: each contains the same context once more.
        request = {**self._destination, "usage": dict(usage)}
        if "cost_usd" in costs:
            request["cost_usd"] = costs["cost_usd"]
        return {
            "loglikelihoods": [list(one) for one in found],
            "usage": [dict(reply.usage) for reply in replies],
            "metadata": costs,
            "requests": [request],
        }

    async def _likelihood_of(
        self, client: ChatClient, replies: list[Reply], context: str, continuation: str
    ) -> tuple[float, bool]:
        before, after = likelihoods.split(context, continuation)
        before = before or self.likelihood_begin
        tokens = await self._prompt_tokens(client, replies, before + after)
        n_before = likelihoods.n_before(tokens, len(before))
        if n_before is None:  # the context alone has tokens of its own, which are the ones to skip
            n_before = len(await self._prompt_tokens(client, replies, before))
        try:
            return likelihoods.summed(tokens[n_before:])
        except EndpointError as error:
            self._outcomes[error.outcome] += 1
            raise

    async def _prompt_tokens(
        self, client: ChatClient, replies: list[Reply], prompt: str
    ) -> list[likelihoods.Token]:
        way = self.likelihood or "echo"
        try:
            reply = await client.chat(
                [{"role": "user", "content": prompt}],
                temperature=0.0,
                max_tokens=1,
                extra_body=dict(likelihoods.ASKED[way]),
            )
            tokens = likelihoods.tokens_of(reply.text or "", prompt, way)
        except EndpointError as error:
            self._outcomes[error.outcome] += 1
            raise
        self._outcomes[reply.outcome] += 1
        replies.append(reply)
        return tokens

    def _asked(self, example: Mapping[str, Any]) -> Generation:
        """How text is generated: as the user says, and else as the example does."""
        wanted = example.get("generation")
        if not isinstance(wanted, Mapping):
            return self.generation
        own, limit = self.generation, wanted.get("max_gen_toks")
        stops = [str(stop) for stop in wanted.get("until") or ()][:_MOST_STOPS]
        sampled = wanted.get("temperature")
        return attrs.evolve(
            own,
            temperature=own.temperature or (float(sampled) if sampled else own.temperature),
            max_tokens=own.max_tokens or (int(limit) if limit else None),
            stop=own.stop or (stops or None if self.api != "responses" else None),
        )

    async def _ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: list[dict[str, Any]] | None,
        asked: Generation | None = None,
    ) -> Reply:
        asked = asked or self.generation
        try:
            reply = await self._client.chat(
                messages,
                temperature=asked.temperature,
                max_tokens=asked.max_tokens,
                seed=asked.seed,
                stop=asked.stop,
                tools=tools,
                extra_body=asked.extra_body,
                stream=asked.stream,
            )
        except EndpointError as error:
            self._outcomes[error.outcome] += 1
            error.cost = self._cost_of_failure(error)
            raise
        except (TypeError, ValueError) as error:  # nothing was sent: the request cannot be made
            raise DataError(str(error)) from error
        self._outcomes[reply.outcome] += 1
        return reply

    # -- reports -------------------------------------------------------------------------------

    def _request(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: list[dict[str, Any]] | None,
        reply: Reply,
    ) -> dict[str, Any]:
        """One request as outputs list it."""
        request = {**self._destination, "messages": list(messages), "usage": dict(reply.usage)}
        if tools:
            request["tools"] = tools
        if reply.lost_attempts:
            request["lost"] = reply.lost_attempts
        if "completion_tokens" not in reply.usage:
            request["reply"] = reply.text or ""
        return request

    def _facts(self, replies: Sequence[Reply]) -> dict[str, Any]:
        """The facts about replies that a row keeps besides their text."""
        facts: dict[str, Any] = {"finish_reason": replies[-1].finish_reason}
        if replies[-1].request_id is not None:
            facts["request_id"] = replies[-1].request_id
        facts["request_s"] = sum([reply.latency_s for reply in replies])
        if replies[-1].first_token_s is not None:
            facts["first_token_s"] = replies[-1].first_token_s
        if "length" in [reply.finish_reason for reply in replies]:
            facts["outcome"] = Outcome.TRUNCATED.value
        return {**facts, **self._costs(replies)}

    def _costs(self, replies: Sequence[Reply]) -> dict[str, Any]:
        """The cost of replies, and the number of attempts."""
        facts: dict[str, Any] = {}
        if retries := sum([reply.retries for reply in replies]):
            facts["retries"] = retries
        if lost := sum([reply.lost_attempts for reply in replies]):
            facts["requests_of_unknown_cost"] = lost
        cost = self._cost_usd(replies)
        if cost is not None:
            facts["cost_usd"] = cost
        return facts

    def _cost_of_failure(
        self, error: EndpointError, before: Sequence[Reply] = ()
    ) -> dict[str, Any]:
        """The cost of a failure, with the replies before it in a conversation."""
        usages = [*(reply.usage for reply in before), error.usage]
        unknown = error.lost_attempts + sum(reply.lost_attempts for reply in before)
        unknown += sum(not is_whole(reply.usage) for reply in before)
        unknown += error.may_be_billed and not is_whole(error.usage)
        lost = [reply.lost_attempts for reply in before]
        lost.append(error.lost_attempts + (error.may_be_billed and not error.usage))
        requests = []
        for usage, n_lost in zip(usages, lost, strict=True):
            facts = {"usage": dict(usage), "lost": n_lost}
            requests.append({**self._destination, **{k: v for k, v in facts.items() if v}})
        cost: dict[str, Any] = {"spent_tokens": sum(sum(_counts(usage)) for usage in usages)}
        cost["requests"] = requests
        if unknown:
            cost["requests_of_unknown_cost"] = unknown
        if self._price is not None:
            cost["cost_usd"] = sum(self._price.cost_usd(usage) or 0.0 for usage in usages)
        return cost

    def _cost_usd(self, replies: Sequence[Reply]) -> float | None:
        if self._price is None:
            return None
        costs = [
            self._price.cost_usd(reply.usage) if _is_told(reply) else None for reply in replies
        ]
        known = [cost for cost in costs if cost is not None]
        if len(known) < len(costs):
            self._lacked_usage = True
            return None
        return sum(known)

    def max_cost(self, example: Mapping[str, Any]) -> Cost:
        """The most that a call may cost: all prompts, and replies as long as they may be.

        If nothing limits a reply, it is taken to have 256 tokens, which is no bound.
        """
        with contained():  # building a prompt fails in the call as well, or needs a stage before
            return self._sum_requests(example)
        return max_cost(self._price, count_tokens(example), _USUAL_REPLY_TOKENS, is_bound=False)

    def _sum_requests(self, example: Mapping[str, Any]) -> Cost:
        requests = example.get("loglikelihood_requests")
        if self._likelihoods is not None and requests:  # for the context alone perhaps, too
            prompts = [count_tokens(text) for one in requests for text in ("".join(one), one[0])]
            return max_cost(self._price, sum(prompts), len(prompts))
        is_conversation = example.get("turns") and not example.get("messages")
        limit = _limit_reply(self.generation if is_conversation else self._asked(example))
        n_reply = _USUAL_REPLY_TOKENS if limit is None else limit
        if self.prompting.build_messages is not None:
            example = copy.deepcopy(example)
        tools = _tools(example)
        prompts = []
        if is_conversation:
            conversation = self.prompting.conversation(example)
            with contextlib.suppress(StopIteration):
                messages = next(conversation)
                while True:
                    prompts.append(count_prompt(messages, tools) + len(prompts) * n_reply)
                    messages = conversation.send("")
        else:
            prompts.append(count_prompt(self.prompting.messages(example), tools))
        n_replies = len(prompts) * n_reply
        is_bound = limit is not None and not count_media(example)  # their tokens are unknown
        return max_cost(self._price, sum(prompts), n_replies, is_bound=is_bound)

    async def warm_up(self) -> None:
        """Set up the client. Nothing is sent."""
        await self._client.warm_up()

    async def aclose(self) -> None:
        """Close the connections, and say what came of the requests if not all went well."""
        await self._client.aclose()
        if self._likelihoods is not None:
            await self._likelihoods.aclose()
        counted, self._outcomes = self._outcomes, Counter()
        if set(counted) - {Outcome.OK}:
            told = ", ".join(f"{n} {outcome.value}" for outcome, n in counted.most_common())
            logger.warning("%s: %d requests: %s", self.name, counted.total(), told)
        if self._lacked_usage:
            self._lacked_usage = False
            logger.warning("%s: the endpoint reports no usage, so rows have no cost", self.name)


def _limit_reply(asked: Generation) -> int | None:
    """The most tokens that a reply can have; None if nothing limits it."""
    more = asked.extra_body or {}
    limit = asked.max_tokens
    for name in _REPLY_LIMITS:
        limit = more.get(name, limit)
    choices = more.get("n", 1)
    if type(limit) is not int or type(choices) is not int:
        return None
    return limit * choices


def _counts(usage: Mapping[str, int]) -> list[int]:
    return [usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)]


def _is_told(reply: Reply) -> bool:
    """Whether the usage can be that of the reply: an answer has at least one token."""
    has_answer = bool(reply.text or reply.tool_calls)
    return not has_answer or reply.usage.get("completion_tokens") != 0


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
