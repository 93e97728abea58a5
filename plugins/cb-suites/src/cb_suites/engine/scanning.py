"""What a suite file defines, told at a glance: a few top-level keys, without parsing YAML.

Nearly every suite file writes `task: name` on a line of its own. What this cannot read with
certainty is parsed instead, so that a glance is never wrong, only fast.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from cb_suites.bounded.yaml import NotReadableError, read_text
from cb_suites.engine.documents import Table, read_document
from cbcore.exceptions import ConfigError

_KEYS = ("task", "group", "tag", "include", "dataset", "class")
# A key at the very left with what belongs to it: the rest of its line and indented lines below.
_ENTRY = re.compile(
    rf"^(?P<key>{'|'.join(_KEYS)})[ \t]*:(?P<value>(?:[ \t].*)?(?:\n(?:[ \t#-].*)?)*)",
    re.MULTILINE,
)
_PLAIN = r"""(?P<{0}>[A-Za-z0-9_/.](?:[^\s#:\[\]{{}}'"&*!|>%@`]|:(?=\S)|@)*)"""
_SCALAR = re.compile(
    rf"""[ \t]*(?:{_PLAIN.format("a")}|"(?P<b>[^"\\\n]*)"|'(?P<c>[^'\n]*)')\s*\Z"""
)
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
# Anything that makes the keys at the left something else than a plain mapping.
_UNUSUAL = re.compile(r"^(?:[{\[\"'?%&*!|>]|<<|---[ \t]*\S|\.\.\.)", re.MULTILINE)
_NOT_NAMES = {"", "~", "null", "true", "false", "yes", "no", "on", "off", ".inf", ".nan"}


@attrs.frozen
class Glance:
    """The names in a suite file. `task` is set for a task, `group` for a group, never both.

    `tags` is None where the file has no `tag` of its own, and so takes that of its includes;
    so is `dataset`. `problem` says why a file could not be read at all.
    """

    task: str | None = None
    group: str | None = None
    tags: tuple[str, ...] | None = None
    includes: tuple[str, ...] = ()
    dataset: str | None = None
    line: int = 1
    problem: str = ""


def glance(path: Path) -> Glance:
    """Look at one file. What is wrong with it is told in `problem`."""
    try:
        text = read_text(path)
    except NotReadableError:
        text = "{"  # parsing it says what is wrong
    seen = _seen(text)
    if seen is not None:
        return seen
    try:
        table = read_document(path)
    except ConfigError as error:
        return Glance(problem=str(error))
    return _of_table(table)


def _seen(text: str) -> Glance | None:
    """What the lines tell, or None when they leave a doubt."""
    if _UNUSUAL.search(text):
        return None
    found: dict[str, Any] = {}
    lines: dict[str, int] = {}
    is_group = text.startswith("group:") or "\ngroup:" in text
    for match in _ENTRY.finditer(text):
        key = match["key"]
        value = _value(match["value"])
        if value is None and key == "task" and is_group:
            value = []  # the members of a group are read with the group
        if key == "class":
            value = key
        if value is None or key in found:
            return None
        found[key] = value
        lines[key] = text.count("\n", 0, match.start()) + 1
    if is_group and not isinstance(found.get("group"), str):
        return None  # then `task` is no list of members
    return _of_values(found, lines)


def _value(raw: str) -> Any:
    """A scalar, or a list of them; None for anything else."""
    text = "\n".join(_COMMENT.sub("", line).rstrip() for line in raw.split("\n")).strip()
    scalar = _scalar(text)
    if scalar is not None:
        return scalar
    if text.startswith("[") and text.endswith("]"):
        values = [_scalar(item) for item in text[1:-1].split(",")]
    else:
        rows = [row.strip() for row in text.split("\n") if row.strip()]
        values = [_scalar(row[1:]) if row.startswith("- ") else None for row in rows]
    return None if not values or None in values else values


def _scalar(text: str) -> str | None:
    match = _SCALAR.match(text)
    if match is None:
        return None
    if match["a"] is not None:
        plain: str = match["a"]
        is_text = plain.lower() not in _NOT_NAMES and not re.fullmatch(r"[\d._:eE+-]+", plain)
        return plain if is_text else None
    return match["b"] if match["b"] is not None else match["c"]


def _of_table(table: Table) -> Glance:
    """The same from a parsed file."""
    lines = {key: place.line or 1 for key, place in table.origins.items()}
    return _of_values({key: table[key] for key in _KEYS if key in table}, lines)


def _of_values(found: Mapping[str, Any], lines: Mapping[str, int]) -> Glance:
    group, task = found.get("group"), found.get("task")
    is_group = isinstance(group, str) and "class" not in found
    name = group if is_group else task if isinstance(task, str) else None
    dataset = found.get("dataset")
    return Glance(
        task=None if is_group else name,
        group=name if is_group else None,
        tags=_texts(found["tag"]) if "tag" in found else None,
        includes=_texts(found.get("include")),
        dataset=dataset if isinstance(dataset, str) else None,
        line=lines.get("group" if is_group else "task", 1),
    )


def _texts(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(item for item in items if isinstance(item, str))
