"""ConvoMem: facts in one of many conversations, and how they are lost among the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cb_memory.datasets.files import JsonBenchmark, entries, field
from cb_memory.nouns import ConversationTurn, History
from cb_memory.rendering import rendered
from cbcore.exceptions import DataError

_ABSTENTION = "abstention"


class ConvoMem(JsonBenchmark):
    """ConvoMem: questions about one to three hundred conversations, in six categories.

    `data_dir` is a folder with the JSON files of Salesforce/ConvoMem, at any depth. Each holds a
    list of evidence items, or an object with `evidence_items`.
    """

    tasks = ("memory",)
    main_score = "f1"
    published = "Accuracy by a judge; `memory_judge` gives a strict and a lenient reading."
    homepage = "the dataset Salesforce/ConvoMem of the hub"

    def __iter__(self) -> Iterator[dict[str, Any] | DataError]:
        for path, data in self._documents():
            for number, item in enumerate(entries(path, data, "evidence_items")):
                where = f"{path.stem}/{number}"
                try:
                    yield {"id": where, **_example(item, where)}
                except DataError as error:
                    yield DataError(f"convomem: {where}: {error.message}")


def _example(item: Any, where: str) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise DataError(f"it is a {type(item).__name__}, not an object")
    history = History(_turns(field(item, "conversations", list)), where)
    category = str(item.get("category") or "")
    example: dict[str, Any] = {
        "question": field(item, "question", str),
        "answer": str(field(item, "answer", (str, int, float))),
        "category": category or None,
        "context": rendered(history.items),
        "history": history,
        "shard_unit": str(history),
        "evidence": _evidence(item.get("message_evidences"), history),
        "cluster": str(item.get("personId") or where),
    }
    if _ABSTENTION in category.lower():
        example["abstention"] = True
    return example


def _turns(conversations: list[Any]) -> Iterator[ConversationTurn]:
    for position, conversation in enumerate(conversations):
        if not isinstance(conversation, Mapping):
            raise DataError(f"conversation {position} is a {type(conversation).__name__}")
        name = str(conversation.get("id") or position)
        for number, message in enumerate(field(conversation, "messages", list)):
            if not isinstance(message, Mapping):
                raise DataError(f"message {number} of {name} is a {type(message).__name__}")
            yield ConversationTurn(
                content=field(message, "text", str),
                id=f"{name}:{number}",
                speaker=str(message.get("speaker") or ""),
                session=name,
            )


def _evidence(messages: Any, history: History) -> list[str]:
    """The ids of the messages that are evidence: those that say the same, word for word."""
    wanted = [m.get("text") for m in messages or () if isinstance(m, Mapping)]
    return [turn.id for turn in history.items if turn.content in wanted]
