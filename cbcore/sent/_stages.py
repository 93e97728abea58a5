"""What the stages of a chain sent, put together as that of one system."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from cbcore.contexts import pass_on
from cbcore.sent import SENT, replies_of
from cbcore.sent._places import Move

_ANSWERS = ("response", "tool_calls")
_FACTS = ("stage", "to", "usage", "lost", "cost_usd")


class Stages:
    """Takes note of one stage after the other.

    A stage that reports a usage or a cost has asked somebody, also where it tells of no request.
    What answers without any of that is no model: a reader would be sent what was passed on.
    """

    def __init__(self) -> None:
        self._notes: list[_Note] = []
        self._has_answer = False

    def take(
        self,
        stage: str,
        output: Mapping[str, Any],
        given: Mapping[str, Any],
        usage: Any,
        cost_usd: float | None,
    ) -> None:
        """Note what a stage told; `usage` and `cost_usd` are its own, where it gave any."""
        answers = any(
            output.get(field) is not None and output[field] is not given.get(field)
            for field in _ANSWERS
        )
        kept = output.get(SENT)
        if kept and kept is not given.get(SENT):
            self._notes.append(_Note(stage, _checked(kept), given, output))
        elif usage or cost_usd is not None:
            self._notes.append(
                _Note(stage, [_silent(stage, output, answers, usage, cost_usd)], given, output)
            )
        elif answers and not self._has_answer:
            self._notes.append(_Note(stage, [{"stage": stage, "plain": True}], given, output))
        else:
            return
        self._has_answer = self._has_answer or answers

    def told(self, given: Mapping[str, Any], output: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What the chain tells, which was given this and returns that; nothing of a mere reader."""
        if all("plain" in note.kept[0] for note in self._notes):
            return []
        chain = given, pass_on(given, output)
        return [entry for note in self._notes for entry in note.moved(chain)]

    def spent(self) -> list[dict[str, Any]]:
        """Of each request to whom it went and what came of it, for a chain that failed later."""
        return [fact for note in self._notes for fact in _without_texts(note.stage, note.kept)]


def facts_of(stage: str, spent: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is told of the requests of a stage that failed, by what it says that it spent."""
    kept = spent.get(SENT)
    if not kept and (cost_usd := spent.get("cost_usd")):
        return [{"stage": stage, "cost_usd": cost_usd}]
    return _without_texts(stage, kept if isinstance(kept, list | tuple) else ())


def _without_texts(stage: str, kept: Sequence[Any]) -> list[dict[str, Any]]:
    """What came of requests; nothing of those that nobody made."""
    found = [
        {key: entry[key] for key in _FACTS if key in entry}
        for entry in kept
        if isinstance(entry, Mapping) and not (entry.get("plain") and "usage" not in entry)
    ]
    return [{"stage": stage, **found[0]}, *found[1:]] if found else []


def usages_by_stage(output: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    """What endpoints counted of each request, stage by stage; None where nothing."""
    found: list[tuple[str, list[Any]]] = []
    kept = output.get(SENT)
    for entry in kept if isinstance(kept, list) else ():
        if "stage" in entry or not found:
            found.append((str(entry.get("stage")), []))
        if not entry.get("plain") or "usage" in entry:
            found[-1][1].append(entry.get("usage"))
    return [(stage, usages) for stage, usages in found if usages]


class _Note:
    """What one stage told, and the texts that it refers to."""

    def __init__(
        self, stage: str, kept: Sequence[Any], given: Mapping[str, Any], output: Mapping[str, Any]
    ) -> None:
        self.stage = stage
        self.kept = kept
        self._given = given
        self._output = output

    def moved(self, chain: tuple[Mapping[str, Any], Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The same, told by the chain."""
        now = pass_on(self._given, self._output)
        move = Move((self._given, now), chain)
        entries = [dict(entry) for entry in self.kept]
        if "stage" not in entries[0]:  # else it is a chain itself, and has named its stages
            entries[0]["stage"] = self.stage
            self._add_replies(entries)
        with contextlib.suppress(
            KeyError, IndexError, TypeError, ValueError
        ):  # told by whoever reads
            for entry in entries:
                if "messages" in entry:
                    said = [[role, move.text(text)] for role, text in entry["messages"]]
                    entry["messages"] = said
                if "reply" in entry:
                    entry["reply"] = move.text(entry["reply"])
        return entries

    def _add_replies(self, entries: Sequence[dict[str, Any]]) -> None:
        """Say what came back where the endpoint did not count it."""
        for entry, reply in zip(entries, replies_of(self._output, len(entries)), strict=True):
            counted = entry.get("usage") or {}
            if "messages" in entry and reply is not None and "completion_tokens" not in counted:
                entry["reply"] = reply


def _checked(kept: Any) -> list[Mapping[str, Any]]:
    """What a stage told; what cannot be it is left for who reads it to say so."""
    is_right = isinstance(kept, list | tuple) and all(isinstance(one, Mapping) for one in kept)
    return list(kept) if is_right else [{"messages": None}]


def _silent(
    stage: str, output: Mapping[str, Any], answers: bool, usage: Any, cost_usd: float | None
) -> dict[str, Any]:
    """What there is to tell of a stage that asked somebody and does not say what."""
    entry: dict[str, Any] = {"stage": stage}
    if answers and "stage_usage" not in output:
        entry["plain"] = True  # it is a reader, and most of them send what they are given
    elif isinstance(usage, list | tuple):
        usage = _added_up(usage)
    if usage:
        entry["usage"] = usage
    if cost_usd is not None:
        entry["cost_usd"] = cost_usd
    return entry


def _added_up(usages: Sequence[Any]) -> dict[str, int]:
    total: dict[str, int] = {}
    for usage in usages:
        for key, value in usage.items() if isinstance(usage, Mapping) else ():
            if type(value) is int:
                total[key] = total.get(key, 0) + value
    return total
