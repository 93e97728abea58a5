"""The requests of a system to models, as the list `requests` in its output.

Each request is a mapping. `endpoint` and `model` are where it went, `price` is what a million
tokens cost there, if the user gave a price. `messages` are those of the OpenAI chat format,
`tools` the tool definitions sent with them, `usage` is what the endpoint counted, `reply` the text
that came back if it counted nothing, and `lost` the number of attempts without a result.

A run keeps requests small: it refers to texts of the example and of the output instead of
repeating them.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from cbcore.contexts import FORMS, context_of, is_same
from cbcore.json_data import to_json_safe

__all__ = ("expand_requests",)

_FIELDS = (*FORMS, "question", "turns", "tools", "turn_responses")
_SHORTEST = 40
"""Characters from which on a reference is shorter than the text."""
_TEXT = "$text"
"""The pieces of a text. Every second one is the digest of another text."""
_MARK = "\0"


def compact_requests(requests: Any, example: Mapping[str, Any], output: Mapping[str, Any]) -> Any:
    """Requests that refer to texts of the example and the output instead of repeating them."""
    texts = sorted(_find_texts(example, output).items(), key=lambda item: -len(item[1]))

    def refer(_: str, value: Any) -> Any:
        if not isinstance(value, str) or len(value) < _SHORTEST or _MARK in value:
            return value
        marked = value
        for digest, text in texts:
            marked = marked.replace(text, f"{_MARK}{digest}{_MARK}")
        return value if marked == value else {_TEXT: marked.split(_MARK)}

    return to_json_safe(requests, replace=refer)


def expand_requests(example: Mapping[str, Any], output: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The requests of an output, with all their messages.

    Raises ValueError if they are not requests, or refer to a text that is not there.
    """
    requests = output.get("requests")
    if not requests or is_same(requests, example.get("requests")):
        return []
    texts = _find_texts(example, output)

    def expand(_: str, value: Any) -> Any:
        if not isinstance(value, Mapping) or _TEXT not in value:
            return value
        return "".join(texts[p] if n % 2 else p for n, p in enumerate(value[_TEXT]))

    # What cannot be expanded becomes a text, which is not a request or a message.
    expanded = to_json_safe(requests, replace=expand)
    try:
        return [
            {**one, "messages": [*map(dict, one["messages"])]} if "messages" in one else dict(one)
            for one in expanded
        ]
    except (TypeError, ValueError) as error:
        raise ValueError(f"'requests' of the output cannot be read: {error!r}") from error


def _find_texts(*fields: Mapping[str, Any]) -> dict[str, str]:
    """The long texts of an example and its output, by their digests."""
    found = {}

    def note(_: str, value: Any) -> Any:
        if isinstance(value, str) and len(value) >= _SHORTEST and _MARK not in value:
            content = value.encode("utf-8", "surrogatepass")
            found[blake2b(content, digest_size=8).hexdigest()] = value
        return value

    values = [value for one in fields for value in (context_of(one), *map(one.get, _FIELDS))]
    to_json_safe([value for value in values if value is not None], replace=note)
    return found
