"""OpenAI-compatible endpoints: the system `openai`, asked in the way of context-bench."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from cb_openai import Access, EndpointError, Generation, Limits, OpenAI, Prompting, Retry
from cbcore.contexts import context_of
from cbcore.exceptions import DataError
from cbcore.introspection import attributes_without
from cbcore.texts import context_twin
from context_bench.blocking import finished

Messages = Sequence[Mapping[str, Any]]


class OpenAIProxy(OpenAI):
    """Asks an OpenAI-compatible endpoint in the way of context-bench: context as system message.

    With a question the context is the system's message and the question the user's; without
    one the context is the user's. `system_prompt` goes before them, and `build_messages`, a
    function from an example to messages, decides itself. `api_key` is by default what the
    environment variable OPENAI_API_KEY holds. No temperature is sent unless `extra_body` has
    one. `timeout` and `retry_base_delay` are in seconds.
    """

    identity = attributes_without("name", "prices")

    def __init__(
        self,
        base_url: str,
        model: str = "gpt-3.5-turbo",
        name: str | None = None,
        api_key: str | None = None,
        system_prompt: str | None = None,
        build_messages: Callable[[dict[str, Any]], Messages] | None = None,
        timeout: float = 30.0,
        extra_body: Mapping[str, Any] | None = None,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
    ) -> None:
        super().__init__(
            base_url,
            model,
            name=name or f"openai_proxy_{urlsplit(base_url).netloc.rpartition('@')[2]}",
            access=Access(api_key=api_key or None),
            prompting=Prompting(
                system_prompt=system_prompt,
                build_messages=build_messages or partial(_messages, system_prompt),
            ),
            generation=Generation(temperature=None, extra_body=extra_body),
            retry=Retry(max_retries=max_retries, backoff_s=retry_base_delay, retry_unreached=True),
            limits=Limits(timeout_s=timeout),
        )

    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        """The example with the answer as `response`, and its usage as `api_usage`."""
        return _joined(example, await super().aprocess(example))

    async def aprocess_conversation(self, example: dict[str, Any]) -> dict[str, Any]:
        """As `aprocess`, with all answers as `turn_responses`."""
        return _joined(example, await super().aprocess_conversation(example))

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """As `aprocess`, for callers that cannot await. Raises RuntimeError where it fails."""
        return self._waited_for(self.aprocess(example))

    def process_conversation(self, turns: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
        """The answers to the turns of a user, as messages."""
        example = {"turns": list(turns)}
        output = self._waited_for(self.aprocess_conversation(example))
        return [{"role": "assistant", "content": text} for text in output["turn_responses"]]

    def _waited_for(self, call: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
        try:
            return finished(call, self.aclose)
        except EndpointError as error:
            raise RuntimeError(str(error)) from error


def _messages(system_prompt: str | None, example: dict[str, Any]) -> list[Mapping[str, Any]]:
    """The messages that context-bench sent, without those that have no text."""
    messages: list[Mapping[str, Any]] = []
    if system_prompt is not None:
        messages.append({"role": "system", "content": system_prompt})
    if example.get("turns"):
        return [*messages, *example["turns"]]
    context, question = context_of(example), example.get("question")
    if not context and not question:
        raise DataError(
            f"example {example.get('id')!r} has neither a 'context' nor a 'question' with text"
        )
    if context and context_twin(example) is None:
        messages.append({"role": "system" if question else "user", "content": context})
    if question:
        messages.append({"role": "user", "content": question})
    return messages


def _joined(example: Mapping[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    """An output as context-bench had it: the whole example, and usage under its name there."""
    usage = {"api_usage": output["usage"]} if output.get("usage") else {}
    return {**example, **{k: v for k, v in output.items() if k != "usage"}, **usage}
