"""What a system sent, as digests: enough to say which prompts begin alike, without their text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any, TypeAlias

import attrs

from cb_money.asking import PROMPT, described, tokens_in
from cb_money.caching import Request
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.sent import requests_sent
from cbcore.tokens import DEFAULT_ENCODING, Encoding, Words

_PIECE, _LONG_PIECE, _FAR = 64, 256, 16_384
"""Characters: how exactly it is told where two prompts part, and from where on less exactly."""
_BLANK_LINE = "\n\n"
_DIGITS = 10

_Piece: TypeAlias = tuple[str, int]


@attrs.frozen
class PromptBlocks:
    """Keeps of each row which prompts were sent, piece by piece, as digests of all up to there.

    That is what a prompt cache is replayed on, by the metric `net_cost`. The prompts are those
    that a system tells of (`cbcore.sent`), system prompt, template and tools included, as
    `openai` and `local` do, of every stage of a chain; of another, context and question as it
    passed them on, or the turns of a conversation with its replies: a request for every reply.
    Emits `prompt_tokens_sent`, the tokens of all requests of the row.
    """

    name = "prompt_blocks"
    emits = ("prompt_tokens_sent",)

    tokenizer: str = DEFAULT_ENCODING

    def __attrs_post_init__(self) -> None:
        _count(self.tokenizer)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """Note what was sent. Raises `MissingScoreError` where there is no text."""
        try:
            sent = requests_sent(original, processed)
        except ValueError as error:
            raise MissingScoreError(str(error)) from error
        if not any(one.usage or any(text for _, text in one.messages) for one in sent):
            raise MissingScoreError("nothing that was sent is a text")
        count = _count(self.tokenizer)
        prompts = _prompts([one.messages for one in sent], count)
        digests: list[str] = []
        tokens: list[int] = []
        asked: list[tuple[int, int]] = []
        before: Sequence[_Piece] = ()
        for prompt in prompts:
            same = _in_common(before, prompt)
            digests += [digest for digest, _ in prompt[same:]]
            tokens += [n for _, n in prompt[same:]]
            asked.append((same, len(prompt) - same))
            before = prompt
        details: dict[str, Any] = {"digests": "".join(digests), "tokens": tokens, "requests": asked}
        details |= described(sent, count)
        if not any(one.told for one in sent):
            details["by"] = "example"
        if isinstance(at_s := original.get("timestamp"), int | float):
            details["at_s"] = at_s
        total = sum(n for prompt in prompts for _, n in prompt)
        total += sum(tokens_in(one.usage, PROMPT) or 0 for one in sent if not one.messages)
        return Scored({"prompt_tokens_sent": float(total)}, details=details)


def requests_of(metadata: Mapping[str, Any]) -> list[Request]:
    """The requests that a row's metadata tells of; none where it tells of none.

    One of which only the usage is known has no tokens.
    """
    told = metadata.get(PromptBlocks.name)
    if not isinstance(told, Mapping):
        return []
    text = str(told.get("digests") or "")
    digests = [text[i : i + _DIGITS] for i in range(0, len(text), _DIGITS)]
    pieces = iter(list(zip(digests, told.get("tokens") or (), strict=True)))
    at_s = float(told.get("at_s") or 0.0)
    prompt: list[_Piece] = []
    found = []
    for same, new in told.get("requests") or ():
        prompt = [*prompt[:same], *islice(pieces, new)]
        ends = list(accumulate(n for _, n in prompt))
        found.append(Request([digest for digest, _ in prompt], ends, at_s))
    return found


def _prompts(
    requests: Sequence[Sequence[tuple[str, str]]], count: Callable[[str], int]
) -> list[list[_Piece]]:
    """Each request as pieces: a digest of all up to there, and the tokens of the piece."""
    cut: dict[str, list[tuple[bytes, int]]] = {}  # most messages of a conversation come again
    prompts = []
    for request in requests:
        running = hashlib.blake2b(digest_size=_DIGITS // 2)
        prompt: list[_Piece] = []
        for role, text in request:
            running.update(f"\0{role}\0".encode("utf-8", "replace"))
            if text not in cut:
                cut[text] = [(p.encode("utf-8", "replace"), count(p)) for p in _pieces(text)]
            for piece, n in cut[text]:
                running.update(piece)
                prompt.append((running.hexdigest(), n))
        prompts.append(prompt)
    return prompts


def _in_common(before: Sequence[_Piece], after: Sequence[_Piece]) -> int:
    """How many pieces two prompts begin with alike; a digest is of all before it, too."""
    same = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        same += 1
    return same


def _pieces(message: str) -> Iterator[str]:
    """Stretches that end with a paragraph, or between two words.

    So their tokens are those of the whole, and a question that follows a context of its own
    begins a piece.
    """
    start = 0
    while start < len(message):
        end = start + (_PIECE if start < _FAR else _LONG_PIECE)
        if (blank := message.find(_BLANK_LINE, start, end)) >= 0:
            end = blank + len(_BLANK_LINE)
        elif end < len(message) and (space := message.rfind(" ", start + 1, end)) > start:
            end = space
        yield message[start:end]
        start = end


@lru_cache(maxsize=4)
def _count(tokenizer: str) -> Any:
    if tokenizer == Words.name:
        return Words().count
    try:
        return Encoding(tokenizer).count
    except (ValueError, KeyError) as error:
        raise ValueError(f"tokenizer {tokenizer!r} is not known") from error
