"""Texts: those of an example, and any text made safe to be shown.

Where a benchmark has no context, `context` repeats the `question`, or all `turns` joined by a
blank line, so that every system finds it. Such a context is the same text as its twin: it is
counted once, stands in a prompt once, and is rewritten together with its twin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ("context_twin", "join_turns", "visible")

_BETWEEN_TURNS = "\n\n"
_BLANKS = dict.fromkeys(map(ord, "\t\n\r"), " ")
# Controls, line separators, lone surrogates, and the invisible characters that reorder or hide
# text. Zero-width joiners stay: emoji and several scripts need them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str, *, keep: str = "") -> str:
    r"""The text with every unseen character written out, as `\x1b` or `\u202e`.

    So it can be shown on a terminal: it moves no cursor, changes no colour and no title, and
    reads in the order in which it is written. Characters in `keep`, such as a newline, stay as
    they are.
    """
    if text.isascii() and text.isprintable():
        return text

    return _write_out(text, keep, lambda character: character.encode("unicode_escape").decode())


def clean(text: object) -> str:
    """Any text on one line, safe for a terminal: line breaks and tabs become spaces."""
    return visible(str(text).translate(_BLANKS))


def visible_json(text: str) -> str:
    r"""A JSON document with every unseen character written out, which reads as the same data.

    Line ends and tabs stay: they are between values, as JSON has them escaped inside of values.
    """

    return _write_out(text, "\n\r\t", lambda character: json.dumps(character).strip('"'))


def _write_out(text: str, keep: str, write: Callable[[str], str]) -> str:
    return _UNSEEN.sub(lambda found: found[0] if found[0] in keep else write(found[0]), text)


def join_turns(turns: Any) -> str | None:
    """The texts of all turns with a blank line between them; None where one is no text."""
    if not isinstance(turns, list | tuple):
        return None
    texts = []
    for turn in turns:
        text = turn.get("content") if isinstance(turn, Mapping) else turn
        if not isinstance(text, str):
            return None
        texts.append(text)
    return _BETWEEN_TURNS.join(texts)


def context_twin(example: Mapping[str, Any]) -> str | None:
    """The field that says the same as the context: `question`, `turns`, or None."""
    context = example.get("context")
    if context is None:
        return None
    if context == example.get("question"):
        return "question"
    if example.get("turns") and context == join_turns(example["turns"]):
        return "turns"
    return None


def rewrite_twin(before: Mapping[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Let the twin of a context that was rewritten say the same as the context.

    A question is replaced by the new context, turns by one turn of the user. What was already
    changed otherwise stays as it is.
    """
    old, new = before.get("context"), after.get("context")
    if old is None or new == old or not isinstance(new, str):
        return after
    if old == before.get("question") == after.get("question"):
        after["question"] = new
    turns = before.get("turns")
    if turns and turns == after.get("turns") and old == join_turns(turns):
        is_text = isinstance(turns[0], str)
        after["turns"] = [new if is_text else {"role": "user", "content": new}]
    return after
