"""From an outcome to a row: tokens counted, scores checked, secrets left out, nothing made up."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from cbcore._run.reasons import Unscored, reason_of
from cbcore._run.scorers import Outcome, Scorer
from cbcore._run.tracebacks import FailedScoring, Raised
from cbcore._run.work import Work
from cbcore.boundary import contained
from cbcore.chains import USAGE_FIELDS, add_turns, count_tokens
from cbcore.components import describe_exception, described_value
from cbcore.contexts import FORMS, is_same, pass_on
from cbcore.exceptions import MissingScoreError, ScoringError
from cbcore.identity import content_key
from cbcore.json_data import to_json, to_json_safe
from cbcore.results import EvalRow, Scored
from cbcore.results.causes import RETURNED, TRACEBACK
from cbcore.results.eval_row import CHANGED
from cbcore.secrets import are_known, blot, hide, redact, visible
from cbcore.stats import CLUSTER
from cbcore.tokens import TokenCounter

SCORING_USD = "scoring_usd"
"""The key of a row's metadata with what its judges were paid."""


class RowMaker:
    """Builds the rows of one system.

    `scorers` are those of its rows. A row that lacks `score_field` gets the reason. What the
    example has in the `cluster_column` is kept as the row's cluster. `raised` is what the call
    behind the last errored row raised; `failed` is the first evaluator that did for the last row.
    Scorers that gave something are taken out of `idle`, where they stand by their keys.
    """

    def __init__(
        self,
        system: str,
        counter: TokenCounter,
        *,
        scorers: Sequence[Scorer] = (),
        score_field: str | None = None,
        cluster_column: str | None = None,
        idle: set[int] | None = None,
    ) -> None:
        self._system = system
        self._idle = set() if idle is None else idle
        self._counter = counter
        self._declared = frozenset(name for scorer in scorers for name in scorer.emits)
        self._score_field = score_field
        self._cluster_column = cluster_column or CLUSTER
        self._unscored = Unscored(score_field or "", scorers)
        self.raised: Raised | None = None
        self.failed: FailedScoring | None = None

    # May be called twice for one outcome: a budget wants to know what a call took before it is
    # scored. So it changes nothing of the outcome.
    def row(self, outcome: Outcome) -> EvalRow:
        work, output = outcome.work, outcome.output
        self.failed = None
        row = self._start(outcome)
        try:
            row.input_tokens = self._counter.visible(work.example)
            if output is None:
                return self._errored(row, outcome)
            self._keep_output(row, work.example, output)
            row.example_digest = _digest(work)
            if self._cluster_column in work.example:
                row.metadata[CLUSTER] = to_json_safe(work.example[self._cluster_column])
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - all that is made of outputs passes here
            return self._refused(outcome, error)
        idle = self._idle
        for scorer, scores in outcome.scores:
            if idle and (type(scores) is not dict or scores):
                idle.discard(scorer.key)
            try:
                self._keep_scores(row, scorer, scores)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - all that is made of scores passes here
                reason = f"what the evaluator returned cannot be kept: {describe_exception(error)}"
                self._keep_reason(row, scorer, reason)
        main = self._score_field
        if main is not None and main not in row.scores and main not in row.missing:
            row.missing[main] = self._unscored.reason(work.example, output)
        if are_known():
            row.example_id = hide(row.example_id)
            row.scores, row.missing = hide(row.scores), hide(row.missing)
        return row

    def _errored(self, row: EvalRow, outcome: Outcome) -> EvalRow:
        """The row of a call that failed, with why."""
        row.error = redact(outcome.error or "")
        row.example_id = hide(row.example_id)
        if outcome.spent:
            row.metadata.update(_plain(outcome.spent))
        self.raised = outcome.raised
        if self.raised is not None:
            _keep_traceback(row, self.raised.traceback)
        return row

    def _refused(self, outcome: Outcome, error: BaseException) -> EvalRow:
        """The row of what cannot be kept: without end, too deep, or with methods that fail."""
        whose = "the output" if outcome.output is not None else "the example"
        reason = outcome.error or f"{whose} cannot be kept: {describe_exception(error)}"
        row = self._start(outcome)
        row.error = redact(reason)
        return row

    def _start(self, outcome: Outcome) -> EvalRow:
        work = outcome.work
        return EvalRow(
            self._system,
            work.example_id,
            latency=outcome.latency,
            dataset=work.dataset,
            repeat=work.repeat,
        )

    def _keep_output(
        self, row: EvalRow, example: Mapping[str, Any], output: Mapping[str, Any]
    ) -> None:
        response = output.get("response")
        if response is not None:
            row.response = blot(response if type(response) is str else str(response))
            row.response_tokens = self._counter.count(row.response)
        row.output_tokens = row.input_tokens
        counted = (*self._counter.text_fields, *FORMS)
        if any(_changes(example, output, field) for field in counted):
            row.output_tokens = self._counter.visible(pass_on(example, output))
        # Any field of the example counts, since a reader may use it.
        if row.output_tokens == row.input_tokens and any(
            _changes(example, output, field) for field in (*FORMS, *example)
        ):
            row.metadata[CHANGED] = True
        metadata = output.get("metadata")
        if metadata is not None and isinstance(metadata, Mapping):
            row.metadata.update(_plain(metadata))
        if "usage" in output or "stage_usage" in output or "api_usage" in output:
            self._keep_usage(row, example, output)
        replies = output.get("turn_responses")
        if replies is not None:
            row.metadata["turn_responses"] = _plain({"turns": replies})["turns"]

    def _keep_usage(
        self, row: EvalRow, example: Mapping[str, Any], output: Mapping[str, Any]
    ) -> None:
        """What endpoints counted: of the answer by name, of all else as what it took."""
        usages = [
            add_turns(output[field])
            for field in USAGE_FIELDS
            if output.get(field) and output[field] != example.get(field)
        ]
        stages = output.get("stage_usage")
        if output.get("response") is not None or output.get("tool_calls"):
            for usage in usages:
                row.metadata.update(_plain(usage))
        elif stages is None:
            stages = [{"stage": self._system, "usage": usage} for usage in usages]
        if isinstance(stages, list | tuple):
            named = [stage for stage in stages if isinstance(stage, Mapping)]
            usages = [{"stage": s.get("stage"), **add_turns(s.get("usage"))} for s in named]
            row.metadata["stage_usage"] = [_plain(usage) for usage in usages]
        spent = [n for usage in usages if (n := count_tokens(usage)) is not None]
        if spent:
            row.metadata["spent_tokens"] = sum(spent)

    def _keep_scores(self, row: EvalRow, scorer: Scorer, scores: Any) -> None:
        if isinstance(scores, BaseException):
            self._keep_failure(row, scorer, scores)
            return
        if isinstance(scores, Scored):
            row.missing |= {str(name): redact(str(why)) for name, why in scores.missing.items()}
            self._keep_details(row, scorer, {**scores.details, **scores.cost})
            scores = scores.scores
        if not isinstance(scores, Mapping):
            shown = "None" if scores is None else type(scores).__name__
            self._keep_reason(row, scorer, f"{RETURNED} {shown}, not a dict of scores")
            return
        others: Collection[str] = self._declared if scorer.automatic else ()
        kept = row.scores
        for name, value in scores.items():
            if type(name) is not str:
                shown = described_value(name)
                row.missing[shown] = f"the evaluator named a score {shown}, which is no text"
                continue
            key = name
            # A name is whose evaluator declares it, or who comes first.
            if name in kept or (name in others and name not in scorer.emits):
                key = f"{scorer.part.name}.{name}"
            if type(value) is not float:
                try:
                    value = float(value)  # noqa: PLW2901 - numpy scalars, integers and booleans
                except KeyboardInterrupt:
                    raise
                except BaseException:  # noqa: BLE001 - `float` may call anything, and overflow
                    shown = described_value(value)
                    row.missing[key] = f"{RETURNED} {shown}, not a number"
                    continue
            if value - value == 0.0:  # finite: NaN and infinity minus themselves are NaN
                kept[key] = value
            else:
                row.missing[key] = f"{RETURNED} {value}"

    def _keep_details(self, row: EvalRow, scorer: Scorer, told: Mapping[str, Any]) -> None:
        if not told:
            return
        details = row.metadata[scorer.part.name] = _plain(told)
        cost = details.get("cost_usd")
        if type(cost) in (int, float):
            row.metadata[SCORING_USD] = row.metadata.get(SCORING_USD, 0.0) + cost

    def _keep_failure(self, row: EvalRow, scorer: Scorer, error: BaseException) -> None:
        raised, reason = Raised.by(error), reason_of(error)
        self._keep_reason(row, scorer, reason)
        if isinstance(error, ScoringError):
            self._keep_details(row, scorer, error.cost)
        _keep_traceback(row, raised.traceback)
        if self.failed is None and not isinstance(error, MissingScoreError):
            self.failed = FailedScoring(scorer.part.name, redact(reason), raised)

    def _keep_reason(self, row: EvalRow, scorer: Scorer, reason: str) -> None:
        for name in scorer.emits or (scorer.part.name,):
            row.missing[name] = redact(reason)


def _digest(work: Work) -> str:
    """A digest of the example's data, in hexadecimal; empty if the data is not plain."""
    if work.address:
        return work.address.hex()
    with contained():
        return content_key(to_json(work.example, sort_keys=True)).hex()
    return ""


def _plain(metadata: Mapping[Any, Any]) -> dict[str, Any]:
    """Metadata that can be saved and read back: plain data without secrets."""
    plain: dict[str, Any] = to_json_safe(visible("", dict(metadata)))
    return plain


def _changes(example: Mapping[str, Any], output: Mapping[str, Any], field: str) -> bool:
    """Whether an output has another value than the example."""
    return field in output and not is_same(output[field], example.get(field))


def _keep_traceback(row: EvalRow, text: str) -> None:
    """Note where code of others failed; one after another where several evaluators did."""
    if text:
        before = row.metadata.get(TRACEBACK)
        row.metadata[TRACEBACK] = f"{before}\n\n{text}" if before else text
