"""YAML read so that it ends: of bounded size, each key given once, nothing nested in itself.

A few characters of aliases and merge keys can stand for more than fits into the memory, so that
what a text stands for is counted before anything is made of it.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ("NotReadableError", "construct", "read_bytes", "read_text", "safe_loader")

MOST_BYTES = 1_000_000
MOST_VALUES = 1_000_000
DEEPEST = 100
_LONGEST_NUMBER = 1_000
_FEW_OPENERS = 1_000
_OPENERS = ("[", "{", "- ", "? ")
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_MERGE = "tag:yaml.org,2002:merge"


class NotReadableError(ValueError):
    """Why a text cannot be used, and the line, if one is to blame."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def read_bytes(path: Path) -> bytes:
    """What a file holds, if it is one and not too large. Raises `NotReadableError`."""
    try:
        # A pipe that nobody writes to would hold up even the opening of it.
        if not stat.S_ISREG(path.stat().st_mode):
            raise NotReadableError("cannot be read: it is not a file")
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise NotReadableError(f"cannot be read: {error.strerror}") from error
    if len(raw) > MOST_BYTES:
        raise NotReadableError(f"cannot be read: it has more than {MOST_BYTES:,} bytes")
    return raw


def read_text(path: Path) -> str:
    """The text of a file, as `read_bytes` reads it. Raises `NotReadableError`."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotReadableError(f"not valid UTF-8 at byte {error.start}") from error


def safe_loader() -> Any:
    """The class to derive a loader from: PyYAML's safe one, in C where there is one."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def construct(text: str, loader_class: Any) -> Any:
    """What a text says, made by a loader of that class. Raises `NotReadableError`."""
    import yaml

    try:
        _check_depth(text)
        loader = loader_class(text)
        try:
            node = loader.get_single_node()
            _check(node)
            return None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = f"not valid YAML: {error.problem or error.context}"
        raise NotReadableError(reason, mark.line + 1 if mark else None) from error
    except yaml.YAMLError as error:
        raise NotReadableError(f"not valid YAML: {error}") from error
    except RecursionError as error:
        raise NotReadableError("not valid YAML: nested too deeply") from error
    except (ValueError, OverflowError) as error:  # a date that is none, say
        if isinstance(error, NotReadableError):
            raise
        raise NotReadableError(f"not valid YAML: {error}") from error


def _check_depth(text: str) -> None:
    """Refuse what is nested too deeply: the loader in C would crash on it."""
    if sum(map(text.count, _OPENERS)) <= _FEW_OPENERS:
        return
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=safe_loader()):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _too_deep(event.start_mark)


def _too_deep(mark: Any) -> NotReadableError:
    return NotReadableError("not valid YAML: nested too deeply", mark.line + 1)


def _check(root: Any) -> None:
    """Count what a document stands for, everything behind an alias each time it is named.

    No recursion: nothing is known yet of how deep it goes.
    """
    sizes: dict[Any, int] = {}  # by node: those of YAML are equal to nothing but themselves
    heights: dict[Any, int] = {}
    open_nodes: set[Any] = set()
    waiting: list[tuple[Any, bool]] = [] if root is None else [(root, False)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            open_nodes.discard(node)
            below = list(_children(node))
            sizes[node] = 1 + sum(sizes[child] for child in below)
            heights[node] = 1 + max((heights[child] for child in below), default=0)
            if heights[node] > DEEPEST:
                raise _too_deep(node.start_mark)
            if sizes[node] > MOST_VALUES:
                reason = f"its aliases stand for more than {MOST_VALUES:,} values"
                raise NotReadableError(f"not valid YAML: {reason}", node.start_mark.line + 1)
        elif node not in sizes:
            if node in open_nodes:
                reason = "not valid YAML: an alias stands inside of what it stands for"
                raise NotReadableError(reason, node.start_mark.line + 1)
            _check_node(node)
            open_nodes.add(node)
            waiting.append((node, True))
            waiting += [(child, False) for child in _children(node)]


def _children(node: Any) -> Iterable[Any]:
    if node.id == "mapping":
        return [part for pair in node.value for part in pair]
    return node.value if node.id == "sequence" else ()


def _check_node(node: Any) -> None:
    """Refuse a key that is given twice with different values, and a number too long to be one."""
    if node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
        raise NotReadableError("not valid YAML: a number too long", node.start_mark.line + 1)
    seen: dict[tuple[str, str], Any] = {}
    for key, value in _plain_pairs(node):
        if not _is_same(seen.setdefault((key.tag, key.value), value), value):
            reason = f"not valid YAML: {key.value!r} is given twice"
            raise NotReadableError(reason, key.start_mark.line + 1)


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    both_plain = one.id == other.id == "scalar"
    return both_plain and (one.tag, one.value) == (other.tag, other.value)


def _plain_pairs(node: Any) -> Iterator[tuple[Any, Any]]:
    if node.id == "mapping":
        yield from (pair for pair in node.value if pair[0].id == "scalar" and pair[0].tag != _MERGE)
