"""Tokens: the share that was saved, and the number for each passing answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import attrs

from cb_metrics.scores import (
    check_name,
    check_threshold,
    finite,
    fits_scale,
    note_missing,
    score_of,
)
from cbcore.results import EvalRow
from cbcore.stats import Measured


@attrs.frozen(eq=False)
class CompressionRatio:
    """Share of the input tokens that the system saved.

    Emits `compression_ratio`, one minus output over input tokens of all rows together: 0
    when nothing was saved, negative when the text grew, NaN without input. And
    `mean_input_tokens` and `mean_output_tokens` per row. All three are the run's own counts.

    Where endpoints report what they counted, `mean_prompt_tokens` is that, per row. It has
    another counter, with a chat template in it, and cannot be compared with the others; but
    with `baseline`, the name of a system of the run that asks the same model without a proxy,
    `prompt_saved` is one minus the prompt tokens of this system over those of the baseline, on
    the examples that both have.
    """

    name = "compression_ratio"
    automatic = "always"

    baseline: str | None = None

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Add up the tokens of one system's rows."""
        before: list[float] = []
        after: list[float] = []
        prompts: list[float] = []
        any_prompt = False
        for row in rows:
            good = row.error is None
            before.append(row.input_tokens if good else math.nan)
            after.append(row.output_tokens if good else math.nan)
            prompt = _prompt_tokens(row) if good else None
            prompts.append(math.nan if prompt is None else prompt)
            any_prompt = any_prompt or prompt is not None
        saved = [i - o for i, o in zip(before, after, strict=True)]
        values: dict[str, float] = {
            "compression_ratio": Measured.ratio(saved, before, better="higher"),
            "mean_input_tokens": Measured.mean(before, kind="amount", better=None),
            "mean_output_tokens": Measured.mean(after, kind="amount", better=None),
        }
        if any_prompt:
            values["mean_prompt_tokens"] = Measured.mean(prompts, kind="amount", better=None)
        return values

    def compare(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]]
    ) -> dict[str, dict[str, float]]:
        """Compute each system, and compare its prompts with those of the baseline."""
        if self.baseline is None:
            return {system: self.compute(rows) for system, rows in rows_by_system.items()}
        if self.baseline not in rows_by_system:
            raise ValueError(f"baseline {self.baseline!r} is none of {', '.join(rows_by_system)}")
        noted: dict[str, list[_Noted]] = {system: [] for system in rows_by_system}
        values = {
            system: self.compute(_note_prompts(rows, noted[system]))
            for system, rows in rows_by_system.items()
        }
        full = {key: prompt for key, prompt in noted[self.baseline] if prompt is not None}
        for system, own in noted.items():
            sent = [full.get(key, 0) for key, _ in own]
            saved = [
                math.nan if prompt is None or key not in full else full[key] - prompt
                for key, prompt in own
            ]
            values[system]["prompt_saved"] = Measured.ratio(saved, sent, better="higher")
        return values


_Noted: TypeAlias = tuple[tuple[str, str | int, int], "int | None"]
"""Dataset, example and repeat of a row, and its prompt tokens where they were counted."""


def _note_prompts(rows: Iterable[EvalRow], noted: list[_Noted]) -> Iterator[EvalRow]:
    """The rows, which can be read only once; what their endpoints counted is noted."""
    for row in rows:
        prompt = _prompt_tokens(row) if row.error is None else None
        noted.append(((row.dataset, row.example_id, row.repeat), prompt))
        yield row


def _prompt_tokens(row: EvalRow) -> int | None:
    prompt = row.metadata.get("prompt_tokens")
    return prompt if isinstance(prompt, int) else None


@attrs.frozen(eq=False)
class CostOfPass:
    """Output tokens, of all rows, for each row that passes.

    Emits `cost_of_pass`, infinite when no row passes, and `num_passing`. Tokens of rows that
    fail or lack the score were spent too, and count. They are the run's own counts. With
    another `cost`, a key of the rows' metadata such as `cost_usd`, it is that for each pass.
    Both are NaN if rows pass only because the scores are on another scale.
    """

    name = "cost_of_pass"
    automatic = "always"

    score_field: str = attrs.field(default="f1", validator=check_name)
    threshold: float = attrs.field(default=0.7, validator=check_threshold)
    cost: str = attrs.field(default="output_tokens", validator=check_name)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Divide the cost of one system's rows by its passing rows."""
        spent: list[float] = []
        passed: list[float] = []
        scores: list[float] = []
        n_missing = 0
        for row in rows:
            score = score_of(row, self.score_field) if row.error is None else None
            n_missing += row.error is None and score is None
            spent.append(self._cost_of(row) if row.error is None else math.nan)
            passed.append(1.0 if score is not None and score >= self.threshold else 0.0)
            scores.append(math.nan if score is None else score)
        if any(passed) and not fits_scale(scores, self.threshold):
            return {"cost_of_pass": math.nan, "num_passing": math.nan}
        n_passing = math.fsum(passed)
        cost = Measured.ratio(spent, passed, better="lower") if n_passing else math.inf
        values = {"cost_of_pass": cost, "num_passing": n_passing}
        return note_missing(values, "cost_of_pass", n_missing)

    def _cost_of(self, row: EvalRow) -> float:
        if self.cost == "output_tokens":
            return float(row.output_tokens)
        cost = finite(row.metadata.get(self.cost))
        return math.nan if cost is None else cost
