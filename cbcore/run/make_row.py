"""From an attempt to a row: tokens counted, scores checked, secrets left out, nothing made up."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbcore.boundary import contained, describe_exception, describe_value, format_traceback
from cbcore.contexts import FORMS, is_same
from cbcore.costs import add_turns, count_tokens, usage_of
from cbcore.exceptions import ProcessError, ScoringError
from cbcore.json_data import to_json_safe
from cbcore.results import EvalRow, Scored
from cbcore.results.causes import RETURNED, TRACEBACK
from cbcore.results.eval_row import CHANGED, UNCOUNTED
from cbcore.run.scorers import Scorer, describe_missing, explain_unscored
from cbcore.secrets import hide
from cbcore.stats import CLUSTER

if TYPE_CHECKING:
    from cbcore.run.examples import Benchmark
    from cbcore.run.pair import Attempt
    from cbcore.run.runner import Runner


class RowMaker:
    """Makes the rows of one system on one benchmark.

    A row that lacks the score that is expected of it gets the reason. What the example has in the
    cluster column is kept as the row's cluster. Evaluators that gave something are taken out of
    `run.idle`.
    """

    def __init__(
        self, run: Runner, system: str, scorers: Sequence[Scorer], benchmark: Benchmark
    ) -> None:
        self._system = system
        self._scorers = scorers
        self._counter = run.counter
        self._counted = frozenset((*run.counter.text_fields, *FORMS))
        self._cluster_column = run.settings.cluster_column or CLUSTER
        self._idle = run.idle
        self._expected = expect_score(run.config["score_field"], scorers, benchmark)
        declared = {name for scorer in scorers for name in scorer.emits}
        # A name belongs to the evaluator that declares it, or that comes first.
        self._taken = {s: declared.difference(s.emits) if s.is_automatic else () for s in scorers}

    def make(self, attempt: Attempt) -> EvalRow:
        """The row of a finished attempt, without secrets. Changes nothing of the attempt."""
        example = attempt.example
        row = EvalRow(
            self._system,
            example.id,
            latency=attempt.latency_s,
            dataset=example.dataset,
            repeat=attempt.repeat,
            cached=attempt.is_cached,
            example_key=example.key,
            position=attempt.position,
        )
        try:
            self._fill(row, attempt)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - without end, or with methods that fail
            of = "the output" if attempt.output is not None else "the example"
            row = dataclasses.replace(row, scores={}, missing={}, metadata={}, response=None)
            row.error = attempt.error or f"{of} cannot be kept: {describe_exception(error)}"
        texts = (row.example_id, row.response, row.error, row.scores, row.missing, row.metadata)
        (row.example_id, row.response, row.error, row.scores, row.missing, row.metadata) = hide(
            texts
        )
        return row

    def _fill(self, row: EvalRow, attempt: Attempt) -> None:
        example, output = attempt.example.data, attempt.output
        row.input_tokens, n_uncounted = self._counter.count_visible(example)
        if n_uncounted:
            row.metadata[UNCOUNTED] = n_uncounted
        row.error = attempt.error
        if row.error is not None or output is None:
            if isinstance(attempt.raised, ProcessError):
                row.metadata.update(to_json_safe(attempt.raised.cost))
            if attempt.raised is not None:
                _add_traceback(row, format_traceback(attempt.raised))
            return
        self._add_output(row, attempt, output)
        if self._cluster_column in example:
            row.metadata[CLUSTER] = to_json_safe(example[self._cluster_column])
        for scorer in self._scorers:
            if scorer not in attempt.scores:
                continue
            with contained() as reading:  # whatever it is, the row takes no harm
                self._add_scores(row, scorer, attempt.scores[scorer])
            if reading.error is not None:
                reason = f"what the evaluator returned cannot be kept: {reading.reason}"
                _add_reason(row, scorer, reason)
        main = self._expected
        if main is not None and main not in row.scores and main not in row.missing:
            row.missing[main] = explain_unscored(main, self._scorers, example, output)

    def _add_output(self, row: EvalRow, attempt: Attempt, output: Mapping[str, Any]) -> None:
        example = attempt.example.data
        response = output.get("response")
        if response is not None:
            row.response = response if type(response) is str else str(response)
            row.response_tokens = self._counter.count(row.response)
        row.output_tokens = row.input_tokens
        changed = [
            field
            for field in output
            if output[field] is not example.get(field)
            and (field in example or field in self._counted)
            and not is_same(output[field], example.get(field))
        ]
        if changed and not self._counted.isdisjoint(changed):
            row.output_tokens = self._counter.visible(attempt.sent)
        # Any field of the example counts, since a reader may use it.
        if changed and row.output_tokens == row.input_tokens:
            row.metadata[CHANGED] = True
        metadata = output.get("metadata")
        if metadata is not None and isinstance(metadata, Mapping):
            row.metadata.update(to_json_safe(metadata))
        if "stage_usage" in output or usage_of(output):
            self._add_usage(row, example, output)
        replies = output.get("turn_responses")
        if replies is not None:
            row.metadata["turn_responses"] = to_json_safe(replies)

    def _add_usage(
        self, row: EvalRow, example: Mapping[str, Any], output: Mapping[str, Any]
    ) -> None:
        """Add the tokens that endpoints counted: for an answer by name, else as tokens spent."""
        usage = usage_of(output)
        usages = [add_turns(usage)] if usage and usage != usage_of(example) else []
        stages = output.get("stage_usage")
        if output.get("response") is not None or output.get("tool_calls"):
            for usage in usages:
                row.metadata.update(to_json_safe(usage))
        elif stages is None:
            stages = [{"stage": self._system, "usage": usage} for usage in usages]
        if isinstance(stages, list | tuple):
            named = [stage for stage in stages if isinstance(stage, Mapping)]
            usages = [{"stage": s.get("stage"), **add_turns(s.get("usage"))} for s in named]
            row.metadata["stage_usage"] = [to_json_safe(usage) for usage in usages]
        spent = [n for usage in usages if (n := count_tokens(usage)) is not None]
        if spent:
            row.metadata["spent_tokens"] = sum(spent)

    def _add_scores(self, row: EvalRow, scorer: Scorer, scores: Any) -> None:
        """Add the result of an evaluator, or the reason why it has none."""
        if self._idle and (type(scores) is not dict or scores):
            self._idle.discard(scorer.name)
        if isinstance(scores, BaseException):
            _add_reason(row, scorer, describe_missing(scores))
            if isinstance(scores, ScoringError):
                _add_details(row, scorer, scores.cost)
            _add_traceback(row, format_traceback(scores))
            return
        if isinstance(scores, Scored):
            row.missing |= {str(name): str(why) for name, why in scores.missing.items()}
            _add_details(row, scorer, {**scores.details, **scores.cost})
            scores = scores.scores
        if not isinstance(scores, (dict, Mapping)):
            shown = "None" if scores is None else type(scores).__name__
            _add_reason(row, scorer, f"{RETURNED} {shown}, not a dict of scores")
            return
        others = self._taken[scorer]
        for name, value in scores.items():
            if type(name) is not str:
                shown = describe_value(name)
                row.missing[shown] = f"the evaluator named a score {shown}, which is no text"
                continue
            is_free = name not in row.scores and name not in others
            key = name if is_free else f"{scorer.name}.{name}"
            number = value if type(value) is float else _read_number(value)
            if number is None:
                row.missing[key] = f"{RETURNED} {describe_value(value)}, not a number"
            elif math.isfinite(number):
                row.scores[key] = number
            else:
                row.missing[key] = f"{RETURNED} {number}"


def _read_number(value: Any) -> float | None:
    """A score that is a numpy scalar, an integer or a boolean; None if it is none of them."""
    with contained():  # `float` may call anything, and overflow
        return float(value)
    return None


def expect_score(main: str, scorers: Sequence[Scorer], benchmark: Benchmark) -> str | None:
    """The main score, if every row of a benchmark should have it.

    Nothing can be expected of repeats that are scored together, and of an evaluator that does not
    declare its scores.
    """
    if any(main in scorer.emits for scorer in scorers):
        return None if any(scorer.is_of_repeats for scorer in scorers) else main
    is_declared = bool(scorers) and all(scorer.emits for scorer in scorers)
    return main if is_declared and benchmark.required else None


def _add_details(row: EvalRow, scorer: Scorer, told: Mapping[str, Any]) -> None:
    if not told:
        return
    details = row.metadata[scorer.name] = to_json_safe(told)
    cost = details.get("cost_usd")
    if type(cost) in (int, float):
        row.metadata["scoring_usd"] = row.metadata.get("scoring_usd", 0.0) + cost  # of judges


def _add_reason(row: EvalRow, scorer: Scorer, reason: str) -> None:
    for name in scorer.emits or (scorer.name,):
        row.missing[name] = reason


def _add_traceback(row: EvalRow, text: str) -> None:
    """Add where the code of others failed; one after another if several evaluators did."""
    if text:
        before = row.metadata.get(TRACEBACK)
        row.metadata[TRACEBACK] = f"{before}\n\n{text}" if before else text
