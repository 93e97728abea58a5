"""Histories as text: what a reader is shown of them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

from cb_memory.nouns import History, Item, Retrieved


def rendered(items: Iterable[Item], asked_at: str | None = None) -> str:
    """Items in their order, under the time at which they were said, and when it is now."""
    lines: list[str] = []
    heading: tuple[str, str | None] | None = None
    for item in items:
        here = (item.session, item.time)
        if here != heading:
            if lines:
                lines.append("")
            if item.time:
                lines.append(f"[{shown_time(item.time)}]")
            heading = here
        lines.append(item.text)
    if asked_at:
        lines += ["", f"Current date: {shown_time(asked_at)}"]
    return "\n".join(lines)


def rendered_contexts(
    contexts: Sequence[Retrieved], history: History, asked_at: str | None = None
) -> str:
    """What a memory found, as a reader is shown it.

    Items of the history stand in its order, as times only make sense in it; texts that are no
    item of it come first, in the order of the memory.
    """
    positions = history.positions
    known: dict[int, None] = {}
    others: list[str] = []
    for one in contexts:
        position = positions.get(one.id or "")
        # An item that was shortened, or written anew, is shown as the memory has it.
        if position is not None and one.text == history.items[position].text:
            known[position] = None
        else:
            others.append(one.text)
    items = rendered((history.items[p] for p in sorted(known)), asked_at)
    return "\n\n".join(filter(None, ["\n".join(others), items.strip("\n")]))


def shown_time(time: str) -> str:
    """A time as people write it, or as it is where it cannot be read."""
    try:
        read = datetime.datetime.fromisoformat(time)
    except ValueError:
        return time
    day = f"{read.day} {read:%B %Y}"
    return f"{day}, {read:%H:%M}" if "T" in time else day


def iso_time(text: str, *patterns: str) -> str:
    """A time in ISO 8601, read by the first pattern that fits; as it is where none does."""
    for pattern in patterns:
        try:
            read = datetime.datetime.strptime(text.strip(), pattern)
        except ValueError:
            continue
        return read.isoformat(timespec="minutes")
    return text
