"""What a run on Ray gives, on a real one: the same as a run here, and nothing that leaks."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from cb_ray import RayExecutor
from cbcore import evaluate
from cbcore.exceptions import RunError, RunStoppedError
from cbcore.workers import Batch, Recipe

pytestmark = pytest.mark.slow

HOSTILE = Path(__file__).parent / "hostile.py"
KEY = "sk-quite-secret-0123456789abcdef4711"


def test_rows_scores_and_summary_are_those_of_a_run_in_one_process(bench):
    """In the same order; only what was measured in seconds differs."""
    systems = ["identity | extractive", "bm25:max_tokens=60 | extractive"]
    one = evaluate(systems, "hotpotqa:sample", max_examples=12, progress=False)
    on_ray = RayExecutor(bench.cluster.address)
    two = evaluate(systems, "hotpotqa:sample", max_examples=12, progress=False, executor=on_ray)
    seen = [
        (row.system, row.example_id, row.response, row.scores, row.input_tokens) for row in one.rows
    ]
    assert seen == [
        (row.system, row.example_id, row.response, row.scores, row.input_tokens) for row in two.rows
    ]
    for system, values in one.summary.items():
        timeless = {name: value for name, value in values.items() if "latency" not in name}
        assert timeless == {name: two.summary[system][name] for name in timeless}


def test_what_workers_print_is_told_with_the_row_it_belongs_to(bench, capsys):
    """Wherever they are."""
    bench.run("Telling", n=3)
    told = capsys.readouterr().err
    assert all(f"{i}: working on number {i}" in told for i in range(3))


def test_a_key_is_read_on_the_node_and_stands_in_nothing_of_ray_nor_of_the_run(
    bench, tmp_path, capsys
):
    """The nodes were started without it, and the run does not know it: only the name of a file
    is sent. What the system tells of it is hidden by the worker."""
    keys = tmp_path / "keys.env"
    keys.write_text(f"# of the nodes\nexport OPENAI_API_KEY='{KEY}'\n")
    store = tmp_path / "store"
    result = bench.run("Telling", n=3, executor={"env_file": str(keys)}, cache_dir=store)
    assert {row.response for row in result.rows} == {f"{KEY[-4:]} ***"}
    assert KEY not in capsys.readouterr().err
    assert_nowhere(KEY, bench.cluster.folder, store)
    tables = subprocess.run(
        [sys.executable, "-c", TABLES, bench.cluster.address],
        env={**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "CbWorker" in tables.stdout
    assert KEY not in tables.stdout


TABLES = """
import sys
from ray._private.state import GlobalState
from ray._raylet import GcsClientOptions

state = GlobalState()
state._initialize_global_state(
    GcsClientOptions.create(sys.argv[1], None, allow_cluster_id_nil=True, fetch_cluster_id_if_nil=False)
)
print(state.actor_table(None), state.job_table(), state.node_table())
"""


def test_a_file_of_keys_that_is_not_on_a_node_is_said_with_the_node(bench, tmp_path):
    """And what to do; nothing is called."""
    missing = str(tmp_path / "none.env")
    with pytest.raises(RunStoppedError, match=r"env_file .*none\.env on .* cannot be read") as told:
        bench.run("Telling", n=3, executor={"env_file": missing})
    assert "every node" in str(told.value.hint)


def test_a_ray_of_our_own_has_the_keys_of_the_run_in_its_environment(monkeypatch):
    """And nowhere else: not in its logs, nor in the arguments of its processes."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    executor = RayExecutor(workers=1, start_timeout_s=60)
    result = evaluate(
        *([f"py:{HOSTILE}:Telling"], "hotpotqa:sample"),
        max_examples=2,
        progress=False,
        executor=executor,
    )
    assert {row.response for row in result.rows} == {f"{KEY[-4:]} ***"}
    link = executor._link
    assert link is not None
    try:
        assert_nowhere(KEY, link.folder)
    finally:
        link.close()


def assert_nowhere(key: str, *folders: str | Path) -> None:
    """That no file in these folders has it, and no command line of this machine."""
    files = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    assert files
    for path in (*files, *Path("/proc").glob("[0-9]*/cmdline")):
        try:
            written = path.read_bytes()
        except OSError:  # a process that has ended meanwhile
            continue
        assert key.encode() not in written, path


def test_workers_stay_for_the_next_system(bench):
    """A sweep of three points starts one actor for each place."""
    journal = bench.folder / "journal"
    systems = [f"py:{HOSTILE}:Placed:journal={journal},name={name}" for name in "abc"]
    result = evaluate(
        *(systems, bench.examples(30)),
        executor=RayExecutor(bench.cluster.address, start_timeout_s=20),
        progress=False,
    )
    assert [row.system for row in result.rows] == [name for name in "abc" for _ in range(30)]
    assert [row.error for row in result.rows] == [None] * 90
    assert len({row.response for row in result.rows}) <= 2  # the second may be late for it all
    assert result.config["repeated_calls"] == 0


def test_a_budget_holds_for_all_workers_together(bench):
    """It is kept by the run, which holds back what could exceed it."""
    with pytest.raises(RunStoppedError, match="would exceed the budget of 1,000 tokens"):
        bench.run("Dear", budget_tokens=1000)
    assert sum(bench.calls().values()) == 10


class Made:
    """A bench of hostile.py, where it is unpickled."""

    def __reduce__(self):
        return eval, (f"__import__('runpy').run_path({str(HOSTILE)!r})['Sleeper']()",)


def test_the_worker_of_an_abandoned_batch_is_replaced_and_not_heard_again(bench):
    """However deep it sleeps."""
    recipe = Recipe("sleeper", pickle.dumps(Made()))
    crew = RayExecutor(bench.cluster.address, workers=1).open(recipe, workers=None)
    try:
        replies = []
        for number, payload in enumerate((b"never", b"again")):
            while not crew.free():
                crew.wait(60)
            crew.send(Batch(number, payload))
            if payload == b"never":
                crew.abandon(number)
        while not replies:
            replies = list(crew.wait(60))
        assert [(reply.batch_id, reply.payload) for reply in replies] == [(1, b"again")]
    finally:
        crew.close()


def test_a_ray_of_our_own_is_gone_with_the_executor(tmp_path):
    """Its processes and its folder; `RAY_ADDRESS` is not set, so that there is none to join."""
    executor = RayExecutor(workers=1, start_timeout_s=60)
    system = f"py:{HOSTILE}:Steady"
    result = evaluate(
        [system], "hotpotqa:sample", max_examples=3, progress=False, executor=executor
    )
    assert [row.error for row in result.rows] == [None] * 3
    link = executor._link
    assert link is not None
    folder = link.folder
    assert _processes(folder)
    assert Path(folder).stat().st_mode & 0o077 == 0  # nobody else looks into it
    link.close()
    assert not _processes(folder)
    assert not Path(folder).exists()


def _processes(folder: str) -> list[str]:
    """The command lines that name a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_text(errors="replace")
        except OSError:
            continue
        if folder in line:
            found.append(line)
    return found


def test_a_cluster_is_joined_with_its_token_and_not_without(rig_class, monkeypatch):
    """What is wrong is said, with the variables that help."""
    monkeypatch.setenv("RAY_NUM_REDIS_GET_RETRIES", "2")
    right, wrong = "ab" * 32, "cd" * 32
    cluster = rig_class(nodes=1, environment={"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": right})
    try:
        for token in (None, wrong):
            if token is not None:
                monkeypatch.setenv("RAY_AUTH_TOKEN", token)
            with pytest.raises(RunError, match="it wants its token") as refused:
                RayExecutor(cluster.address).open(Recipe("none", b""), workers=None)
            assert "RAY_AUTH_TOKEN" in str(refused.value.hint)
            assert wrong not in str(refused.value)
        monkeypatch.setenv("RAY_AUTH_TOKEN", right)
        executor = RayExecutor(cluster.address)
        executor.open(Recipe("none", b""), workers=None).close()
    finally:
        cluster.close()
