"""Likelihoods of texts from an endpoint that tells how likely each token of a prompt was."""

from __future__ import annotations

import json
import re
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
"""The fields of a request for each way."""


_UNREADABLE = Outcome.UNEXPECTED


@attrs.frozen
class Token:
    """One token of a prompt: where its text begins, and how likely it was; None at the start.

    The mark that a model has before all texts is none of them.
    """

    offset: int
    logprob: float | None
    is_likeliest: bool


def split(context: str, continuation: str) -> tuple[str, str]:
    """The two texts, with white space at the end of a context where words begin with it."""
    bare = context.rstrip()
    return bare, context[len(bare) :] + continuation


def read_tokens(data: Mapping[str, Any]) -> str:
    """The tokens of the prompt from a reply, as text until they are needed."""
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
            return _echoed(kept["logprobs"], prompt)
        return _aligned(kept["prompt_logprobs"], prompt)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise BadReplyError(
            _UNREADABLE, f"what it tells of the prompt cannot be read: {error!r}"
        ) from error


def _echoed(logprobs: Mapping[str, Any], prompt: str) -> list[Token]:
    found = []
    values, offsets = logprobs["token_logprobs"], logprobs["text_offset"]
    n_marks = int(_begins_with_mark(logprobs.get("tokens") or [], values, prompt))
    tops = logprobs.get("top_logprobs") or []
    first = offsets[n_marks]
    rows = zip(values[n_marks:], offsets[n_marks:], strict=True)
    for i, (logprob, offset) in enumerate(rows, start=n_marks):
        if offset - first >= len(prompt):
            break  # what was generated after the prompt
        best = max((tops[i] or {}).values(), default=None) if i < len(tops) else None
        likeliest = logprob is not None and best is not None and logprob >= best
        found.append(Token(offset - first, logprob, likeliest))
    return found


_MARK = re.compile(r"|<[^<>\s]+>|\[[A-Z]+\]")
"""Texts that servers show for the mark before all texts, such as `<s>`, or none."""


def _begins_with_mark(texts: Sequence[Any], values: Sequence[Any], prompt: str) -> bool:
    """Whether the first token is not of the prompt."""
    if len(texts) < 2 or values[0] is not None or not isinstance(texts[0], str):
        return False
    in_prompt = bool(texts[0]) and prompt.startswith(texts[0])
    return not in_prompt and _MARK.fullmatch(texts[0]) is not None


def _aligned(places: Sequence[Any], prompt: str) -> list[Token]:
    """Tokens by their texts, from the end. The one that was there is told before others."""
    found: list[Token] = []
    end = len(prompt)
    for place in reversed(places):
        if place is None:
            if end:  # else it is the mark before all texts
                found.append(Token(0, None, False))
            continue
        fitting = [one for one in place.values() if prompt[:end].endswith(one["decoded_token"])]
        if not fitting:
            raise ValueError(f"no token of {list(place.values())!r} ends the prompt at {end}")
        token = fitting[0]
        end -= len(token["decoded_token"])
        found.append(Token(end, float(token["logprob"]), token.get("rank") == 1))
    return found[::-1]


def n_before(tokens: Sequence[Token], start: int) -> int | None:
    """How many tokens come before a place; None where one lies on both sides of it."""
    n = sum(token.offset < start for token in tokens)
    is_clean = n == 0 or n == len(tokens) or tokens[n].offset == start
    return n if is_clean else None


def summed(tokens: Sequence[Token]) -> tuple[float, bool]:
    """The likelihood of all tokens together, and whether nothing else was likelier."""
    if not tokens:
        raise BadReplyError(_UNREADABLE, "it tells no likelihood of the continuation")
    known = [token.logprob for token in tokens if token.logprob is not None]
    if len(known) < len(tokens):
        raise BadReplyError(
            _UNREADABLE,
            "it tells no likelihood of a text's first token, as it puts no mark before a text: "
            "give the model's own as likelihood_begin, such as <|endoftext|>",
        )
    return sum(known), all(token.is_likeliest for token in tokens)
