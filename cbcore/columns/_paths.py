"""Paths into a row, the example and the output together, and what they lead to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

Side: TypeAlias = Literal["original", "processed"]

SYSTEM = "{system}"
"""Stands in a path for the name of the system under test."""

_MOST_NAMES, _LONGEST_NAME = 20, 40
_INDEX = re.compile(r"-?\d+\Z")
_SEGMENT = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)"|([^.]+)""")


class Segment(NamedTuple):
    """One step of a path. A quoted one is a name, even if it looks like an index or a `*`."""

    name: str
    quoted: bool = False


class ColumnPath(NamedTuple):
    """A path into a row. `ColumnPath.parse` raises ValueError for what is none."""

    text: str
    segments: tuple[Segment, ...]

    @classmethod
    def parse(cls, text: str) -> ColumnPath:
        segments: list[Segment] = []
        position = 0
        while True:
            match = _SEGMENT.match(text, position)
            if match is None:
                raise ValueError(f"the path {text!r} has an empty name at character {position}")
            single, double, bare = match.groups()
            if bare is not None and bare[0] in "'\"":
                raise ValueError(f"the path {text!r} lacks a closing quote")
            if bare is not None:
                segments.append(Segment(bare))
            else:
                quote = match[0][0]
                name = single if single is not None else double
                segments.append(Segment(name.replace(quote * 2, quote), quoted=True))
            position = match.end()
            if position == len(text):
                return cls(text, tuple(segments))
            if text[position] != ".":
                raise ValueError(f"in the path {text!r} a dot must follow the closing quote")
            position += 1

    def for_system(self, name: str) -> ColumnPath:
        """The path with `{system}` replaced; the name stays one step, whatever is in it."""
        if SYSTEM not in self.text:
            return self
        return ColumnPath(
            self.text.replace(SYSTEM, name),
            tuple(step._replace(name=step.name.replace(SYSTEM, name)) for step in self.segments),
        )

    @property
    def side(self) -> Side | None:
        """The side a path is limited to by its first step."""
        first = self.segments[0]
        if len(self.segments) < 2 or first.quoted:
            return None
        if first.name == "original":
            return "original"
        return "processed" if first.name == "processed" else None

    def starts_in(self, data: Mapping[str, Any]) -> bool:
        """Whether `data` has the column that the path begins with."""
        return any(name in data for _, name in _names(self.segments))

    def _is_dotted_name_in(self, data: Mapping[str, Any]) -> bool:
        return any(n > 1 and name in data for n, name in _names(self.segments))

    def find(self, data: Mapping[str, Any]) -> Any:
        """What the path leads to in an example. Raises `NoSuchError`."""
        if self.starts_in(data):
            return _walk(data, self.segments, [])
        name = self.segments[0].name
        raise NoSuchError(f"it has no column {name!r}", name, data)

    def look_up(
        self, original: Mapping[str, Any], processed: Mapping[str, Any], prefer: Side
    ) -> Any:
        """What the path leads to. Raises `NoSuchError`."""
        sides = (processed, original) if prefer == "processed" else (original, processed)
        if self.side is not None and not any(self._is_dotted_name_in(data) for data in sides):
            data = original if self.side == "original" else processed
            return _walk(data, self.segments[1:], [self.side])
        for data in sides:
            if self.starts_in(data):
                return _walk(data, self.segments, [])
        name = self.segments[0].name
        raise NoSuchError(
            f"neither the example nor the output has a column {name!r}",
            name,
            {**original, **processed},
        )


class NoSuchError(Exception):
    """A path that leads nowhere: why, which name was wanted, and what is there instead."""

    def __init__(self, reason: str, wanted: str = "", there: Iterable[Any] = ()) -> None:
        super().__init__(reason)
        self.wanted = wanted
        self.there = [str(name) for name in there]


def shown(names: Iterable[Any]) -> str:
    """Names from data as they are listed in an error: some of them, and shortened."""
    found = list(names)
    listed = [_shortened(str(name)) for name in found[:_MOST_NAMES]]
    return ", ".join(listed) + (f", … ({len(found)} in all)" if len(found) > _MOST_NAMES else "")


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _names(segments: Sequence[Segment]) -> Iterator[tuple[int, str]]:
    """How many of the segments could be one name, and that name; the longest first."""
    longest = 1
    while longest < len(segments) and not any(s.quoted for s in segments[: longest + 1]):
        longest += 1
    for n in range(longest, 0, -1):
        yield n, ".".join(segment.name for segment in segments[:n])


def _walk(value: Any, segments: Sequence[Segment], trail: list[str]) -> Any:
    if not segments:
        return value
    segment, where = segments[0], ".".join(trail) or "the row"
    if isinstance(value, Mapping):
        for n, name in _names(segments):
            if name in value:
                return _walk(value[name], segments[n:], [*trail, name])
        has = f"it has {shown(value)}" if value else "it is empty"
        raise NoSuchError(f"{where!r} has no {segment.name!r}, {has}", segment.name, value)
    if not isinstance(value, list | tuple):
        kind = "empty (None)" if value is None else f"a {type(value).__name__}"
        raise NoSuchError(f"{where!r} is {kind}, so it has no {segment.name!r}")
    if segment == Segment("*"):
        found = [_walk(v, segments[1:], [*trail, str(n)]) for n, v in enumerate(value)]
        nested = Segment("*") in segments[1:]
        return [item for items in found for item in items] if nested else found
    if segment.quoted or not _INDEX.match(segment.name):
        raise NoSuchError(
            f"{where!r} is a list: write an index or * in the place of {segment.name!r}"
        )
    index = int(segment.name)
    if not -len(value) <= index < len(value):
        raise NoSuchError(f"{where!r} has {len(value)} items, so there is no {index}")
    return _walk(value[index], segments[1:], [*trail, segment.name])
