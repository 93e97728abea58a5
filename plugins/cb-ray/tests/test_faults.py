"""Every way in which workers, nodes and heads are lost, on a real Ray of several nodes.

Whatever happens, each example has one row, in its place, or the run says why it ended, and
nothing waits for ever.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cbcore.exceptions import RunError, RunStoppedError
from cbcore.results import EvalResult

pytestmark = pytest.mark.slow


def assert_each_once(result: EvalResult, n: int, *, failed: dict[str, str] | None = None) -> None:
    """All rows are there in order; those that `failed` say why, and all others have their scores."""
    assert [row.example_id for row in result.rows] == [str(i) for i in range(n)]
    found = {row.example_id: row.error for row in result.rows if row.error is not None}
    assert set(found) == set(failed or {})
    for name, words in (failed or {}).items():
        assert words in str(found[name])
    assert all(row.scores["same"] == 1.0 for row in result.rows if row.error is None)


def test_workers_that_are_killed_cost_no_row(bench):
    """Their examples are called again, and the result says how many."""
    result = bench.run("Mortal", n=120)
    assert_each_once(result, 120)
    repeats = sum(bench.calls().values()) - 120
    assert repeats == result.config["repeated_calls"] > 0


def test_an_example_that_costs_two_workers_becomes_one_failed_row(bench):
    """Nothing else is called again."""
    result = bench.run("Poison")
    assert_each_once(result, 60, failed={"7": "The actor died unexpectedly"})
    assert bench.calls() == {str(i): 1 + (i == 7) for i in range(60)}


def test_a_call_that_never_ends_becomes_one_failed_row(bench):
    """The run ends its worker."""
    result = bench.run("Hanging", timeout_s=1)
    assert_each_once(result, 60, failed={"7": "timed out after 1 s"})


def test_what_is_too_large_for_the_object_store_becomes_one_failed_row(bench):
    result = bench.run("Large", n=20)
    assert_each_once(result, 20, failed={"7": "OutOfDiskError"})


def test_a_node_that_is_lost_with_room_elsewhere_is_replaced(bench):
    """The third node takes the worker of the one that is gone."""
    cluster = bench.cluster
    cluster.nodes.append(cluster.add_node())
    try:
        result = bench.run(
            *("Steady",),
            n=150,
            at=(60, lambda: cluster.kill_node(cluster.nodes[0])),
            takes_s=0.02,
            executor={"workers": 2},
        )
        assert_each_once(result, 150)
    finally:
        while len(cluster.nodes) > 2:
            cluster.kill_node(cluster.nodes[-1])


@pytest.mark.full
def test_a_node_that_is_lost_without_room_elsewhere_leaves_its_work_to_the_others(bench):
    """A worker that cannot be placed any more holds nothing up."""
    cluster = bench.cluster
    at = (60, lambda: cluster.kill_node(cluster.nodes[0]))
    assert_each_once(bench.run("Steady", n=150, at=at, takes_s=0.02), 150)


@pytest.mark.full
def test_without_any_node_the_run_ends_and_says_what_is_missing(bench):
    """It is stopped with the rows that are there, and not waiting for a node."""
    cluster = bench.cluster

    def lose_all() -> None:
        for number in list(cluster.nodes):
            cluster.kill_node(number)

    with pytest.raises(RunStoppedError) as stopped:
        bench.run(
            "Steady", n=150, at=(60, lose_all), takes_s=0.02, executor={"start_timeout_s": 10}
        )
    assert "No Ray worker got ready in 10 s: each asks for 1 CPUs" in str(stopped.value)
    assert "0 of 0 CPUs" in str(stopped.value)


@pytest.mark.full
def test_another_version_of_a_plugin_on_the_workers_ends_the_run(bench, tmp_path):
    """Before the first call, with both versions and what to do."""
    info = tmp_path / "site" / "cb_answerquality-9.9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cb-answerquality\nVersion: 9.9\n")
    (info / "entry_points.txt").write_text("[cb.evaluators]\nanswer_quality = cb_answerquality:X\n")
    other = {"env_vars": {"PYTHONPATH": str(info.parent)}}
    with pytest.raises(RunError, match=r"cb-answerquality 0\.1\.0, and the worker has 9\.9"):
        bench.run("Steady", evaluators=["answer_quality"], executor={"runtime_env": other})
    assert not (tmp_path / "journal").exists()


DRIVER = """
import os, sys
from cb_ray import RayExecutor
from cbcore import evaluate

address, spec, store, kill_at = sys.argv[1:]

def examples():
    for i in range(150):
        if str(i) == kill_at:
            os.kill(os.getpid(), 9)
        yield {"id": str(i), "question": f"q{i}?", "context": f"it is a{i}", "answer": f"a{i}"}

result = evaluate([spec], examples(), executor=RayExecutor(address), cache_dir=store,
                  progress=False)
print([row.example_id for row in result.rows] == [str(i) for i in range(150)])
print(all(row.scores["f1"] == 1.0 for row in result.rows))
"""


def test_a_run_that_was_killed_goes_on_where_it_was(bench, tmp_path):
    """What had come back is not called for again, and its workers do not outlive it."""
    journal = tmp_path / "journal"
    spec = f"py:{Path(__file__).parent / 'hostile.py'}:Steady:journal={journal},takes_s=0.01"
    command = [sys.executable, "-c", DRIVER, bench.cluster.address, spec, str(tmp_path / "store")]
    killed = subprocess.run([*command, "100"], capture_output=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    first = sum(bench.calls().values())
    again = subprocess.run([*command, "-"], capture_output=True, timeout=120, text=True, check=True)
    assert again.stdout == "True\nTrue\n"
    assert set(bench.calls()) == {str(i) for i in range(150)}
    assert sum(bench.calls().values()) < 150 + first


def test_without_a_head_the_run_ends_and_keeps_what_is_done(bench, tmp_path):
    """Nothing waits for a head that is gone, and no finished output is called for again."""
    options = {"takes_s": 0.02, "cache_dir": tmp_path / "store"}
    with pytest.raises(RunStoppedError, match=r"The head of the cluster at .* does not") as stopped:
        bench.run("Steady", n=5000, at=(60, bench.cluster.kill_head), **options)
    n_done = len(stopped.value.result.rows)
    assert 0 < n_done < 5000
    calls = bench.calls()
    assert_each_once(bench.run("Steady", n=n_done, here=True, **options), n_done)
    assert bench.calls() == calls
