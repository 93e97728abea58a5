"""Likelihoods of texts from an endpoint that tells how likely each token of a prompt was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from cb_openai.errors import BadReplyError, Outcome

Way: TypeAlias = Literal["echo", "prompt_logprobs"]
"""How an endpoint is asked: `echo` with `logprobs`, or vLLM's `prompt_logprobs`."""

ASKED: Mapping[Way, Mapping[str, Any]] = {
    "echo": {"echo": True, "logprobs": 1},
    "prompt_logprobs": {"prompt_logprobs": 1},
}
"""What a request says for each way."""


_UNREADABLE = Outcome.UNEXPECTED


@attrs.frozen
class Token:
    """One token of a prompt: where its text begins, and how likely it was; None at the start."""

    offset: int
    logprob: float | None
    is_likeliest: bool


def split(context: str, continuation: str) -> tuple[str, str]:
    """The two texts, with white space at the end of a context where words begin with it."""
    bare = context.rstrip()
    return bare, context[len(bare) :] + continuation


def read_tokens(data: Mapping[str, Any]) -> str:
    """What a reply says of the tokens of its prompt, as text, to be kept until it is needed."""
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise BadReplyError(_UNREADABLE, "the reply has no choices")
    kept = {key: choices[0].get(key) for key in ("logprobs", "prompt_logprobs")}
    if not any(kept.values()):
        raise BadReplyError(
            _UNREADABLE,
            "the reply tells nothing of the tokens of the prompt: the endpoint does not offer that",
        )
    return json.dumps(kept)


def tokens_of(told: str, prompt: str, way: Way) -> list[Token]:
    """The tokens of a prompt. Raises `BadReplyError` for a reply that does not fit it."""
    kept = json.loads(told)
    try:
        if way == "echo":
            return _echoed(kept["logprobs"], len(prompt))
        return _aligned(kept["prompt_logprobs"], prompt)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise BadReplyError(
            _UNREADABLE, f"what it tells of the prompt cannot be read: {error!r}"
        ) from error


def _echoed(logprobs: Mapping[str, Any], n_characters: int) -> list[Token]:
    found = []
    rows = zip(logprobs["token_logprobs"], logprobs["text_offset"], strict=True)
    tops = logprobs.get("top_logprobs") or []
    first = logprobs["text_offset"][0]
    for i, (logprob, offset) in enumerate(rows):
        if offset - first >= n_characters:
            break  # what was generated after the prompt
        best = max((tops[i] or {}).values(), default=None) if i < len(tops) else None
        likeliest = logprob is not None and best is not None and logprob >= best
        found.append(Token(offset - first, logprob, likeliest))
    return found


def _aligned(places: Sequence[Any], prompt: str) -> list[Token]:
    """Tokens by their texts, from the end: the first token has none."""
    found: list[Token] = []
    end = len(prompt)
    for place in reversed(places):
        if place is None:
            found.append(Token(0, None, False))
            continue
        fitting = [one for one in place.values() if prompt[:end].endswith(one["decoded_token"])]
        if not fitting:
            raise ValueError(f"no token of {list(place.values())!r} ends the prompt at {end}")
        token = fitting[0]
        end -= len(token["decoded_token"])
        found.append(Token(end, float(token["logprob"]), token.get("rank") == 1))
    return found[::-1]


def summed(tokens: Sequence[Token], start: int) -> tuple[float, bool]:
    """The likelihood of all that begins at a place, and whether nothing else was likelier."""
    counted = [token for token in tokens if token.offset >= start and token.logprob is not None]
    if not counted:
        raise BadReplyError(_UNREADABLE, "it tells no likelihood of the continuation")
    total = sum(token.logprob for token in counted if token.logprob is not None)
    return total, all(token.is_likeliest for token in counted)
