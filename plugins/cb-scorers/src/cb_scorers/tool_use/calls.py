"""Function calls, from the ways in which models make them. Nothing is ever evaluated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cb_scorers._responses import strip_reasoning
from cb_scorers.tool_use.call import Call
from cb_scorers.tool_use.languages import PYTHON, Language

_TAGGED = re.compile(r"<(tool_call|function_call|tool)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_FENCED = re.compile(r"```[\w-]*\s*\n(.*?)(?:```|\Z)", re.DOTALL)
_NAMES = ("name", "function", "tool", "function_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "kwargs")


def calls_of(output: Mapping[str, Any], language: Language = PYTHON) -> list[Call] | None:
    """The calls a system made: its `tool_calls`, or those written out in its `response`.

    An empty list means that it made none; None, that what it wrote cannot be read as calls.
    """
    made = output.get("tool_calls")
    if made:
        if not isinstance(made, list | tuple):
            return None
        calls = [_from_plain(item) for item in made]
        return None if None in calls else [call for call in calls if call is not None]
    response = output.get("response")
    if not isinstance(response, str):
        return [] if made is not None else None
    if not response.strip():
        return []
    return from_text(response, language)


def from_text(text: str, language: Language = PYTHON) -> list[Call] | None:
    """Calls written as JSON or as code, alone, in fences, between tags, in brackets.

    What a model thought before it answered is none of it.
    """
    text = strip_reasoning(text)
    tagged = [match[2] for match in _TAGGED.finditer(text)]
    if tagged:
        return _all(tagged, language)
    calls = _read(text.strip("`\n "), language, whole=True)
    if calls is not None:
        return calls
    fenced = [_read(match[1], language) for match in _FENCED.finditer(text)]
    if any(calls is not None for calls in fenced):
        return [call for calls in fenced for call in calls or ()]
    for part in _bracketed(text):
        calls = _read(part, language)
        if calls is not None:
            return calls
    return None


def _all(parts: Sequence[str], language: Language) -> list[Call] | None:
    """The calls of several texts; None when one of them cannot be read."""
    read = [_read(part, language) for part in parts]
    return None if None in read else [call for calls in read for call in calls or ()]


def _read(text: str, language: Language, *, whole: bool = False) -> list[Call] | None:
    text = text.strip()
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        lines = text.split("\n")
        if len(lines) > 1 and all(line.startswith("{") for line in lines):
            return _all(lines, language)
        return language.read(text, whole=whole)
    items = plain if isinstance(plain, list) else [plain]
    calls = [_from_plain(item) for item in items]
    return None if None in calls else [call for call in calls if call is not None]


def _bracketed(text: str) -> Iterator[str]:
    """What stands between the first opening bracket and the last closing one, in prose."""
    for opening, closing in ("[]", "{}"):
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            yield text[start : end + 1]


def _from_plain(item: Any) -> Call | None:
    """A call from plain data: ours, OpenAI's, or `{"name": {"argument": …}}`."""
    if not isinstance(item, Mapping):
        return None
    for key in ("function", "function_call"):
        if isinstance(item.get(key), Mapping):
            item = item[key]
            break
    name = next((item[key] for key in _NAMES if isinstance(item.get(key), str)), None)
    if name is None:
        if len(item) == 1:
            ((name, arguments),) = item.items()
            if isinstance(name, str) and isinstance(arguments, Mapping):
                return Call(name, dict(arguments))
        return None
    arguments = next((item[key] for key in _ARGUMENTS if key in item), {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return None
    if arguments is None:
        arguments = {}
    return Call(name, dict(arguments)) if isinstance(arguments, Mapping) else None
