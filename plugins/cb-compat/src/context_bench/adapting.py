"""Systems written for context-bench, called as `cb` calls systems; and what of them is counted."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cbcore.chains import Renamed
from cbcore.exceptions import UsageError

STRINGS = "context_bench_strings"
"""Where every string of an example and of an output stands while a run counts them all."""

_USAGE_FIELDS = ("usage", "api_usage")


class Counting(enum.Enum):
    """What the tokens of a row are."""

    VISIBLE = "what a model gets to see"
    FIELDS = "the fields that were asked for"
    STRINGS = "every string, as context-bench counted"

    @classmethod
    def of(cls, text_fields: Iterable[str] | None, *, legacy_tokens: bool) -> Counting:
        """What two arguments of `evaluate` ask for together."""
        if not legacy_tokens:
            return cls.VISIBLE if text_fields is None else cls.FIELDS
        if text_fields is not None:
            raise UsageError(
                "legacy_tokens counts every field, and text_fields only some",
                hint="give one of them",
            )
        return cls.STRINGS

    def fields(self, text_fields: Iterable[str] | None) -> Iterable[str] | None:
        """The fields that `cb` is told to count."""
        return (STRINGS,) if self is Counting.STRINGS else text_fields


class CountedExamples:
    """A dataset whose examples carry the list of their strings."""

    def __init__(self, examples: Iterable[Any]) -> None:
        self._examples = examples
        self.name = getattr(examples, "name", "")
        self.tasks = getattr(examples, "tasks", ())

    def __iter__(self) -> Iterator[Any]:
        for example in self._examples:
            is_example = isinstance(example, Mapping)
            yield {**example, STRINGS: _strings(example)} if is_example else example


def adapted(system: Any, counting: Counting = Counting.VISIBLE) -> Any:
    """The system as `cb` calls it; itself, where nothing has to be changed."""
    if hasattr(system, "aprocess"):
        return system if counting is Counting.VISIBLE else AwaitedSystem(system, counting)
    if counting is Counting.VISIBLE and not hasattr(system, "process_conversation"):
        return system
    return CalledSystem(system, counting)


class _Adapted(Renamed):
    """A system that is called in another way. All else, such as its key, is its own."""

    def __init__(self, system: Any, counting: Counting) -> None:
        super().__init__(system, system.name)
        self._counting = counting

    def _counted(self, output: Any) -> Any:
        """The output, in which nothing overrides what is to be counted."""
        if not isinstance(output, dict) or self._counting is Counting.VISIBLE:
            return output
        counted = {key: value for key, value in output.items() if key not in _USAGE_FIELDS}
        usage = [_added_up(output[field]) for field in _USAGE_FIELDS if field in output]
        if usage:
            counted["metadata"] = {**(output.get("metadata") or {}), **usage[-1]}
        if self._counting is Counting.STRINGS:
            counted[STRINGS] = _strings(output)
        return counted


class CalledSystem(_Adapted):
    """A system with `process` and, as context-bench had it, `process_conversation(turns)`."""

    def process(self, example: dict[str, Any]) -> Any:
        """Call the system; with all turns where the example says it is a conversation."""
        example.pop(STRINGS, None)
        is_conversation = example.get("multi_turn") and "turns" in example
        if is_conversation and hasattr(self.system, "process_conversation"):
            output = _conversed(example, self.system.process_conversation(example["turns"]))
        else:
            output = self.system.process(example)
        return self._counted(output)


class AwaitedSystem(_Adapted):
    """A system of `cb` that is awaited."""

    async def aprocess(self, example: dict[str, Any]) -> Any:
        """Await the system, which knows conversations itself."""
        example.pop(STRINGS, None)
        return self._counted(await self.system.aprocess(example))


def _conversed(example: Mapping[str, Any], replies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All replies to a conversation as one output, of which the last is the response."""
    texts = [reply["content"] for reply in replies]
    return {**example, "response": texts[-1] if texts else None, "turn_responses": texts}


def _strings(example: Mapping[str, Any]) -> list[str]:
    return [value for value in example.values() if isinstance(value, str)]


def _added_up(usage: Any) -> dict[str, Any]:
    """The usage of one call, or of every turn of a conversation together."""
    if isinstance(usage, Mapping):
        return dict(usage)
    total: dict[str, Any] = {}
    for turn in usage if isinstance(usage, list) else ():
        for key, value in turn.items():
            if isinstance(value, int | float):
                total[key] = total.get(key, 0) + value
    return total
