"""What the tokens bought: how many were saved, and how many a passing answer took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import attrs

from cb_metrics.scores import check_name, check_threshold, measured, noting_missing, score_of
from cbcore.results import EvalRow


@attrs.frozen
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
        n_rows = n_input = n_output = n_reported = n_prompt = 0
        for row in measured(rows):
            n_rows += 1
            n_input += row.input_tokens
            n_output += row.output_tokens
            if (prompt := _prompt_tokens(row)) is not None:
                n_reported += 1
                n_prompt += prompt
        values = {
            "compression_ratio": 1 - n_output / n_input if n_input else math.nan,
            "mean_input_tokens": n_input / n_rows if n_rows else math.nan,
            "mean_output_tokens": n_output / n_rows if n_rows else math.nan,
        }
        return {**values, "mean_prompt_tokens": n_prompt / n_reported} if n_reported else values

    def compare(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]]
    ) -> dict[str, dict[str, float]]:
        """As `compute` for each system; prompts are compared with those of the baseline."""
        if self.baseline is None:
            return {system: self.compute(rows) for system, rows in rows_by_system.items()}
        if self.baseline not in rows_by_system:
            raise ValueError(f"baseline {self.baseline!r} is none of {', '.join(rows_by_system)}")
        prompts: dict[str, _Prompts] = {system: {} for system in rows_by_system}
        values = {
            system: self.compute(_noting_prompts(rows, prompts[system]))
            for system, rows in rows_by_system.items()
        }
        full = prompts[self.baseline]
        for system, own in prompts.items():
            both = own.keys() & full.keys()
            sent = sum(full[example] for example in both)
            reached = sum(own[example] for example in both)
            values[system]["prompt_saved"] = 1 - reached / sent if sent else math.nan
        return values


_Prompts: TypeAlias = dict[tuple[str, str | int, int], int]
"""Prompt tokens by dataset, example and repeat."""


def _noting_prompts(rows: Iterable[EvalRow], prompts: _Prompts) -> Iterator[EvalRow]:
    """The rows, which can be read only once; what their endpoints counted is noted."""
    for row in rows:
        if row.error is None and (prompt := _prompt_tokens(row)) is not None:
            prompts[row.dataset, row.example_id, row.repeat] = prompt
        yield row


def _prompt_tokens(row: EvalRow) -> int | None:
    prompt = row.metadata.get("prompt_tokens")
    return prompt if isinstance(prompt, int) else None


@attrs.frozen
class CostOfPass:
    """Output tokens, of all rows, for each row that passes.

    Emits `cost_of_pass`, infinite when no row passes, and `num_passing`. Tokens of rows that
    fail or lack the score were spent too, and count. They are the run's own counts.
    """

    name = "cost_of_pass"
    automatic = "always"

    score_field: str = attrs.field(default="f1", validator=check_name)
    threshold: float = attrs.field(default=0.7, validator=check_threshold)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Divide the output tokens of one system's rows by its passing rows."""
        n_output = n_passing = n_missing = 0
        for row in measured(rows):
            n_output += row.output_tokens
            score = score_of(row, self.score_field)
            n_missing += score is None
            n_passing += score is not None and score >= self.threshold
        values = {
            "cost_of_pass": n_output / n_passing if n_passing else math.inf,
            "num_passing": float(n_passing),
        }
        return noting_missing(values, "cost_of_pass", n_missing)
