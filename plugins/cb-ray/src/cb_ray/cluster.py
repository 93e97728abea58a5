"""The Ray of this program: started here or joined, watched, and left when its head is gone."""

from __future__ import annotations

import atexit
import math
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import Any

from cbcore.exceptions import RunError

LOOK_S = 1.0
_GONE_S = 15.0
"""How long the head may not answer. After a minute, Ray itself would end the program."""
_KNOCK_S = 3.0
_LONG = 500
_SHORT = "/tmp"  # noqa: S108 - the paths of sockets must be short
_HOW_TO_ENTER = (
    "Set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to the file that holds the cluster's token."
)
_REACH = (
    "Is `ray start --head` running there, and is this machine one of its nodes? From elsewhere use "
    "`ray job submit`."
)

_lock = threading.Lock()
_current: tuple[str, Cluster] | None = None


def connect(
    address: str | None, *, n_cpus: float, runtime_env: Mapping[str, Any] | None
) -> Cluster:
    """The connection of this program, which is made again for other arguments.

    A Ray that is started here has at least `n_cpus`. Raises `RunError` if that fails.
    """
    global _current  # noqa: PLW0603 - Ray has one connection in a program
    key = repr((address, runtime_env, None if address else n_cpus))
    with _lock:
        if _current is None or _current[0] != key or not _current[1].is_alive:
            if _current is not None:
                _current[1].leave()
            _current = key, Cluster(address, n_cpus, runtime_env)
        return _current[1]


class Cluster:
    """A connection to Ray. One that the program has already is used, and not ended."""

    problem: RunError | None = None
    _folder: str | None = None

    def __init__(
        self, address: str | None, n_cpus: float, runtime_env: Mapping[str, Any] | None
    ) -> None:
        self._name = f"the cluster at {address}" if address else "Ray"
        known: Any = sys.modules.get("ray")
        self._is_own = known is None or not known.is_initialized()
        if self._is_own and address is None:
            self._folder = tempfile.mkdtemp(prefix="cb-ray-", dir=_SHORT)
            os.environ["RAY_TMPDIR"] = self._folder
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # components print what they print
        if {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys():
            os.environ.setdefault("RAY_AUTH_MODE", "token")  # else Ray would not show the token
        import ray  # which reads the environment now

        self.ray: Any = ray  # parts of which have no types
        if self._is_own:
            self._join(address, n_cpus, runtime_env)
        host, _, port = self.ray.get_runtime_context().gcs_address.rpartition(":")
        self._head = f"{host if self._folder is None else '127.0.0.1'}:{port}"
        self._left = threading.Event()
        atexit.register(self.leave)
        threading.Thread(target=self._watch, name="cb-ray-head", daemon=True).start()

    def _join(
        self, address: str | None, n_cpus: float, runtime_env: Mapping[str, Any] | None
    ) -> None:
        place: dict[str, Any] = {"address": address}
        if address is None:
            n_cpus = max(_count_processors(), math.ceil(n_cpus))
            place = {"address": "local", "include_dashboard": False, "num_cpus": n_cpus}
        handler = signal.getsignal(signal.SIGTERM)
        try:
            if address is not None and address != "auto":
                _knock(address)  # Ray would try for a minute
            self.ray.init(**place, runtime_env=runtime_env, logging_level="ERROR")
        except Exception as error:
            raise self._describe_refusal(error) from error
        finally:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, handler)  # Ray has set one

    def _describe_refusal(self, error: BaseException) -> RunError:
        causes = [error]
        while cause := causes[-1].__cause__ or causes[-1].__context__:
            causes.append(cause)
        if any("InvalidAuthToken" in str(one) or "uthenticat" in str(one) for one in causes):
            reason = "it wants its token, and was shown none or another"
            return RunError(f"{self._name} could not be joined: {reason}.", hint=_HOW_TO_ENTER)
        done = "joined" if self._folder is None else "started here"
        reason = " ".join(str(causes[-1]).split())[-_LONG:] or repr(causes[-1])
        hint = _REACH if self._folder is None else None
        return RunError(f"{self._name} could not be {done}: {reason}", hint=hint)

    def check(self) -> None:
        """Raise `RunError` if the head is gone."""
        if self.problem is not None:
            raise self.problem

    @property
    def is_alive(self) -> bool:
        return self.problem is None and bool(self.ray.is_initialized())

    def leave(self) -> None:
        """End the connection, and a Ray that was started here."""
        atexit.unregister(self.leave)
        self._left.set()
        if self._is_own:
            self.ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _watch(self) -> None:
        """Notice that the head is gone: calls would wait for it, and Ray would end the program."""
        seen = time.monotonic()
        while not self._left.wait(LOOK_S):
            try:
                _knock(self._head)
                seen = time.monotonic()
            except OSError as error:
                if time.monotonic() - seen > _GONE_S:
                    self.problem = RunError(
                        f"The head of {self._name} does not answer: {error}.",
                        hint="Run the same command again when it does: finished outputs are kept.",
                    )
                    self._left.wait(2 * LOOK_S)  # until no worker waits for a reply
                    self.leave()

    def count_places(self, **wanted: float) -> int:
        """How many workers fit that want so much of each resource, at least one."""
        has = self.ray.cluster_resources()
        room = [has.get(name, 0.0) // amount for name, amount in wanted.items() if amount]
        return max(1, int(min(room, default=1)))

    def describe_room(self) -> str:
        """What the cluster has, and what of it is free."""
        try:
            _knock(self._head)
        except OSError as error:
            return f"its head does not answer: {error}"
        has, free = self.ray.cluster_resources(), self.ray.available_resources()
        kinds = [
            f"{free.get(kind, 0):g} of {has.get(kind, 0):g} {kind}s" for kind in ("CPU", "GPU")
        ]
        return f"{' and '.join(kinds)} are free"


def _knock(address: str) -> None:
    """Raise OSError if the address does not answer."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_S).close()


def _count_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
