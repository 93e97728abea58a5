"""Shards of `cb`: written, read past, carried and merged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import workload

from cb_compare import merge
from cbcore import evaluate
from cbcore.store.saved_runs import list_runs
from cbcore.store.transfer import export_run


def _shard(n: int, shard: str, folder: str | None) -> Any:
    return evaluate(
        [workload.Constant()],
        workload.examples(n),
        evaluators=["answer_quality"],
        cache_dir=folder,
        rows="disk",
        shard=shard,
        progress=False,
    )


def write(n: int, count: int, numbers: Sequence[int], folder: str) -> dict[str, Any]:
    """Some shards of a run, one after another, into a store that others write to as well."""
    results, taken = workload.measured(
        lambda: [len(_shard(n, f"{number}/{count}", folder).rows) for number in numbers]
    )
    return {**taken, "rows": sum(results)}


def read_past(n: int) -> dict[str, Any]:
    """What a shard pays for examples that are not its own: of a thousand, hardly one is."""
    _shard(workload.WARM_UP, "1/2", None)
    result, taken = workload.measured(lambda: _shard(n, "1/1000", None))
    made, making = workload.measured(lambda: sum(1 for _ in workload.examples(n)))
    return {**taken, "rows": len(result.rows), "examples": made, "making_s": making["cpu_s"]}


def join(folder: str) -> dict[str, Any]:
    """The shards of a store, merged in it."""
    ids = [run.run_id for run in list_runs(folder)]
    result, taken = workload.measured(lambda: merge(ids, cache_dir=folder))
    return {**taken, "rows": len(result.rows), "shards": len(ids)}


def export(folder: str, target: str) -> dict[str, Any]:
    """The shards of a store, each as a file."""
    runs = list_runs(folder)

    def carry() -> None:
        for run in runs:
            export_run(run, Path(target) / f"{run.run_id}.cbrun")

    _, taken = workload.measured(carry)
    return {**taken, "files": len(runs)}


def join_files(files: str, folder: str) -> dict[str, Any]:
    """Shards in files, merged into a store that is empty."""
    paths = sorted(map(str, Path(files).glob("*.cbrun")))
    result, taken = workload.measured(lambda: merge(paths, cache_dir=folder))
    return {**taken, "rows": len(result.rows), "shards": len(paths)}


if __name__ == "__main__":
    workload.answer(
        {
            "write": write,
            "read_past": read_past,
            "join": join,
            "export": export,
            "join_files": join_files,
        }
    )
