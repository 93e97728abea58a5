"""What a system sent, as digests: enough to say which prompts begin alike, without their text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs

from cb_money.caching import Request
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.texts import context_twin, with_rewritten_twin
from cbcore.tokens import DEFAULT_ENCODING, Encoding, Words

_PIECE, _LONG_PIECE, _FAR = 64, 256, 16_384
"""Characters: how exactly it is told where two prompts part, and from where on less exactly."""
_DIGITS = 10


@attrs.frozen
class PromptBlocks:
    """Keeps of each row which prompts were sent, piece by piece, as digests of all up to there.

    That is what a prompt cache is replayed on, by the metric `net_cost`. The prompt is the
    context and the question as the system passed them on, or the turns of a conversation with
    its replies: a request for every reply. What a reader puts around them, such as a system
    prompt, is not seen. Emits `prompt_tokens_sent`, the tokens of all requests of the row.
    """

    name = "prompt_blocks"
    emits = ("prompt_tokens_sent",)

    tokenizer: str = DEFAULT_ENCODING

    def __attrs_post_init__(self) -> None:
        _count(self.tokenizer)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """Note what was sent. Raises `MissingScoreError` where there is no text."""
        sent = with_rewritten_twin(original, {**original, **processed})
        messages, requests = _conversation(sent) if sent.get("turns") else _single(sent)
        if not messages or not requests:
            raise MissingScoreError("nothing that was sent is a text")
        count = _count(self.tokenizer)
        digests: list[str] = []
        tokens: list[int] = []
        ends: list[int] = []
        running = hashlib.blake2b(digest_size=_DIGITS // 2)
        for message in messages:
            for piece in _pieces(message):
                running.update(piece.encode("utf-8", "replace"))
                digests.append(running.copy().hexdigest())
                tokens.append(count(piece))
            running.update(b"\0")
            ends.append(len(digests))
        asked = [ends[number - 1] for number in requests]
        total = sum(sum(tokens[:end]) for end in asked)
        details: dict[str, Any] = {"digests": "".join(digests), "tokens": tokens, "requests": asked}
        if isinstance(at_s := original.get("timestamp"), int | float):
            details["at_s"] = at_s
        return Scored({"prompt_tokens_sent": float(total)}, details=details)


def requests_of(metadata: Mapping[str, Any]) -> list[Request]:
    """The requests that a row's metadata tells of; none where it tells of none."""
    told = metadata.get(PromptBlocks.name)
    if not isinstance(told, Mapping):
        return []
    text, tokens = str(told.get("digests") or ""), told.get("tokens") or ()
    digests = [text[i : i + _DIGITS] for i in range(0, len(text), _DIGITS)]
    ends: list[int] = []
    for n in tokens:
        ends.append((ends[-1] if ends else 0) + int(n))
    at_s = float(told.get("at_s") or 0.0)
    return [Request(digests[:n], ends[:n], at_s) for n in told.get("requests") or ()]


def _pieces(message: str) -> Iterator[str]:
    """Stretches that end between two words, so that their tokens are those of the whole."""
    start = 0
    while start < len(message):
        end = start + (_PIECE if start < _FAR else _LONG_PIECE)
        if end < len(message) and (space := message.rfind(" ", start + 1, end)) > start:
            end = space
        yield message[start:end]
        start = end


def _single(sent: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    """Context and question; the question alone where the context only repeats it."""
    fields = ("question",) if context_twin(sent) else ("context", "question")
    texts = [_text(sent.get(field)) for field in fields]
    messages = [text for text in texts if text]
    return messages, [len(messages)] if messages else []


def _conversation(sent: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    """All messages, replies put where they were missing, and after which ones a reply came."""
    turns = [_message(turn) for turn in sent["turns"]]
    replies = iter(sent.get("turn_responses") or ())
    messages: list[str] = []
    requests: list[int] = []
    for number, (role, text) in enumerate(turns):
        messages.append(f"{role}: {text}")
        following = turns[number + 1][0] if number + 1 < len(turns) else None
        if role == "user":
            requests.append(len(messages))
            if following in (None, "user"):
                reply = next(replies, None)
                if reply is not None and following is not None:
                    messages.append(f"assistant: {reply}")
    return messages, requests


def _message(turn: Any) -> tuple[str, str]:
    if isinstance(turn, Mapping):
        return str(turn.get("role") or "user"), _text(turn.get("content"))
    return "user", _text(turn)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in value]
        return "\n\n".join(part for part in parts if isinstance(part, str))
    return ""


@lru_cache(maxsize=4)
def _count(tokenizer: str) -> Any:
    if tokenizer == Words.name:
        return Words().count
    try:
        return Encoding(tokenizer).count
    except (ValueError, KeyError) as error:
        raise ValueError(f"tokenizer {tokenizer!r} is not known") from error
