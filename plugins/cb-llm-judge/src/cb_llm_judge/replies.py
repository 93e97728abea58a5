"""Reading a verdict out of what a model wrote: strictly, and never by guessing.

JSON comes first, wherever in the reply it stands; then a value that a label announces
(`Score: 4`), then a value that stands alone. Whatever is found must agree: a reply that names
two different verdicts, or one outside the form, is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from cb_llm_judge.verdicts import Form, JudgeError, Verdict

MOST_CHARACTERS = 20_000
LONGEST_REASON = 2_000
_MOST_OBJECTS = 100
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_UNFINISHED_THINKING = re.compile(r"<think(?:ing)?>.*\Z", re.DOTALL | re.IGNORECASE)
_EMPHASIS = re.compile(r"[*_`#]+")
_SCALE_ECHO = re.compile(r"\(\s*-?\d+\s*(?:-|–|to)\s*-?\d+\s*\)")
_REASON_KEYS = ("reason", "explanation", "rationale")
_CUT_REASON = re.compile(r'"(?:reason|explanation|rationale)"\s*:\s*"(?P<text>.*)', re.DOTALL)


def read_reply(reply: str, form: Form) -> Verdict:
    """The verdict in a reply. Raises `JudgeError` where there is none, or more than one."""
    text = _UNFINISHED_THINKING.sub("", _THINKING.sub("", reply[:MOST_CHARACTERS])).strip()
    if not text:
        raise JudgeError("the judge's reply is empty")
    objects = [found for found in _objects(text) if form.key in found]
    if objects:
        value = _one_value([found[form.key] for found in objects], form, text)
        return Verdict(value, _shortened(_reason_in(objects[0])))
    cut = [match["value"] for match in _cut_pattern(form).finditer(text)]
    if cut:
        reason = _CUT_REASON.search(text)
        value = _one_value([raw.strip('"') for raw in cut], form, text)
        return Verdict(value, _shortened(reason["text"] if reason else ""))
    return Verdict(_one_value(_in_prose(text, form), form, text), _shortened(text))


def _one_value(raw: list[Any], form: Form, text: str) -> int | str:
    if not raw:
        raise JudgeError(f"the judge's reply holds no {form.key}: {_quoted(text)}")
    try:
        values = list(dict.fromkeys(form.read(value) for value in raw))
    except ValueError as error:
        raise JudgeError(f"the judge's {form.key} cannot be used: {error}") from error
    if len(values) > 1:
        told = ", ".join(map(str, values))
        raise JudgeError(f"the judge's reply names more than one {form.key}: {told}")
    return values[0]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text, outermost first."""
    decoder = json.JSONDecoder(object_pairs_hook=_without_repeats)
    position = 0
    for _ in range(_MOST_OBJECTS):
        position = text.find("{", position)
        if position < 0:
            return
        try:
            found, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
            continue
        yield from _nested(found)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = {key.strip().lower(): value for key, value in pairs}
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _nested(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield found
    for value in found.values():
        if isinstance(value, dict):
            yield from _nested(value)


def _reason_in(found: dict[str, Any]) -> str:
    return next((str(found[key]) for key in _REASON_KEYS if found.get(key) is not None), "")


def _cut_pattern(form: Form) -> re.Pattern[str]:
    """The key with a whole value, in JSON that breaks off later. A cut value does not match."""
    return re.compile(
        rf'"{form.key}"\s*:\s*(?P<value>"[^"]*"|[^\s",{{}}\[\]]+)\s*[,}}]', re.IGNORECASE
    )


def _in_prose(text: str, form: Form) -> list[str]:
    """The values a text without JSON announces; the clearest kind of announcement counts."""
    plain = _EMPHASIS.sub("", text)
    if form.is_scale:
        plain = _SCALE_ECHO.sub(" ", plain)
    labels = "|".join(form.labels)
    announced = rf"\b(?:{labels})\b\s*(?:\bis\b|\bof\b|[:=–—-]|\s)*(?P<value>{form.token})"
    patterns = [announced]
    if form.is_scale:
        patterns.append(
            r"(?<![\d./-])(?P<value>-?\d+(?:\.\d+)?\s*(?:/|out of)\s*\d+)(?![\d/]|\.\d|\s+of\b)"
        )
    patterns.append(rf"\A\W*?(?P<value>{form.token})\s*[.!]?[ \t]*(?:\n|\Z)")
    for pattern in patterns:
        found = [match["value"] for match in re.finditer(pattern, plain, re.IGNORECASE)]
        if found:
            return found
    return []


def _quoted(text: str) -> str:
    words = " ".join(text.split())
    return repr(words if len(words) <= 80 else words[:80] + "…")


def _shortened(reason: str) -> str:
    text = reason.strip()
    return text if len(text) <= LONGEST_REASON else text[:LONGEST_REASON] + "…"
