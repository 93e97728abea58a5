"""LongMemEval: questions to a chat assistant about what its user told it before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cb_memory.datasets.files import SAMPLE, JsonBenchmark, entries, field
from cb_memory.nouns import ConversationTurn, History
from cb_memory.rendering import iso_time, rendered
from cbcore.exceptions import DataError

HUB = "xiaowu0162/longmemeval-cleaned"
FILES = {
    "s": "longmemeval_s_cleaned.json",
    "m": "longmemeval_m_cleaned.json",
    "oracle": "longmemeval_oracle.json",
}
TYPES = (
    *("single-session-user", "single-session-assistant", "single-session-preference"),
    *("multi-session", "temporal-reasoning", "knowledge-update"),
)
_TIME = "%Y/%m/%d (%a) %H:%M"
_ABSTENTION = "_abs"


class LongMemEval(JsonBenchmark):
    """LongMemEval: five abilities of memory in chats with an assistant, each with its history.

    `s` has about 40 sessions for each question, `m` about 500, `oracle` only those with
    evidence. The files are those that were cleaned in September 2025. Sessions are put into the
    order of their dates. A question whose id ends in `_abs` cannot be answered.
    """

    tasks = ("memory", "longmemeval")
    main_score = "f1"
    published = (
        "Accuracy by a judge, with a rubric for each type; `longmemeval_judge` asks by the same "
        "criteria, `longmemeval_retrieval` scores what was found."
    )
    configs = (*FILES, SAMPLE)
    homepage = f"the dataset {HUB} of the hub"

    def __init__(
        self,
        config: str = "s",
        *,
        data_dir: str | Path | None = None,
        revision: str | None = None,
    ) -> None:
        super().__init__(config, data_dir=data_dir)
        self.revision = revision

    def __iter__(self) -> Iterator[dict[str, Any] | DataError]:
        name = FILES.get(self.config, FILES["s"])
        given = {"patterns": (name,), "hub": (HUB, name), "revision": self.revision}
        for path, data in self._documents(**given):
            for number, record in enumerate(entries(path, data)):
                try:
                    yield _example(record)
                except DataError as error:
                    yield DataError(f"longmemeval: question {number}: {error.message}")


def _example(record: Any) -> dict[str, Any]:
    if not isinstance(record, Mapping):
        raise DataError(f"it is a {type(record).__name__}, not an object")
    question_id = field(record, "question_id", str)
    turns, evidence = _turns(record)
    history = History(turns, question_id)
    asked_at = (
        iso_time(str(record["question_date"]), _TIME) if record.get("question_date") else None
    )
    answer = field(record, "answer", (str, int, float))
    example: dict[str, Any] = {
        "id": question_id,
        "question": field(record, "question", str),
        "answer": str(answer),
        "question_type": field(record, "question_type", str),
        "context": rendered(history.items, asked_at),
        "history": history,
        "shard_unit": str(history),
        "evidence": evidence,
        "evidence_sessions": [str(one) for one in record.get("answer_session_ids") or ()],
        "cluster": question_id,
    }
    if asked_at is not None:
        example["question_time"] = asked_at
    if question_id.endswith(_ABSTENTION):
        example["abstention"] = True
    return example


def _turns(record: Mapping[str, Any]) -> tuple[list[ConversationTurn], list[str]]:
    """All turns by the dates of their sessions, and the ids of those that hold the answer."""
    sessions = field(record, "haystack_sessions", list)
    names = field(record, "haystack_session_ids", list)
    dates = field(record, "haystack_dates", list)
    if not len(sessions) == len(names) == len(dates):
        raise DataError(f"{len(sessions)} sessions have {len(names)} ids and {len(dates)} dates")
    dated = [
        (iso_time(str(date), _TIME), str(name), session)
        for date, name, session in zip(dates, names, sessions, strict=True)
    ]
    turns, evidence, seen = [], [], set()
    for position, (time, name, session) in enumerate(sorted(dated, key=lambda one: one[0])):
        if not isinstance(session, list):
            raise DataError(f"session {name!r} is a {type(session).__name__}")
        unique = name if name not in seen else f"{name}@{position}"
        seen.add(unique)
        for number, turn in enumerate(session):
            if not isinstance(turn, Mapping):
                raise DataError(f"turn {number} of session {name!r} is a {type(turn).__name__}")
            role = str(turn.get("role") or "")
            turns.append(
                ConversationTurn(
                    content=str(turn.get("content") or ""),
                    id=f"{unique}:{number}",
                    role=role,
                    session=unique,
                    time=time,
                )
            )
            if turn.get("has_answer"):
                evidence.append(f"{unique}:{number}")
    return turns, evidence
