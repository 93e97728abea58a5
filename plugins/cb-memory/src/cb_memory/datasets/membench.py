"""MemBench: multiple-choice questions about what a user said, or what was observed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cb_memory.datasets.files import JsonBenchmark, field
from cb_memory.nouns import ConversationTurn, Event, History, Item
from cb_memory.rendering import rendered
from cbcore.exceptions import DataError


class MemBench(JsonBenchmark):
    """MemBench: factual and reflective memory, in dialogues and from observation.

    `data_dir` is a folder with its JSON files, each an object of types, of scenarios, of
    trajectories with a `message_list` and one `QA`. The category is the type.
    """

    tasks = ("memory", "multiple-choice")
    main_score = "mc_accuracy"
    published = (
        "Accuracy of the letter, recall of the steps; `mc_accuracy` and `evidence` give them."
    )
    homepage = "github.com/import-myself/Membench"

    def __iter__(self) -> Iterator[dict[str, Any] | DataError]:
        for path, data in self._documents():
            for where, category, trajectory in _trajectories(path.stem, data):
                try:
                    yield {"id": where, **_example(trajectory, category, where)}
                except DataError as error:
                    yield DataError(f"membench: {where}: {error.message}")


def _trajectories(file: str, data: Any) -> Iterator[tuple[str, str, Any]]:
    """Every trajectory with its place and its type."""
    if not isinstance(data, Mapping):
        raise DataError(f"membench: {file} is a {type(data).__name__}, not an object of types")
    for category, scenarios in data.items():
        parts = scenarios.items() if isinstance(scenarios, Mapping) else [("", scenarios)]
        for scenario, trajectories in parts:
            if not isinstance(trajectories, list):
                raise DataError(f"membench: {file}, {category}: {scenario!r} is no list")
            for number, trajectory in enumerate(trajectories):
                place = "/".join(filter(None, (file, str(category), str(scenario), str(number))))
                yield place, str(category), trajectory


def _example(trajectory: Any, category: str, where: str) -> dict[str, Any]:
    if not isinstance(trajectory, Mapping):
        raise DataError(f"it is a {type(trajectory).__name__}, not an object")
    history = History(_items(field(trajectory, "message_list", list)), where)
    asked = field(trajectory, "QA", Mapping)
    choices = field(asked, "choices", Mapping)
    letters = sorted(map(str, choices))
    letter = str(field(asked, "ground_truth", str)).strip()
    if letter not in letters:
        raise DataError(f"'ground_truth' is {letter!r}, which is none of {', '.join(letters)}")
    steps = asked.get("target_step_id") or ()
    time = asked.get("time")
    example: dict[str, Any] = {
        "question": field(asked, "question", str),
        "choices": [str(choices[one]) for one in letters],
        "answer": letter,
        "category": category,
        "history": history,
        "shard_unit": str(history),
        "context": rendered(history.items, str(time) if time else None),
        "evidence": [i for step in steps if (i := _step(step)) in history.positions],
        "cluster": where,
    }
    if time:
        example["question_time"] = str(time)
    return example


def _step(step: Any) -> str:
    """The id of a step: some files write a list of session and step."""
    return ":".join(map(str, step)) if isinstance(step, list | tuple) else str(step)


def _items(messages: list[Any]) -> Iterator[Item]:
    """The steps: dialogues in which both speak, messages that were observed, or sessions of either."""
    for number, message in enumerate(messages):
        if isinstance(message, list):
            for inner, step in enumerate(message):
                yield from _of_step(step, f"{number}:{inner}", str(number))
        else:
            yield from _of_step(message, str(number), "")


def _of_step(step: Any, name: str, session: str) -> Iterator[Item]:
    if isinstance(step, str):
        yield Event(content=step, id=name, session=session)
        return
    if not isinstance(step, Mapping):
        raise DataError(f"step {name} is a {type(step).__name__}")
    time = str(step["time"]) if step.get("time") else None
    if "message" in step:
        yield Event(content=str(step["message"]), id=name, session=session, time=time)
        return
    said = str(field(step, "user", str)) if "user" in step else str(step.get("user_message") or "")
    replied = str(step.get("agent") or step.get("assistant_message") or "")
    both = f"{said}\nagent: {replied}" if replied else said
    yield ConversationTurn(content=both, id=name, role="user", session=session, time=time)
