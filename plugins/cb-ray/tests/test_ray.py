"""What a run on Ray gives, on a real one: the same as a run here, and nothing that leaks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cb_ray import RayExecutor
from cbcore import evaluate
from cbcore.exceptions import RunStoppedError

pytestmark = pytest.mark.slow

HOSTILE = Path(__file__).parent / "hostile.py"
KEY = f"sk-quite-secret-0123456789abcdef{os.getpid():08}"  # in no other process
LIMIT_S = 120


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


def read_until(capsys, words):
    """What is printed on standard error until all these words are; Ray brings it after a while."""
    until, shown = time.monotonic() + LIMIT_S, ""
    while not all(word in shown for word in words):
        assert time.monotonic() < until, shown
        shown += capsys.readouterr().err
    return shown


def test_a_key_is_read_on_the_node_and_stands_in_nothing_of_ray_nor_of_the_run(
    bench, tmp_path, capsys
):
    """The nodes were started without it, and the run does not know it: only the name of a file
    is sent. What the system returns and prints of it is redacted by the worker."""
    keys = tmp_path / "keys.env"
    keys.write_text(f"# of the nodes\nexport OPENAI_API_KEY='{KEY}'\n")
    store = tmp_path / "store"
    result = bench.run("Telling", n=3, executor={"env_file": str(keys)}, cache_dir=store)
    assert {row.response for row in result.rows} == {f"{KEY[-4:]} ***"}
    assert KEY not in read_until(capsys, [f"working on number {i} ***" for i in range(3)])
    assert_nowhere(KEY, bench.cluster.folder, store)


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


def test_a_file_of_keys_that_is_not_on_a_node_is_reported_with_the_node(bench, tmp_path):
    """And what to do; nothing is called."""
    missing = str(tmp_path / "none.env")
    with pytest.raises(RunStoppedError, match=r"env_file .*none\.env on .* cannot be read") as told:
        bench.run("Telling", n=3, executor={"env_file": missing})
    assert "every node" in str(told.value.hint)


OWN = f"""
import os, signal, stat
from pathlib import Path
from cbcore import evaluate

before = signal.getsignal(signal.SIGTERM)
for name in "ab":
    result = evaluate(["py:{HOSTILE}:Telling"], "hotpotqa:sample", max_examples=2, progress=False,
                      executor="ray:workers=1")
    print(*[row.response for row in result.rows], sep="|")
folder = Path(os.environ["RAY_TMPDIR"])
logs = [path for path in folder.rglob("*") if path.is_file()]
print(bool(logs), any({KEY!r}.encode() in path.read_bytes() for path in logs))
print(oct(stat.S_IMODE(folder.stat().st_mode)), os.environ["RAY_AUTH_MODE"])
print(signal.getsignal(signal.SIGTERM) == before)
print(folder)
"""


def test_a_ray_of_our_own_is_private_and_ends_with_the_program(tmp_path):
    """Workers have the keys of its environment, and its logs do not. It serves several runs."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", OWN],
        env={**environment, "OPENAI_API_KEY": KEY, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    *lines, folder = done.stdout.split("\n")[:-1]
    response = f"{KEY[-4:]} ***"
    assert lines == [f"{response}|{response}"] * 2 + ["True False", "0o700 token", "True"]
    assert not Path(folder).exists()
    assert not any(folder in line for line in command_lines())


def command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_text(errors="replace")
        except OSError:
            continue


JOINED = f"""
import ray
from cbcore import evaluate

ray.init(address="{{address}}", logging_level="ERROR")
result = evaluate(["py:{HOSTILE}:Steady"], "hotpotqa:sample", max_examples=2, progress=False,
                  executor="ray")
print([row.error for row in result.rows], ray.is_initialized())
"""


@pytest.mark.full
def test_a_program_that_has_joined_a_cluster_stays_in_it(bench):
    code = JOINED.format(address=bench.cluster.address)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    assert done.stdout == "[None, None] True\n"


JOINS = f"""
import sys
from cb_ray import RayExecutor
from cbcore import evaluate
from cbcore.exceptions import CBError

try:
    result = evaluate(["py:{HOSTILE}:Steady"], "hotpotqa:sample", max_examples=1, progress=False,
                      executor=RayExecutor(sys.argv[1]))
    print([row.error for row in result.rows])
except CBError as error:
    print(error)
"""


@pytest.mark.full
def test_a_cluster_is_joined_with_its_token_and_not_without(rig_class):
    """What is wrong is reported, with the variables that help."""
    right, wrong = "ab" * 32, "cd" * 32
    cluster = rig_class(nodes=1, environment={"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": right})
    try:
        for token in ("", wrong, right):
            given = {"RAY_AUTH_TOKEN": token} if token else {}
            done = subprocess.run(
                [sys.executable, "-c", JOINS, cluster.address],
                env={**os.environ, "RAY_NUM_REDIS_GET_RETRIES": "2", **given},
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=True,
            )
            if token == right:
                assert done.stdout == "[None]\n"
            else:
                assert "could not be joined: it wants its token" in done.stdout
                assert "Set RAY_AUTH_TOKEN" in done.stdout
            assert wrong not in done.stdout
    finally:
        cluster.close()
