"""Remarks that the reader of a result needs besides its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cbcore._logging import log_progress
from cbcore.json_data import from_json
from cbcore.results.eval_row import UNCOUNTED
from cbcore.stats import CLUSTER

if TYPE_CHECKING:
    from cbcore.results import EvalResult
    from cbcore.run.runner import Runner

_MOST_SOURCES = 500


def cb_summarize(run: Runner, result: EvalResult) -> None:
    """Add remarks to the result, and warn of settings without effect."""
    for name, reason in run.failures.items():
        result.problems.append(f"the data of {name} ended early: {reason}")
    for system, reason in run.stopped.items():
        problem = f"{system} was stopped, and its other examples have no rows. {reason}"
        result.problems.append(problem)
    if hasattr(run, "caches"):  # else a plugin has joined the rows of several runs
        result.problems += [*_describe_latencies(run, result), *_list_problems(run)]
        _warn_of_settings(run)
        _report_reuse(run)


def _describe_latencies(run: Runner, result: EvalResult) -> Iterator[str]:
    """A remark if some latencies were measured now, and others in an earlier run."""
    n_rows = len(result.rows) - run.n_failed
    has_latency = any(k.startswith("latency") for v in result.summary.values() for k in v)
    if len(run.rows) > 1 and run.n_cached not in (0, n_rows) and has_latency:
        cached = f"{run.n_cached:,} of {n_rows:,} rows are cached"
        yield f"latencies are not ranked: {cached}, with the latency of an earlier run"


def _list_problems(run: Runner) -> Iterator[str]:
    losses = [is_repeated for workers in run.workers.values() for is_repeated in workers.losses]
    if losses:
        yield f"{len(losses)} workers were lost, and {sum(losses)} calls were repeated"
    all_rows = (row for rows in run.rows.values() for row in rows)
    uncounted = {(row.dataset, row.example_id) for row in all_rows if UNCOUNTED in row.metadata}
    if uncounted:
        examples = "1 example" if len(uncounted) == 1 else f"{len(uncounted):,} examples"
        yield f"tokens of images, audio and files are unknown and not counted, in {examples}"


def _warn_of_settings(run: Runner) -> None:
    column = run.settings.cluster_column
    all_rows = (row for rows in run.rows.values() for row in rows)
    if column is not None and not any(CLUSTER in row.metadata for row in all_rows):
        run.warn(f"No example has {column!r}, so --cluster-column had no effect.")


def _report_reuse(run: Runner) -> None:
    """Report how many outputs are reused, from when, and from which other versions."""
    sources = sorted({run_id for cache in run.caches for run_id in cache.sources})[:_MOST_SOURCES]
    if not sources or run.store is None or run.saved is None:
        return
    marks = ", ".join("?" * len(sources))
    query = f"SELECT started, environment FROM runs WHERE run_id IN ({marks})"  # noqa: S608
    found = run.store.reader.query(query, sources)
    days = sorted({started[:10] for started, _ in found})
    when = f" from {' to '.join(dict.fromkeys([days[0], days[-1]]))}" if days else ""
    outputs = "output" if run.n_cached == 1 else "outputs"
    log_progress(f"Reused {run.n_cached:,} {outputs} of earlier runs{when}.")
    here = _find_versions(run.saved.environment)
    changed = {
        f"{name} {version} (installed: {here[name]})"
        for _, text in found
        for name, version in _find_versions(from_json(text.encode())).items()
        if here.get(name) not in (None, version)
    }
    if changed:
        run.warn(f"Some reused outputs were made with {', '.join(sorted(changed))}.")


def _find_versions(environment: Mapping[str, Any]) -> dict[str, Any]:
    """The versions of Python, the core and the plugins of a run."""
    own = {"cbcore": environment.get("cbcore"), "Python": environment.get("python")}
    return {**environment.get("plugins", {}), **own}
