"""The end of a run: from its rows to a result, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from cbcore._logging import log_progress
from cbcore.components import describe_exception
from cbcore.exceptions import CBError, RunError, RunInterruptedError, RunStoppedError
from cbcore.json_data import from_json
from cbcore.results import EvalResult, EvalRow, RunConfig
from cbcore.results.eval_result import RunState
from cbcore.results.sections import add_hook_sections, make_sections
from cbcore.results.summary import mark_idle
from cbcore.run.calling import MORE_ROOM
from cbcore.secrets import hide, redact
from cbcore.store.rows import JoinedRows, StoredRows, StoredTexts

if TYPE_CHECKING:
    from cbcore.run.runner import Runner


def summarize(run: Runner, failure: BaseException | None) -> EvalResult:
    """The result of a run: its metrics, verdicts and sections, and what the reader has to know."""
    learn_score(run)
    config: RunConfig = {**run.config, **describe_ending(failure)}
    if run.budget.is_limited:
        spent = run.budget.spent
        config["spent"] = {"tokens": spent.tokens, "usd": spent.usd or 0.0}
    if run.executor is not None:
        config["repeated_calls"] = sum(one.n_repeated for one in run.workers.values())
    for record, examples in zip(config["datasets"], run.examples, strict=False):
        cast("dict[str, Any]", record).update(n_examples=examples.n_read, data=examples.digest)
    sections, remarks = make_sections(run.rows, run.metrics, config)
    parts = list(run.rows.values())
    rows: Sequence[EvalRow] = JoinedRows(parts)
    if run.settings.rows == "memory":
        rows = [row for part in parts for row in part]
    result = EvalResult(
        rows=rows,
        timing=run.timing,
        config=mark_idle(config, "evaluators", run.idle),
        sections=sections,
        metrics=run.metrics,
        texts=_find_texts(run),
    )
    result.summarize(run.rows)
    result.problems += [*_describe_latencies(run, result), *remarks, *_list_problems(run)]
    result.summary = hide(result.summary)
    _warn_of_unread_columns(run)
    if not run.has_clusters:
        column = run.settings.cluster_column
        run.warn(f"No example has {column!r}, so --cluster-column had no effect.")
    _report_reuse(run)
    add_hook_sections(run.hooks, run, result)
    return result


def learn_score(run: Runner) -> None:
    """Let quality mean the first score of the rows, if no evaluator declares its scores.

    The row with the most scores names the first evaluator's first. If no row has a score, a score
    that is missing counts.
    """
    if run.metrics_for is None:
        return
    rows = [row for of_system in run.rows.values() for row in of_system]
    fullest = max(rows, key=lambda row: (len(row.scores), len(row.missing)), default=None)
    names = [] if fullest is None else [*fullest.scores, *fullest.missing]
    score = run.config["score_field"]
    learned = next((name for name in names if name != score), None)
    if learned is None or fullest is None or score in fullest.scores:
        return
    parts = run.metrics_for(learned)
    run.metrics = [part.value for part in parts]
    records = [part.record for part in parts]
    run.config = {**run.config, "score_field": learned, "metrics": records}


def _find_texts(run: Runner) -> StoredTexts | None:
    """The texts behind the rows, if they are stored."""
    if run.store is None or run.saved is None or run.settings.no_examples:
        return None
    run.store.flush()
    return StoredTexts([StoredRows(run.store.reader, run.run_id, system) for system in run.rows])


def _describe_latencies(run: Runner, result: EvalResult) -> list[str]:
    """A remark if some latencies were measured now, and others in an earlier run."""
    n_rows = sum(map(len, run.rows.values())) - run.n_failed
    has_latency = any(k.startswith("latency") for v in result.summary.values() for k in v)
    if len(run.rows) < 2 or run.n_cached in (0, n_rows) or not has_latency:
        return []
    cached = f"{run.n_cached:,} of {n_rows:,} rows are cached, with the latency of an earlier run"
    return [f"latencies are not ranked: {cached}"]


def _list_problems(run: Runner) -> list[str]:
    """What the reader of a result has to know besides its numbers."""
    problems = [f"the data of {name} ended early: {why}" for name, why in run.failures.items()]
    for system, reason in run.stopped.items():
        problems.append(
            f"{system} was stopped, and its other examples have no rows. {redact(reason)}"
        )
    if n_lost := sum(one.n_lost for one in run.workers.values()):
        n_repeated = sum(one.n_repeated for one in run.workers.values())
        problems.append(f"{n_lost} workers were lost, and {n_repeated} calls were sent again")
    return problems


def _warn_of_unread_columns(run: Runner) -> None:
    """A mapping without effect is most likely a mistake in the name of the field."""
    values = {id(s.value): s for of_pair in run.scorers.values() for s in of_pair}
    for scorer in values.values() if not run.workers else ():
        for field in sorted(getattr(scorer.value, "unread_columns", ())):
            run.warn(f"{scorer.name} never looked at {field!r}: {field}_column had no effect.")


def _report_reuse(run: Runner) -> None:
    """Report how many outputs were reused, from when, and from other versions."""
    sources = sorted({run_id for cache in run.caches for run_id in cache.sources})
    if not sources or run.store is None or run.saved is None:
        return
    marks = ", ".join("?" * min(len(sources), 500))
    found = run.store.reader.query(
        f"SELECT started, environment FROM runs WHERE run_id IN ({marks})",  # noqa: S608
        sources[:500],
    )
    days = sorted({started[:10] for started, _ in found})
    when = "" if not days else f", from {' to '.join(dict.fromkeys([days[0], days[-1]]))}"
    log_progress(f"Reused {run.n_cached:,} outputs of earlier runs{when}.")
    changed: dict[str, str] = {}
    here = run.saved.environment
    for _, text in found:
        for name, version in _find_versions(text).items():
            if (installed := _find_versions(here).get(name)) not in (None, version):
                changed[name] = f"{name} {version} (installed: {installed})"
    if changed:
        run.warn(f"Some reused outputs were made with {', '.join(changed.values())}.")


def _find_versions(environment: Any) -> dict[str, Any]:
    """The versions of Python, the core and the plugins of a run."""
    facts = from_json(environment.encode()) if isinstance(environment, str) else environment
    return {
        **facts.get("plugins", {}),
        "cbcore": facts.get("cbcore"),
        "Python": facts.get("python"),
    }


# -- how it ended --------------------------------------------------------------------------------


def describe_end(failure: BaseException | None) -> tuple[RunState, str | None]:
    """The state of a run that ended, and why it did not finish."""
    if failure is None:
        return "finished", None
    error = find_error(failure)
    if error is None:
        return "interrupted", None
    return "failed", redact(error.message)


def describe_ending(failure: BaseException | None) -> RunConfig:
    """As `describe_end`, for the configuration in a result."""
    state, reason = describe_end(failure)
    return {"state": state, "state_reason": reason} if reason else {"state": state}


def find_error(failure: BaseException) -> CBError | None:
    """The error of `cb` that ended a run; None for an interrupt."""
    if isinstance(failure, CBError):
        return failure
    if isinstance(failure, KeyboardInterrupt):
        return None
    if os.environ.get("CB_DEBUG"):
        raise failure
    if isinstance(failure, MemoryError):  # also of SQLite
        return RunError("There is not enough memory.", hint=MORE_ROOM)
    return CBError(
        f"Unexpected {describe_exception(failure)}",
        hint="This is a defect of cb. Set CB_DEBUG=1 for the traceback.",
    )


def find_cause(failure: BaseException) -> BaseException:
    """What an early end is chained to: if one row ended the run, what that row raised."""
    return failure.__cause__ or failure if type(failure) is RunError else failure


def describe_stop(failure: BaseException, result: EvalResult) -> RunStoppedError:
    """The error for a run that ended early."""
    n_rows = len(result.rows)
    kept = "No row was finished." if not n_rows else f"{n_rows} finished rows are kept."
    if n_rows == 1:
        kept = "1 finished row is kept."
    error = find_error(failure)
    if error is None:
        return RunInterruptedError(f"Interrupted. {kept}", result=result)
    stopped = RunStoppedError(f"{error.message}\n{kept}", result=result, hint=error.hint)
    stopped.exit_code = error.exit_code
    return stopped
