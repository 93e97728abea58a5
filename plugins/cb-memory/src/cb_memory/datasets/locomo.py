"""LoCoMo: ten long conversations between two people, and questions about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cb_memory.datasets.files import JsonBenchmark, entries, field
from cb_memory.nouns import ConversationTurn, History
from cb_memory.rendering import iso_time, rendered
from cbcore.exceptions import DataError

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""What the numbers mean: as the code that scores them says, not in the order of the paper."""

NOT_MENTIONED = "Not mentioned in the conversation"
"""The right answer to an adversarial question, as the prompts of the benchmark have it."""

_EVIDENCE = re.compile(r"D(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)\Z")
_TIME = "%I:%M %p on %d %B, %Y"


class Locomo(JsonBenchmark):
    """LoCoMo: questions about very long conversations, in five categories.

    Its file is published under CC BY-NC 4.0, so it does not come with this package: `data_dir`
    is a folder with `locomo10.json`, or with one file per conversation. `categories` leaves out
    all others. Captions of images stand in brackets behind what was said with them. Evidence
    that is written in other forms is read; what names no turn is left out. The question's place
    in the file is part of its id, since some are asked twice.
    """

    tasks = ("memory", "locomo")
    main_score = "locomo_f1"
    published = "Token F1 by category, with rules of its own for 1, 3 and 5; `locomo_f1` is equal."
    patterns = ("locomo10.json", "locomo*.json", "conv-*.json")
    homepage = "github.com/snap-research/locomo, data/locomo10.json"

    def __init__(
        self,
        config: str = "default",
        *,
        data_dir: str | Path | None = None,
        categories: list[int] | None = None,
    ) -> None:
        super().__init__(config, data_dir=data_dir)
        unknown = set(categories or ()) - set(CATEGORIES)
        if unknown:
            raise ValueError(f"category {min(unknown)} is not one of 1 to 5")
        self.categories = categories

    def __iter__(self) -> Iterator[dict[str, Any] | DataError]:
        for path, data in self._documents():
            for number, sample in enumerate(entries(path, data)):
                yield from self._examples(sample, f"{path.name}, conversation {number}")

    def _examples(self, sample: Any, where: str) -> Iterator[dict[str, Any] | DataError]:
        try:
            if not isinstance(sample, Mapping):
                raise DataError(f"it is a {type(sample).__name__}, not an object")
            name = str(sample.get("sample_id") or where)
            history = History(_turns(field(sample, "conversation", Mapping)), name)
            questions = field(sample, "qa", list)
        except DataError as error:
            yield DataError(f"locomo: {where}: {error.message}")
            return
        context = rendered(history.items)
        for number, asked in enumerate(questions):
            try:
                example = _example(asked, history)
            except DataError as error:
                yield DataError(f"locomo: {name}, question {number}: {error.message}")
                continue
            if self.categories is None or example["category_code"] in self.categories:
                yield {
                    "id": f"{name}/{number}",
                    **example,
                    "context": context,
                    "history": history,
                    "shard_unit": str(history),
                    "cluster": name,
                }


def _turns(conversation: Mapping[str, Any]) -> Iterator[ConversationTurn]:
    """The turns of the sessions that are there, in their order; dates without one are passed over."""
    found = ((match, key) for key in conversation if (match := _SESSION.match(str(key))))
    for number, key in sorted((int(match[1]), key) for match, key in found):
        time = conversation.get(f"{key}_date_time")
        at = None if time is None else iso_time(str(time), _TIME)
        for position, turn in enumerate(field(conversation, key, list), start=1):
            if not isinstance(turn, Mapping):
                raise DataError(f"turn {position} of {key} is a {type(turn).__name__}")
            caption = turn.get("blip_caption")
            said = str(turn.get("text") or "")
            yield ConversationTurn(
                content=f"{said} [{caption}]" if caption else said,
                id=str(turn.get("dia_id") or f"D{number}:{position}"),
                speaker=str(field(turn, "speaker", str)),
                session=str(key),
                time=at,
            )


def _example(asked: Any, history: History) -> dict[str, Any]:
    if not isinstance(asked, Mapping):
        raise DataError(f"it is a {type(asked).__name__}, not an object")
    code = field(asked, "category", int)
    if code not in CATEGORIES:
        raise DataError(f"'category' is {code}, not 1 to 5")
    adversarial = code == 5
    answer = NOT_MENTIONED if adversarial else field(asked, "answer", (str, int, float))
    example: dict[str, Any] = {
        "question": field(asked, "question", str),
        "answer": str(answer),
        "category": CATEGORIES[code],
        "category_code": code,
        "evidence": [e for e in evidence_ids(asked.get("evidence")) if e in history.positions],
    }
    if adversarial:
        example |= {"abstention": True, "adversarial_answer": asked.get("adversarial_answer")}
    return example


def evidence_ids(evidence: Any) -> list[str]:
    """The ids in an entry of evidence, however they are written: `D8:6; D9:17`, `D30:05`."""
    texts = evidence if isinstance(evidence, list | tuple) else [evidence]
    found = (match for text in texts for match in _EVIDENCE.findall(str(text)))
    return list(dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in found))
