"""What a run on Ray gives, on a real one: the same as a run here, and nothing that leaks."""

from __future__ import annotations

import pickle
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


def test_a_key_reaches_the_workers_and_neither_logs_nor_command_lines(bench, monkeypatch):
    """With `pass_env`; the nodes were started without it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result = bench.run("Telling", n=3, executor={"pass_env": "OPENAI_API_KEY"})
    assert {row.response for row in result.rows} == {KEY[-4:]}
    files = [path for path in Path(bench.cluster.folder).rglob("*") if path.is_file()]
    assert files
    for path in (*files, *Path("/proc").glob("[0-9]*/cmdline")):
        try:
            written = path.read_bytes()
        except OSError:  # a process that has ended meanwhile
            continue
        assert KEY.encode() not in written, path


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
