"""The context of an example or output in its three forms, and the context that was sent.

`context` is a text, `contexts` a ranked list of texts or of mappings with a `text`, an `id` and a
`title`, and `messages` a chat history. A stage replaces the context by returning one of the forms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from cbcore.texts import rewrite_twin

__all__ = (
    "FORMS",
    "content_of",
    "context_of",
    "count_media",
    "history_of",
    "pass_on",
    "text_of",
)

FORMS = ("context", "contexts", "messages")
"""The fields that hold a context."""

_READABLE = {
    "context": "text",
    "contexts": "a list of texts or mappings with a text",
    "messages": "a list of messages",
}
STRUCTURED = ("tools", "tool_calls", "function_call")
"""Definitions of tools and calls of them. A model sees their names and arguments, as JSON."""

_MEDIA = frozenset({"image", "audio", "video", "file", "document"})
"""Content parts with one of these words in their type, such as `image_url` and `input_audio`."""
_BETWEEN = "\n\n"
_TEXT_KEYS = ("text", "content", "page_content")


def texts_of(contexts: Any) -> list[str] | None:
    """The texts of a ranked list; None if it is not a list of texts or mappings with a text."""
    if not isinstance(contexts, list | tuple):
        return None
    texts = [text for item in contexts if (text := text_of(item)) is not None]
    return texts if len(texts) == len(contexts) else None


def text_of(item: Any) -> str | None:
    """The text of an item of `contexts`: a text, or a mapping with one. None if it has none."""
    if isinstance(item, Mapping):
        item = next((item[key] for key in _TEXT_KEYS if key in item), None)
    return item if isinstance(item, str) else None


def context_of(fields: Mapping[str, Any]) -> str | None:
    """The context of an example or output as one text, from whichever form it has.

    Items of `contexts` are separated by a blank line, and so are `messages`, each with its role.
    None if there is no context, or none that can be read.
    """
    context = fields.get("context")
    if isinstance(context, str):
        return context
    texts = texts_of(fields.get("contexts") if context is None else context)
    messages: Any = fields.get("messages")
    if context is texts is None and is_readable("messages", messages):
        texts = [f"{m.get('role') or 'user'}: {content_of(m)}" for m in messages]
    return None if texts is None else _BETWEEN.join(texts)


def is_readable(form: str, value: Any) -> bool:
    """Whether a value can be the context in one of its forms."""
    if form == "context" and isinstance(value, str):
        return True
    try:
        if form == "messages":
            return isinstance(value, list | tuple) and all(isinstance(m, Mapping) for m in value)
        return texts_of(value) is not None
    except Exception:  # noqa: BLE001 - values are those of systems
        return False


def find_unreadable(given: Mapping[str, Any], output: Mapping[str, Any]) -> str | None:
    """Why the context that an output returns cannot be read; None if it can be read."""
    for form in FORMS:
        value = output.get(form)
        if value is given.get(form) or value is None or is_readable(form, value):
            continue
        if not is_same(value, given.get(form)):
            return f"returned {form!r} as {type(value).__name__}, not as {_READABLE[form]}"
    return None


def history_of(example: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The `messages` of an example, followed by its question unless they end with it."""
    messages = example.get("messages")
    if not messages or not is_readable("messages", messages):
        return []
    history = list(messages)
    question = example.get("question")
    if question and content_of(messages[-1]) != question:
        history.append({"role": "user", "content": question})
    return history


def has_field(fields: Mapping[str, Any], field: str) -> bool:
    """Whether a field has a value; a `context` may have any of its forms."""
    value = fields.get(field)
    if field != "context" or isinstance(value, str):
        return value is not None
    return any(is_readable(form, fields.get(form)) for form in FORMS)


def pass_on(given: Mapping[str, Any], output: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the next stage gets, which token counts and reports use as well.

    The forms of the context that the output returns replace the others: `contexts` become the
    `context`, and a `context` the one item of `contexts`. An output that returns none passes the
    context on.
    """
    after = {**given, **output}
    returned = find_returned(given, output)
    if not returned:
        return after
    after = {field: v for field, v in after.items() if field not in FORMS or field in returned}
    return rewrite_twin(given, complete_forms(after))


def complete_output(output: Mapping[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    """An output as evaluators read it: with the context that was sent, in both of its forms.

    An output without a context stays as it is. `sent` is what `pass_on` makes of it.
    """
    if not any(output.get(form) for form in FORMS):
        return dict(output)
    return complete_forms({f: v for f, v in sent.items() if f in output or f in FORMS})


def complete_forms(fields: dict[str, Any]) -> dict[str, Any]:
    """Add `context` made from `contexts`, or `contexts` from `context`."""
    context = fields.get("context")
    if context is None:
        texts = texts_of(fields.get("contexts"))
        if texts is not None:
            fields["context"] = _BETWEEN.join(texts)
    elif fields.get("contexts") is None and isinstance(context, str):
        fields["contexts"] = [context]
    return fields


def find_returned(given: Mapping[str, Any], output: Mapping[str, Any]) -> set[str]:
    """The forms of the context that an output returns; empty if it changes none of them.

    Of an output that hands back all it was given, only the changed forms count. A form that
    cannot be read does not count.
    """
    changed = {
        form
        for form in FORMS
        if form in output
        and not is_same(output[form], given.get(form))
        and is_readable(form, output[form])
    }
    if not changed or given.keys() <= output.keys():
        return changed
    return {form for form in FORMS if is_readable(form, output.get(form))}


def is_same(value: Any, other: Any) -> bool:
    """Whether two values are equal; values that cannot be compared are not."""
    if value is other:
        return True
    try:
        return bool(value == other)
    except Exception:  # noqa: BLE001 - values are those of systems
        return False


def content_of(message: Mapping[str, Any]) -> str:
    """The text of a message; tool calls, and other parts that are not text, as JSON.

    An image, a recording or a file is its type and a digest of it, as in `[image_url 1f0c3a9b]`.
    """
    content = message.get("content")
    parts = content if isinstance(content, list | tuple) else [content]
    texts = []
    for part in (*parts, message.get("tool_calls") or None):
        text = part.get("text") if isinstance(part, Mapping) else part
        if is_media(part):
            digest = blake2b(_write_json(part).encode("utf-8", "replace"), digest_size=4)
            text = f"[{part['type']} {digest.hexdigest()}]"
        if part is not None:
            texts.append(text if isinstance(text, str) else _write_json(part))
    return _BETWEEN.join(texts)


def is_media(value: Any, key: Any = None) -> bool:
    """Whether a value is an image, a recording or a file of a message, and not a document's text."""
    if not isinstance(value, Mapping):
        return False
    kind = value.get("type")
    words = kind.split("_") if isinstance(kind, str) and text_of(value) is None else ()
    return key == "audio" or not _MEDIA.isdisjoint(words)


def count_media(value: Any, key: Any = None) -> int:
    """The number of images, recordings and files in messages or parts of them."""
    if is_media(value, key):
        return 1
    if isinstance(value, Mapping):
        return sum(count_media(v, name) for name, v in value.items() if name not in STRUCTURED)
    return sum(map(count_media, value)) if isinstance(value, list | tuple) else 0


def _write_json(value: Any) -> str:
    """A value as one line of JSON with sorted keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
