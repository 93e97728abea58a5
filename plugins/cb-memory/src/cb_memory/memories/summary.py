"""Notes that a model takes of each session."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cb_memory.budgets import check_positive, fitting
from cb_memory.nouns import IngestResult, Item, QueryResult, Retrieved
from cb_memory.rendering import rendered
from cb_openai.settings import Connection
from cbcore.binding import Trusted, by_field
from cbcore.exceptions import ProcessError
from cbcore.protocols import Cost
from cbcore.provenance import describe

if TYPE_CHECKING:
    from cb_openai import ChatClient

NOTES = "notes.json"

PROMPT = """\
Below is one session of a longer history. Write down, as short notes, every fact in it that
somebody may be asked about later: who did, has, likes or plans what, names, numbers and dates.
Turn words such as "yesterday" into dates. One fact per line, nothing else.

{session}"""


class Summary:
    """Notes on each session, taken by a model as the session ends; questions get the notes.

    - `base_url`, `model`: the endpoint, with or without `/v1`, and what it calls the model.
    - `max_tokens`: how long the notes on one session may be.
    - `api_key_env`, `max_retries`, `timeout_s`, …: as for `openai`.

    Within a budget, the notes on the latest sessions are kept. Notes are written anew and carry
    no ids, so what they found cannot be compared with the evidence.
    """

    answers = False

    @by_field
    def __init__(
        self,
        base_url: Trusted[str],
        model: str,
        *,
        max_tokens: int = 300,
        connection: Connection = Connection(),
        name: str | None = None,
    ) -> None:
        self.base_url = base_url
        self.model = model
        self.max_tokens = check_positive("max_tokens", max_tokens)
        self.connection = connection
        self.prompt = PROMPT
        self.name = name or f"summary:{model}"
        self._notes: list[str] = []
        self._client: ChatClient | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """All that can change its notes, which its name cannot."""
        return {**describe(self, name=self.name)["params"], "prompt": self.prompt}

    def max_cost(self, example: dict[str, Any]) -> Cost:
        """Nothing for a question. It has no price if that of the notes is not known."""
        is_priced = self.connection.pricing.of(self.model) is not None
        return Cost(0.0 if is_priced else None)

    def reset(self) -> None:
        """Forget everything."""
        self._notes = []

    async def ingest(self, items: Sequence[Item]) -> IngestResult:
        """Let the model take notes. Raises `ProcessError` with what the endpoint said."""
        from cb_openai import EndpointError

        prompt = self.prompt.replace("{session}", rendered(items))
        try:
            reply = await self._asked().chat(
                [{"role": "user", "content": prompt}], temperature=0.0, max_tokens=self.max_tokens
            )
        except EndpointError as error:
            raise ProcessError(f"summarizing failed: {error.message}") from error
        self._notes.append((reply.text or "").strip())
        price = self.connection.pricing.of(self.model)
        cost = None if price is None else price.cost_usd(reply.usage)
        return IngestResult(usage=dict(reply.usage), cost_usd=cost)

    def query(self, question: str, budget: int | None = None) -> QueryResult:
        """The notes, the latest session first."""
        found = [Retrieved(note) for note in reversed(self._notes) if note]
        return QueryResult(contexts=fitting(found, budget))

    def save(self, folder: Path) -> None:
        """Write the notes."""
        (folder / NOTES).write_text(json.dumps(self._notes), encoding="utf-8")

    def load(self, folder: Path) -> None:
        """Read the notes."""
        self._notes = json.loads((folder / NOTES).read_text(encoding="utf-8"))

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _asked(self) -> ChatClient:
        from cb_openai import ChatClient

        if self._client is None:
            one = self.connection
            self._client = ChatClient(
                *(self.base_url, self.model),
                access=one.access,
                retry=one.retry,
                limits=one.limits,
            )
        return self._client
