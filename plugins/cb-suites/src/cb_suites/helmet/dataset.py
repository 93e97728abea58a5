"""The dataset `helmet`: examples of a task at one of the published lengths."""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from cb_suites.helmet.sizes import LENGTHS, TASKS, Task
from cbcore.exceptions import DataError, UsageError
from cbcore.files import FileDataset
from cbcore.hf import HubDataset

_SOURCE = "princeton-nlp/HELMET"
_SEED = 42
_LONGEST_ID = 40
_DEFAULT_TASK = "json_kv"


class Helmet:
    """Long-context tasks of HELMET, at the lengths that it publishes.

    `task` is one of `configs`. `json_kv` is made here, offline; the others are read from the
    files of HELMET, unpacked into `data_dir` or into the folder `helmet` of `CB_DATA_DIR`.
    `length` is 8192, 16384, 32768, 65536 or 131072, `shots` how many worked examples come
    before a question, and `n` how many questions there are, most of them at several depths.
    """

    tasks = ("qa",)
    main_score = "helmet"
    published = "Substring match with an answer, NDCG@10 of a ranking: `helmet`."
    configs = tuple(TASKS)

    def __init__(
        self,
        task: str = _DEFAULT_TASK,
        *,
        length: int = LENGTHS[0],
        shots: int = 2,
        n: int = 100,
        seed: int = _SEED,
        data_dir: str | None = None,
    ) -> None:
        if task not in TASKS:
            raise ValueError(f"task {task!r} is not one of {', '.join(TASKS)}")
        if length not in LENGTHS:
            raise ValueError(
                f"length is {length!r}: it must be one of {', '.join(map(str, LENGTHS))}"
            )
        if shots < 0 or n < 1:
            raise ValueError(f"shots is {shots!r} and n {n!r}: they must be at least 0 and 1")
        self.task = task
        self.length = length
        self.shots = shots
        self.n = n
        self.seed = seed
        self.data_dir = data_dir

    @property
    def name(self) -> str:
        """The tag of its rows: task and length."""
        return f"helmet:{self.task} {self.length}"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        task = TASKS[self.task]
        k = task.sizes[self.length]
        if task.kind == "pairs":
            return (self._pairs(number, k, task.n_depths) for number in range(self.n))
        return self._read(task, k)

    # -- made here -----------------------------------------------------------------------------

    def _pairs(self, number: int, k: int, n_depths: int) -> dict[str, Any]:
        """A JSON object of keys and values that say nothing, and one key that is asked for."""
        random = Random(f"json_kv/{self.seed}/{number}")  # noqa: S311 - data, not keys
        pairs = [(_uuid(random), _uuid(random)) for _ in range(k)]
        depth = number % n_depths
        place = round(depth / (n_depths - 1) * (k - 1))
        key, value = pairs[place]
        others = random.sample([pair for pair in pairs if pair[0] != key], self.shots)
        shown = "".join(f"Key: {one}\nValue: {other}\n\n" for one, other in others)
        return {
            "id": f"json_kv-{number}",
            "context": json.dumps(dict(pairs), indent=1),
            "question": f"Which value has the key in the JSON object?\n\n{shown}Key: {key}\nValue:",
            "answer": [value],
            "depth": round(100 * depth / (n_depths - 1)),
            "length": self.length,
            "reference_contexts": [f'"{key}": "{value}"'],
        }

    # -- read from files -----------------------------------------------------------------------

    def _read(self, task: Task, k: int) -> Iterator[dict[str, Any]]:
        rows = self._rows(task.file.format(k=k), task)
        pool = self._rows(task.examples, task) if self.shots else []
        key = next((name for name in ("qid", "id") if name in rows[0]), "question")
        known = sorted({str(row[key]) for row in rows})
        chosen = set(Random(self.seed).sample(known, min(self.n, len(known))))  # noqa: S311
        build = _ranked if task.kind == "ranking" else _answered
        for number, row in enumerate(rows):
            if str(row[key]) not in chosen:
                continue
            shots = self._shots(pool, key, str(row[key]))
            yield {
                "id": f"{self.task}-{number}",
                **build(row, shots),
                "length": self.length,
                "cluster": _short(str(row[key])),
            }

    def _rows(self, name: str, task: Task) -> Sequence[Mapping[str, Any]]:
        path = self._file(name)
        rows = [row for row in FileDataset(str(path)) if isinstance(row, Mapping)]
        least = task.least_popular
        if least is not None:
            rows = [row for row in rows if math.log10(float(row["s_pop"])) < least]
        if not rows:
            raise DataError(f"{self.name}: there are no rows in {path}")
        return rows

    def _file(self, name: str) -> Path:
        here = HubDataset(name="helmet", path=_SOURCE, split="test", data_dir=self.data_dir)
        folder = here.local_folder()
        if folder is not None:
            for path in (folder / name, folder / "data" / name):
                if path.is_file():
                    return path
        raise UsageError(
            f"{self.name}: there is no file {name}: unpack data.tar.gz of the dataset {_SOURCE} "
            "into a folder helmet, and set CB_DATA_DIR to the folder above it"
        )

    def _shots(
        self, pool: Sequence[Mapping[str, Any]], key: str, asked: str
    ) -> list[Mapping[str, Any]]:
        """Worked examples of other questions, always the same for one question."""
        others = {str(row[key]): row for row in pool if str(row[key]) != asked}
        number = int(hashlib.sha256(asked.encode()).hexdigest(), 16) % 2**31
        drawn = Random(number).sample(sorted(others), min(self.shots, len(others)))  # noqa: S311
        return [others[one] for one in drawn]


def _answered(row: Mapping[str, Any], shots: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A question about passages, of which few hold the answer."""
    shown = "".join(
        f"{_passages(shot)}\n\nQuestion: {shot['question']}\nAnswer: {shot['answers'][0]}\n\n"
        for shot in shots
    )
    passages = [_passage(one) for one in row["ctxs"]]
    needed = [_passage(one) for one in row["ctxs"] if one.get("has_answer")]
    return {
        "context": "\n\n".join(passages),
        "question": "Answer in a few words, from the passages.\n\n"
        f"{shown}Question: {row['question']}\nAnswer:",
        "answer": [str(one) for one in row["answers"]],
        **({"reference_contexts": needed} if needed else {}),
    }


def _ranked(row: Mapping[str, Any], shots: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Passages that are to be put into the order of how well they answer a query."""
    shown = "".join(
        f"{_passages(shot, numbered=True)}\n\nQuery: {shot['query']}\n"
        f"Ranking: {_best_first(shot)}\n\n"
        for shot in shots
    )
    return {
        "context": _passages(row, numbered=True),
        "question": "Put all passages into order, the most relevant first, by their numbers, as "
        f"in: Ranking: 3 > 1 > 2\n\n{shown}Query: {row['query']}\nRanking:",
        "answer": [_best_first(row)],
        "relevance": {str(one["id"]): int(one["label"]) for one in row["ctxs"]},
    }


def _short(name: str) -> str:
    """The id of a question, which comes at several depths; of a question without one a digest."""
    return name if len(name) <= _LONGEST_ID else hashlib.sha256(name.encode()).hexdigest()[:16]


def _passage(one: Mapping[str, Any]) -> str:
    return f"{one['title']}: {one['text']}" if one.get("title") else str(one["text"])


def _passages(row: Mapping[str, Any], *, numbered: bool = False) -> str:
    return "\n\n".join(
        f"[{one['id']}] {_passage(one)}" if numbered else _passage(one) for one in row["ctxs"]
    )


def _best_first(row: Mapping[str, Any]) -> str:
    ranked = sorted(row["ctxs"], key=lambda one: -int(one["label"]))
    return " > ".join(str(one["id"]) for one in ranked)


def _uuid(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128), version=4))
