"""What a system sent, as digests: enough to say which prompts begin alike, without their text."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice, takewhile
from typing import Any, TypeAlias

import attrs

from cb_cost.caching import Request
from cb_cost.prompts import SentRequest, read_requests
from cb_cost.row_requests import PROMPT, described, tokens_in
from cb_cost.times import Time, read_time
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.tokens import DEFAULT_ENCODING, Encoding, Words

_PIECE, _LONG_PIECE, _FAR = 64, 256, 16_384
"""Characters: how exactly it is told where two prompts part, and from where on less exactly."""
_BLANK_LINE = "\n\n"
_DIGITS = 10

_INSIDE, _OPENING, _MESSAGE, _PARAGRAPH = ".", "s", "m", "p"
"""What a piece ends: nothing, a message of tools or system, another message, or a paragraph."""
_OPENING_ROLES = ("tools", "system", "developer")

_Piece: TypeAlias = tuple[str, int, str]
"""A digest of all up to its end, its tokens, and what it ends."""


@attrs.frozen
class PromptBlocks:
    """Keeps of each row which prompts were sent, piece by piece, as digests of all up to there.

    That is what a prompt cache is replayed on, by the metric `net_cost`. The prompts are those
    in the `requests` of an output, system prompt, template and tools included, as `openai` and
    `local` write them, of every stage of a chain; of another, context and question as it
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
            sent = read_requests(original, processed)
        except ValueError as error:
            raise MissingScoreError(str(error)) from error
        if not any(one.usage or any(text for _, text in one.messages) for one in sent):
            raise MissingScoreError("nothing that was sent is a text")
        count = _count(self.tokenizer)
        prompts = _prompts(sent, count)
        digests: list[str] = []
        tokens: list[int] = []
        ends: list[str] = []
        asked: list[tuple[int, int]] = []
        before: Sequence[_Piece] = ()
        for prompt in prompts:
            same = _in_common(before, prompt)
            digests += [digest for digest, _, _ in prompt[same:]]
            tokens += [n for _, n, _ in prompt[same:]]
            ends += [end for _, _, end in prompt[same:]]
            asked.append((same, len(prompt) - same))
            before = prompt
        details: dict[str, Any] = {"digests": "".join(digests), "tokens": tokens}
        details |= {"ends": "".join(ends), "requests": asked}
        details |= described(sent, count)
        if not any(one.told for one in sent):
            details["by"] = "example"
        times = _times(original, sent)
        if any(times):
            details["at_s"] = [None if one is None else one.at_s for one in times]
        if n_zoneless := sum(one is not None and not one.has_zone for one in times):
            details["zoneless"] = n_zoneless
        total = sum(n for prompt in prompts for _, n, _ in prompt)
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
    pieces = iter(list(zip(digests, told.get("tokens") or (), told.get("ends") or "", strict=True)))
    requests = told.get("requests") or ()
    times = told.get("at_s") or [None] * len(requests)
    prompt: list[_Piece] = []
    found = []
    for (same, new), at_s in zip(requests, times, strict=True):
        prompt = [*prompt[:same], *islice(pieces, new)]
        closing = [(n, end) for n, (_, _, end) in enumerate(prompt) if end != _INSIDE]
        found.append(
            Request(
                [digest for digest, _, _ in prompt],
                list(accumulate(n for _, n, _ in prompt)),
                at_s,
                blocks=[n for n, _ in closing],
                n_opening=sum(1 for _ in takewhile(lambda one: one[1] == _OPENING, closing)),
                is_text=any(end == _PARAGRAPH for _, end in closing),
            )
        )
    return found


def _times(example: Mapping[str, Any], sent: Sequence[SentRequest]) -> list[Time | None]:
    """When each request was sent: at the `timestamp` of the example, or of its turn.

    `turn_timestamps` has one for each turn of the user. The last request of a stage is that of
    the last turn.
    """
    given = example.get("turn_timestamps")
    turns = list(map(read_time, given)) if isinstance(given, list | tuple) else []
    if not turns:
        return [read_time(example.get("timestamp"))] * len(sent)
    left = Counter(one.stage for one in sent)
    times = []
    for one in sent:
        times.append(turns[max(len(turns) - left[one.stage], 0)])
        left[one.stage] -= 1
    return times


def _prompts(sent: Sequence[SentRequest], count: Callable[[str], int]) -> list[list[_Piece]]:
    """Each request as pieces."""
    cut: dict[str, list[tuple[str, int]]] = {}  # most messages of a conversation come again
    prompts = []
    for request in sent:
        running = hashlib.blake2b(digest_size=_DIGITS // 2)
        prompt: list[_Piece] = []
        is_text = not request.told and len(request.messages) == 1
        for role, text in request.messages:
            closing = _OPENING if role in _OPENING_ROLES else _MESSAGE
            running.update(f"\0{role}\0".encode("utf-8", "replace"))
            if text not in cut:
                cut[text] = _counted(text, count)
            for n, (piece, tokens) in enumerate(cut[text], start=1):
                running.update(piece.encode("utf-8", "replace"))
                end = _INSIDE
                if is_text and piece.endswith(_BLANK_LINE):
                    end = _PARAGRAPH
                if n == len(cut[text]):
                    end = _PARAGRAPH if is_text else closing
                prompt.append((running.hexdigest(), tokens, end))
        prompts.append(prompt)
    return prompts


def _counted(text: str, count: Callable[[str], int]) -> list[tuple[str, int]]:
    """The pieces of a text with their tokens, which add up to those of the text.

    Counted by themselves they would be more: a token may lie across a cut.
    """
    pieces = list(_pieces(text))
    ends = list(accumulate(map(count, pieces)))
    exact, total = count(text), ends[-1] if ends else 0
    scaled = [round(end * exact / total) if total else 0 for end in ends]
    tokens = [after - before for before, after in zip([0, *scaled], scaled, strict=False)]
    return list(zip(pieces, tokens, strict=True))


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

    So a question that follows a context of its own begins a piece.
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
