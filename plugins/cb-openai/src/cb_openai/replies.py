"""The reply of an endpoint, by any API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from cb_openai.errors import Outcome


@attrs.frozen
class Reply:
    """One answer of a model.

    `text` is None when the model only called tools. `tool_calls` are dicts with `name`,
    `arguments` (a dict, or the raw text where that is no JSON object) and `id`. `usage` has
    `prompt_tokens`, `completion_tokens` and `cached_tokens` (a part of the prompt's) as far as
    the endpoint reported them. `latency_s` is the time of the request that succeeded, without
    waiting for a turn and without failed attempts; `retries` counts those, and `lost_attempts`
    the ones that may have been billed all the same. `first_token_s` is how much of the latency
    passed until the first piece of the answer came; None unless it was streamed.
    `raw` is the reply itself; of a stream, what was put together.
    """

    text: str | None
    finish_reason: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    usage: dict[str, int] = attrs.Factory(dict)
    request_id: str | None = None
    latency_s: float = 0.0
    first_token_s: float | None = None
    model: str | None = None
    retries: int = 0
    lost_attempts: int = 0
    raw: Mapping[str, Any] = attrs.field(factory=dict, repr=False)

    @property
    def outcome(self) -> Outcome:
        """`ok`, or `truncated` where the reply ended at the token limit."""
        return Outcome.TRUNCATED if self.finish_reason == "length" else Outcome.OK
