"""Building HTML and SVG so that text can only ever be text."""

from __future__ import annotations

import base64
import hashlib

from cbcore.texts import visible

_VOID = frozenset({"br", "input", "meta"})
# As `html.escape`, without the names of all characters that importing `html` reads.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


class Markup(str):
    """A string that is markup already. `tag` escapes every other string."""

    __slots__ = ()


def tag(name: str, /, *children: str | None, **attributes: str | float | bool | None) -> Markup:
    """An element. Children that are not `Markup`, and all attribute values, are escaped.

    Attribute names may end in an underscore (`class_`); inner ones become hyphens. A value
    of None or False leaves the attribute out, True writes it bare.
    """
    opened = name
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        written = key.rstrip("_").replace("_", "-")
        opened += f" {written}" if value is True else f' {written}="{_attribute(value)}"'
    if name in _VOID:
        return Markup(f"<{opened}>")
    return Markup(f"<{opened}>{join(*children)}</{name}>")


def join(*children: str | None) -> Markup:
    """The children one after another; text among them is escaped, None left out."""
    return Markup("".join(map(_child, filter(None, children))))


def digest_source(content: str) -> str:
    """The source by which a Content-Security-Policy allows this style or script."""
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _child(child: str) -> str:
    return child if isinstance(child, Markup) else visible(child, keep="\n\t").translate(_ESCAPES)


def _attribute(value: str | float) -> str:
    if isinstance(value, str):
        return visible(value).translate(_ESCAPES)
    return f"{value:.2f}".rstrip("0").rstrip(".")
