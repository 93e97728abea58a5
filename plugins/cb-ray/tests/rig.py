"""A real Ray of several nodes on this machine: a head, and nodes, each with processes of its own.

It is made in a process that is told on its standard input what to do next, so that Ray is never
imported where the tests run, and so that its end takes all of it along.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 3,
}
"""How soon a head notices that a node is gone: seconds, and not half a minute."""


class Rig:
    """A cluster whose head does no work, and whose nodes have one CPU each unless told."""

    def __init__(
        self,
        *,
        nodes: int = 2,
        environment: Mapping[str, str] | None = None,
        node: Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder = tempfile.mkdtemp(prefix="cb-rig-", dir="/tmp")
        self._node = {"num_cpus": 1, "object_store_memory": 80_000_000, **(node or {})}
        # Where the address of the last cluster is written, which need not be there, nor be ours.
        Path(self.folder, "ray").mkdir()
        quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
        quiet["RAY_TMPDIR"] = self.folder
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **quiet, **(environment or {})},
            start_new_session=True,
            text=True,
        )
        head = {"num_cpus": 0, "object_store_memory": 80_000_000, "temp_dir": self.folder}
        system_config = {**QUICK, **(config or {})}
        self.address = str(self._ask("head", {**head, "_system_config": system_config}))
        self.nodes = [self.add_node() for _ in range(nodes)]
        self.has_head = True

    def add_node(self) -> int:
        """Its number, for `kill_node`."""
        return int(self._ask("add", self._node))

    def kill_node(self, number: int) -> None:
        """As when the machine loses power."""
        self._ask("kill", number)
        self.nodes.remove(number)

    def kill_head(self) -> None:
        self._ask("behead", None)
        self.has_head = False

    def close(self) -> None:
        """End every process of it."""
        if self._process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.communicate(timeout=20)
        # Workers and agents whose raylet was killed are in groups of their own, but in its session.
        for number in _of_session(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _ask(self, word: str, value: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([word, value]), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


def _of_session(session: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if int(path.read_text().rpartition(")")[2].split()[3]) == session:
                yield int(path.parent.name)


def _main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from ray.cluster_utils import Cluster

    cluster: Any = None
    nodes: dict[int, Any] = {}
    for line in sys.stdin:
        word, value = json.loads(line)
        answer: Any = None
        if word == "head":
            cluster = Cluster(
                initialize_head=True, head_node_args={**value, "include_dashboard": False}
            )
            answer = cluster.address
        elif word == "add":
            answer = len(nodes)
            nodes[answer] = cluster.add_node(**value)
        elif word == "kill":
            cluster.remove_node(nodes[value], allow_graceful=False)
        elif word == "behead":
            cluster.head_node.kill_gcs_server(check_alive=False)
        print(json.dumps(answer), file=out, flush=True)
    for node in list(nodes.values()):
        node.kill_all_processes(check_alive=False, allow_graceful=False)
    cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False)


if __name__ == "__main__":
    _main()
