"""mem0 with embedded storage: one store for each history, and nothing sent but to its models."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cb_memory.mem0.usage import Usage, counted
from cb_memory.nouns import ConversationTurn, IngestResult, Item, QueryResult, Retrieved
from cbcore.binding import Trusted
from cbcore.exceptions import MissingExtraError, UsageError
from cbcore.protocols import Cost
from cbcore.provenance import describe

_USER = "history"
"""Whose memories they are. Each history has a store of its own, so one name will do."""
_STORE, _LOG = "vectors", "history.db"
_CHARACTERS_PER_TOKEN = 3
"""So few that what is kept within a budget by characters is within it by tokens, mostly."""


class Mem0:
    """mem0: a model writes down facts as it listens, and those nearest to a question are found.

    - `base_url`, `model`: the endpoint of the model that extracts facts, with its `/v1`.
    - `embedding_url`, `embedding_model`, `dims`: the endpoint of the embeddings, by default the
      same, and how long its vectors are.
    - `k`: how many facts are found. `threshold`: how near they have to be.
    - `infer`: False stores what was said as it is, without a model; what is found then carries
      ids, and can be compared with the evidence.
    - `api_key_env`: the environment variable with the key.

    Times are written into the texts, as the library takes none. Telemetry is switched off.
    """

    answers = False

    def __init__(
        self,
        base_url: Trusted[str],
        model: str,
        *,
        embedding_url: Trusted[str | None] = None,
        embedding_model: str = "text-embedding-3-small",
        dims: int = 1536,
        k: int = 10,
        threshold: float = 0.1,
        infer: bool = True,
        api_key_env: Trusted[str] = "OPENAI_API_KEY",
        name: str | None = None,
    ) -> None:
        if k < 1 or dims < 1:
            raise ValueError(f"k is {k} and dims is {dims}: both must be at least 1")
        self.base_url = base_url
        self.model = model
        self.embedding_url = embedding_url
        self.embedding_model = embedding_model
        self.dims = dims
        self.k = k
        self.threshold = threshold
        self.infer = infer
        self.api_key_env = api_key_env
        self.name = name or f"mem0:{model},k={k}"
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._memory: Any = None
        self._usage = Usage()

    # -- what a run asks of it ------------------------------------------------------------------

    def max_cost(self, example: dict[str, Any]) -> Cost:
        """The library does not report what it costs."""
        return Cost(None)

    @property
    def identity(self) -> dict[str, Any]:
        """Its parameters without its name, which changes nothing of what it finds."""
        params: dict[str, Any] = describe(self, name=self.name)["params"]
        return params

    def reset(self) -> None:
        """Begin with an empty store, in a folder of its own: a store serves one process only."""
        self.close()
        self._open()

    def ingest(self, items: Sequence[Item]) -> IngestResult:
        """Hand over one session: in one call, or turn by turn where nothing is to be inferred."""
        before = self._usage.taken()
        if self.infer:
            messages = [_message(item) for item in items]
            self._memory.add(messages, user_id=_USER, metadata={"session": items[0].session})
        else:
            for item in items:
                known = {"item": item.id, "session": item.session}
                self._memory.add([_message(item)], user_id=_USER, metadata=known, infer=False)
        return IngestResult(usage=self._usage.since(before))

    def query(self, question: str, budget: int | None = None) -> QueryResult:
        """The facts nearest to the question, the nearest first, within the budget."""
        # Not `limit`, which the library takes and ignores, nor `user_id`, which it refuses.
        told = self._memory.search(
            str(question), filters={"user_id": _USER}, top_k=self.k, threshold=self.threshold
        )
        found, left = [], None if budget is None else budget * _CHARACTERS_PER_TOKEN
        for one in told["results"][: self.k]:
            text = str(one["memory"])
            if left is not None:
                left -= max(len(text), _CHARACTERS_PER_TOKEN * len(text.split()))
                if left < 0:
                    break
            item = (one.get("metadata") or {}).get("item")
            found.append(Retrieved(text, id=item, score=one.get("score")))
        return QueryResult(contexts=found)

    def save(self, folder: Path) -> None:
        """Copy the store, which is written as it changes."""
        shutil.copytree(self._path(_STORE), folder / _STORE, ignore=_locks)
        shutil.copy(self._path(_LOG), folder / _LOG)

    def load(self, folder: Path) -> None:
        """Go on with a copy of what was saved."""
        self.close()
        self._folder = tempfile.TemporaryDirectory(prefix="cb-memory-")
        shutil.copytree(folder / _STORE, self._path(_STORE))
        shutil.copy(folder / _LOG, self._path(_LOG))
        self._open()

    def close(self) -> None:
        """Let go of the store, and remove it."""
        if self._memory is not None:
            self._memory.vector_store.client.close()
            self._memory.close()
            self._memory = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    # -- the library ----------------------------------------------------------------------------

    def _path(self, part: str) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="cb-memory-")
        return Path(self._folder.name) / part

    def _open(self) -> None:
        library = _library()
        self._memory = library.from_config(self._config())
        self._usage = counted(self._memory)

    def _config(self) -> dict[str, Any]:
        key = os.environ.get(self.api_key_env)
        if not key:
            raise UsageError(
                f"mem0 needs a key: the environment variable {self.api_key_env} is not set",
                hint=f"export {self.api_key_env}=…; an endpoint without keys takes any",
            )
        endpoint = {"api_key": key, "openai_base_url": self.base_url}
        embedding = {**endpoint, "openai_base_url": self.embedding_url or self.base_url}
        return {
            "llm": {"provider": "openai", "config": {**endpoint, "model": self.model}},
            "embedder": {
                "provider": "openai",
                "config": {
                    **embedding,
                    "model": self.embedding_model,
                    "embedding_dims": self.dims,
                },
            },
            "vector_store": {
                "provider": "qdrant",
                "config": {
                    "path": str(self._path(_STORE)),
                    "embedding_model_dims": self.dims,
                    "on_disk": True,
                },
            },
            "history_db_path": str(self._path(_LOG)),
        }


def _library() -> Any:
    """The class of the library. Raises `MissingExtraError` without it."""
    # Before it is imported: it reads them then.
    os.environ["MEM0_TELEMETRY"] = "False"
    if "MEM0_DIR" not in os.environ:
        os.environ["MEM0_DIR"] = str(Path(tempfile.gettempdir()) / "cb-memory-mem0")
    try:
        from mem0 import Memory
    except ImportError as error:
        raise MissingExtraError("the memory `mem0`", "mem0ai", "cb-memory[mem0]") from error
    return Memory


def _message(item: Item) -> dict[str, str]:
    """An item as a chat message. When it was said stands in the text: there is no other place."""
    role = item.role if isinstance(item, ConversationTurn) else ""
    said = f"[{item.time}] {item.text}" if item.time else item.text
    return {"role": role if role in ("user", "assistant") else "user", "content": said}


def _locks(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name == ".lock"]
