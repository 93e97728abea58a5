"""The requests of a system to models, as the list `requests` in its output.

Each request is a mapping. `endpoint` and `model` are where it went, `price` is what a million
tokens cost there, if the user gave a price. `messages` are those of the OpenAI chat format,
`tools` the tool definitions sent with them, `usage` is what the endpoint counted, `reply` the text
that came back if it counted nothing, and `lost` the number of attempts without a result.

A run keeps requests small: it refers to texts of the example and of the output instead of
repeating them, and to messages of the request before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from cbcore.contexts import FORMS, context_of, is_same

__all__ = ("expand_requests",)

_FIELDS = (*FORMS, "question", "turns", "tools", "turn_responses")
_SHORTEST = 40
"""Characters from which on a reference is shorter than the text."""
_TEXT = "$text"


def compact_requests(
    requests: Any, example: Mapping[str, Any], output: Mapping[str, Any]
) -> list[Any]:
    """Requests that refer to texts of the example and the output instead of repeating them."""
    texts = sorted(_find_texts(example, output).items(), key=lambda item: -len(item[1]))
    if not isinstance(requests, list | tuple):
        requests = [requests]
    before: Sequence[Any] = ()
    compacted = []
    for request in requests:
        messages = request.get("messages") if isinstance(request, Mapping) else None
        if not isinstance(messages, list | tuple):
            compacted.append(request)
            continue
        n_same = 0
        for earlier, message in zip(before, messages, strict=False):
            if earlier != message:
                break
            n_same += 1
        new = {**request, "messages": messages[n_same:]}
        if n_same:
            new["same"] = n_same
        compacted.append(_pack(new, texts))
        before = messages
    return compacted


def expand_requests(example: Mapping[str, Any], output: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The requests of an output, with all their messages.

    Raises ValueError if they are not requests, or refer to a text that is not there.
    """
    requests = output.get("requests")
    if not requests or is_same(requests, example.get("requests")):
        return []
    texts = _find_texts(example, output)
    before: list[Any] = []
    expanded = []
    try:
        for request in requests:
            whole = _unpack(dict(request), texts)
            if "messages" in whole:
                n_same = whole.pop("same", 0)
                before = before[:n_same]
                before += map(dict, whole["messages"])
                whole["messages"] = before
            expanded.append(whole)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"'requests' of the output cannot be read: {error!r}") from error
    return expanded


def _find_texts(*fields: Mapping[str, Any]) -> dict[str, str]:
    """The long texts of an example and its output, by their digests."""
    found = {}
    for one in fields:
        values = [context_of(one)]
        values += map(one.get, _FIELDS)
        for text in _walk_texts(values):
            if len(text) >= _SHORTEST:
                content = text.encode("utf-8", "surrogatepass")
                digest = blake2b(content, digest_size=8).hexdigest()
                found[digest] = text
    return found


def _walk_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _walk_texts(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _walk_texts(part)


def _pack(value: Any, texts: Sequence[tuple[str, str]]) -> Any:
    if isinstance(value, str):
        pieces = _split(value, texts)
        return value if pieces == [value] else {_TEXT: pieces}
    if isinstance(value, Mapping):
        return {key: _pack(part, texts) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(part, texts) for part in value]
    return value


def _split(text: str, texts: Sequence[tuple[str, str]]) -> list[Any]:
    """The pieces of a text: strings, and lists with the digest of a known text."""
    pieces: list[Any] = [text]
    for digest, known in texts:
        for n, piece in enumerate(pieces):
            if isinstance(piece, str) and known in piece:
                before, _, after = piece.partition(known)
                pieces[n : n + 1] = [part for part in (before, [digest], after) if part]
                break
    return pieces


def _unpack(value: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        if _TEXT in value:
            return "".join(p if isinstance(p, str) else texts[p[0]] for p in value[_TEXT])
        return {key: _unpack(part, texts) for key, part in value.items()}
    if isinstance(value, list):
        return [_unpack(part, texts) for part in value]
    return value
