"""Two systems side by side: which response is better, whatever order the judge sees them in."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from itertools import combinations
from typing import Any

import attrs

from cb_llm_judge.cache import VerdictCache
from cb_llm_judge.client import FunctionJudge, JudgeClient
from cb_llm_judge.material import EXAMPLE_FIELDS, MATERIAL
from cb_llm_judge.rubrics import PAIR_FIELDS, PAIR_RUBRICS, SYSTEM_PROMPT, find_rubric
from cb_llm_judge.settings import Sampling
from cb_llm_judge.verdicts import PREFERENCE, JudgeError
from cb_openai.settings import Connection
from cbcore.binding import FileName, Trusted, by_field
from cbcore.exceptions import ScoringError
from cbcore.json_data import to_json
from cbcore.results import EvalRow
from cbcore.store.identity import Identities

_MOST_AT_ONCE = 64
_logger = logging.getLogger("cb.llm_judge")


@attrs.frozen
class _Match:
    """Two responses to one example. `texts` holds what is the same for both."""

    systems: tuple[str, str]
    responses: tuple[str, str]
    texts: Mapping[str, str]

    @property
    def is_even(self) -> bool:
        return self.responses[0].strip() == self.responses[1].strip()

    def values(self, first: int) -> dict[str, str | None]:
        """The texts for the rubric, with this one of the two responses as A."""
        shown = {"response_a": self.responses[first], "response_b": self.responses[1 - first]}
        return {**self.texts, **shown}


@attrs.define
class _Record:
    """What a system's comparisons came to."""

    won: int = 0
    lost: int = 0
    tied: int = 0
    judged: int = 0
    consistent: int = 0
    failed: int = 0

    def values(self) -> dict[str, float]:
        compared = self.won + self.lost + self.tied
        found = {
            "win_rate": self.won / compared if compared else math.nan,
            "loss_rate": self.lost / compared if compared else math.nan,
            "tie_rate": self.tied / compared if compared else math.nan,
            "position_consistency": self.consistent / self.judged if self.judged else math.nan,
        }
        return {**found, "pairwise_missing": float(self.failed)} if self.failed else found


class PairwiseJudge:
    """Which system's responses a model prefers, asked in both orders.

    - `base_url`, `model`, `api_key_env`, …: the judge, as for `llm_judge`; or `judge`, a
      Python function.
    - `rubric`: `better_answer`, or a template (a text or a file) with `{response_a}`,
      `{response_b}` and any of `{question}`, `{gold}`, `{context}`.
    - `baseline`: compare the others with this system only, instead of all with each other.
    - `cache_dir`: where verdicts are kept; a run passes its own.

    Needs the evaluator `judge_material` in the run, unless the rubric shows nothing but the
    responses. Emits `win_rate`, `loss_rate`, `tie_rate`
    and `position_consistency`, the share of judged comparisons in which both orders gave the
    same. A response wins when it is preferred in both orders; everything else is a tie. Equal
    responses tie unasked. Comparisons that failed are left out, and counted in
    `pairwise_missing`.
    """

    name = "pairwise_judge"

    @by_field
    def __init__(
        self,
        base_url: Trusted[str | None] = None,
        model: str | None = None,
        *,
        rubric: FileName[str] = "better_answer",
        baseline: str | None = None,
        sampling: Sampling = Sampling(temperature=0.0),
        connection: Connection = Connection(),
        judge: Callable[[str], Any] | None = None,
        cache_dir: Trusted[str | None] = None,
    ) -> None:
        if (judge is None) == (base_url is None or model is None):
            raise ValueError("a judge needs base_url and model, or judge, and not both")
        self.base_url = base_url
        self.model = model
        self.rubric = rubric
        self.baseline = baseline
        self.sampling = sampling
        self.connection = connection
        self.judge = judge
        self._cache_dir = cache_dir
        self._rubric = find_rubric(
            rubric, PAIR_RUBRICS, PAIR_FIELDS, required=("response_a", "response_b")
        )
        self._judge: JudgeClient | FunctionJudge
        if judge is not None:
            self._judge = FunctionJudge(judge)
        else:
            self._judge = JudgeClient(
                base_url or "", model or "", sampling=sampling, connection=connection
            )

    def compare(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]]
    ) -> dict[str, dict[str, float]]:
        """Compare the systems on the examples that both have a response to."""
        matches = self._matches(rows_by_system)
        # A thread of its own: the caller may already be inside an event loop.
        with ThreadPoolExecutor(1) as thread:
            outcomes = thread.submit(asyncio.run, self._judge_all(matches)).result()
        records = {system: _Record() for system in rows_by_system}
        for match, outcome in zip(matches, outcomes, strict=True):
            _count(match, outcome, records)
        _tell_failures(outcomes)
        return {system: record.values() for system, record in records.items()}

    def _matches(self, rows_by_system: Mapping[str, Iterable[EvalRow]]) -> list[_Match]:
        answers = {system: _answers(rows) for system, rows in rows_by_system.items()}
        wanted = [name for name in self._rubric.fields if name in EXAMPLE_FIELDS]
        found = []
        for one, other in self._pairs(list(answers)):
            for key, row in answers[one].items():
                opponent = answers[other].get(key)
                if opponent is not None:
                    responses = row.response or "", opponent.response or ""
                    found.append(_Match((one, other), responses, _material(row, wanted)))
        return found

    def _pairs(self, systems: Sequence[str]) -> Iterable[tuple[str, str]]:
        if self.baseline is None or len(systems) < 2:
            return combinations(systems, 2)
        if self.baseline not in systems:
            known = ", ".join(systems)
            raise ScoringError(f"baseline is {self.baseline!r}; the systems are {known}")
        return [(self.baseline, other) for other in systems if other != self.baseline]

    async def _judge_all(self, matches: Sequence[_Match]) -> list[tuple[str, str] | JudgeError]:
        """For each match the judge's choice in both orders, or why there is none."""
        if all(match.is_even for match in matches):
            return [("tie", "tie")] * len(matches)
        at_once = asyncio.Semaphore(_MOST_AT_ONCE)
        try:
            with VerdictCache.open(self._cache_dir) as cache:
                asker = _CachedAsker(self._judge, cache)

                async def both_orders(match: _Match) -> tuple[str, str] | JudgeError:
                    if match.is_even:
                        return "tie", "tie"
                    async with at_once:
                        prompts = [self._rubric.fill(match.values(first)) for first in (0, 1)]
                        try:
                            return await asker.prefer(prompts[0]), await asker.prefer(prompts[1])
                        except JudgeError as error:
                            return error

                return await asyncio.gather(*map(both_orders, matches))
        finally:
            await self._judge.aclose()


class _CachedAsker:
    """Asks for a preference, unless the same judge was asked the same before."""

    def __init__(self, judge: JudgeClient | FunctionJudge, cache: VerdictCache) -> None:
        self._judge = judge
        self._cache = cache
        try:
            self._judge_key: str | None = Identities().key_of(judge)
        except (OSError, ValueError):  # nothing tells it from another, so nothing is cached
            self._judge_key = None

    async def prefer(self, prompt: str) -> str:
        asked = [self._judge_key, SYSTEM_PROMPT, prompt, PREFERENCE.instruction]
        key = blake2b(to_json(asked, sort_keys=True), digest_size=16).digest()
        verdict = self._cache.get(key) if self._judge_key is not None else None
        if verdict is None:
            verdict = await self._judge.ask(prompt, PREFERENCE)
            if self._judge_key is not None:
                self._cache.put(key, verdict)
        return str(verdict.value)


def _answers(rows: Iterable[EvalRow]) -> dict[tuple[str, str | int, int], EvalRow]:
    """The rows that have a response, by what they respond to."""
    return {
        (row.dataset, row.example_id, row.repeat): row
        for row in rows
        if row.error is None and row.response is not None
    }


def _material(row: EvalRow, wanted: Sequence[str]) -> dict[str, str]:
    """What the rubric shows of the example. Raises where the row has nothing of it."""
    kept = row.metadata.get(MATERIAL)
    known = kept if isinstance(kept, Mapping) else {}
    found = {name: str(known[name]) for name in wanted if name in known}
    if wanted and not found:
        raise ScoringError(
            f"the row of example {row.example_id!r} holds no {' and no '.join(wanted)}",
            hint=f"add --evaluator {MATERIAL}, or {MATERIAL}:context=true for {{context}}",
        )
    return found


def _count(
    match: _Match, outcome: tuple[str, str] | JudgeError, records: Mapping[str, _Record]
) -> None:
    one, other = (records[system] for system in match.systems)
    if isinstance(outcome, JudgeError):
        one.failed += 1
        other.failed += 1
        return
    # In the second order the responses changed places.
    straight, turned = outcome[0], {"A": "B", "B": "A"}.get(outcome[1], "tie")
    for record in (one, other):
        record.judged += not match.is_even
        record.consistent += not match.is_even and straight == turned
    if straight != turned or straight == "tie":
        one.tied += 1
        other.tied += 1
        return
    winner, loser = (one, other) if straight == "A" else (other, one)
    winner.won += 1
    loser.lost += 1


def _tell_failures(outcomes: Sequence[tuple[str, str] | JudgeError]) -> None:
    failures = [outcome for outcome in outcomes if isinstance(outcome, JudgeError)]
    if failures and len(failures) == len(outcomes):
        raise ScoringError(f"every comparison failed; the first: {failures[0].message}")
    if failures:
        _logger.warning(
            "pairwise_judge: %d of %d comparisons failed; the first: %s",
            *(len(failures), len(outcomes), failures[0].message),
        )
