"""Finished rows in a file, for programs that keep their own.

`evaluate(…, cache_dir=…)` has no need of it: it keeps what systems returned in the store of `cb`,
where a changed system is told from the one before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from context_bench.results import EvalRow

_Key = tuple[str, str, str]


class ResultCache:
    """Rows by system, dataset and example, kept for one choice of systems, datasets, evaluators.

    Every row that is put is written at once, as a line of JSON. A line that cannot be read, as
    the last one after a crash, is as good as not written.
    """

    def __init__(
        self,
        cache_dir: str | Path,
        systems: Iterable[str],
        datasets: Iterable[str],
        evaluators: Iterable[str],
    ) -> None:
        chosen = json.dumps([sorted(systems), sorted(datasets), sorted(evaluators)])
        folder = Path(cache_dir) / sha256(chosen.encode()).hexdigest()[:12]
        folder.mkdir(parents=True, exist_ok=True)
        self.cache_path = folder / "rows.jsonl"
        self._rows: dict[_Key, EvalRow] = {}
        if self.cache_path.exists():
            for line in self.cache_path.read_bytes().splitlines():
                try:
                    self._keep(EvalRow(**json.loads(line)))
                except (ValueError, TypeError):
                    continue

    @property
    def cached_count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def get(self, system: str, dataset: str, example_id: str | int) -> EvalRow | None:
        """The row of an example, if there is one."""
        return self._rows.get((system, dataset, str(example_id)))

    def put(self, row: EvalRow) -> None:
        """Keep a row, in the place of one there was."""
        self._keep(row)
        with self.cache_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row.to_dict()) + "\n")

    def _keep(self, row: EvalRow) -> None:
        self._rows[row.system, row.dataset, str(row.example_id)] = row
