"""Starting Ray here or joining a cluster, and saying in words why that failed."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import ray

from cb_ray.settings import Failure, Place, amounts

_ray: Any = ray  # parts of which have no types
_QUIET: Mapping[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}

_UNNEEDED = ("start_monitor", "start_log_monitor", "start_api_server")
"""What adds nodes as they are wanted, brings logs to a terminal, and answers for a dashboard."""
_LONG = 500
_KNOCK_S = 10.0
_HOW_TO_ENTER = (
    "set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to the file that holds the cluster's token; "
    "with the token in ~/.ray/auth_token set RAY_AUTH_MODE=token"
)
_REACH = (
    "is `ray start --head` running there, and is this machine one of its nodes? From elsewhere use "
    "`ray job submit`"
)


def connect(place: Place) -> Failure | None:
    """Start or join; None when this process is part of a cluster now."""
    try:
        if place.address is None:
            _start(place)
        else:
            _knock(place.address)
            ray.init(address=place.address, runtime_env=_environment(place), **_QUIET)
    except Exception as error:  # noqa: BLE001 - whatever it is, the user has to hear of it
        return _refused(place, error)
    return None


def _knock(address: str) -> None:
    """Raise OSError where nothing listens; Ray would try for a minute, and not say that."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_S).close()


def _start(place: Place) -> None:
    _leave_out()
    wanted = (place.workers or 1) * place.num_cpus
    ray.init(
        address="local",
        # As many as were asked for by number, however few cores there are.
        num_cpus=max(_cores(), -int(-wanted // 1)),
        include_dashboard=False,
        runtime_env=_environment(place),
        _temp_dir=f"{place.folder}/r",  # which Ray opens to everybody; the folder itself stays ours
        **_QUIET,
    )


def _leave_out() -> None:
    """Let a Ray of our own be started without what only a cluster needs.

    Nothing asks for less of it by a setting, and these take a good third of its start. A Ray that
    knows no such names starts them.
    """
    with contextlib.suppress(ImportError):
        from ray._private.node import Node

        for name in _UNNEEDED:
            if hasattr(Node, name):
                setattr(Node, name, lambda *_, **__: None)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _environment(place: Place) -> dict[str, Any] | None:
    return dict(place.runtime_env) if place.runtime_env else None


def _refused(place: Place, error: Exception) -> Failure:
    chain = list(_chain(error))
    cause = " ".join(str(chain[-1]).split())
    if place.address is None:
        return Failure(f"Ray could not be started here: {cause[-_LONG:] or repr(error)}")
    told = f"the cluster at {place.address} could not be joined"
    if any("InvalidAuthToken" in str(one) or "uthenticat" in str(one) for one in chain):
        return Failure(f"{told}: it wants its token, and was shown none or another", _HOW_TO_ENTER)
    if "ersion mismatch" in cause:
        hint = "use the cluster's versions of Python and Ray here"
        return Failure(f"{told}: {cause[:_LONG]}", hint)
    return Failure(f"{told}: {cause[-_LONG:] or repr(error)}", _REACH)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def places(place: Place) -> int:
    """How many workers fit into all nodes that are alive, at least one."""
    fit = 0
    for node in _alive(_ray.nodes()):
        has = node.get("Resources", {})
        room = [has.get("CPU", 0.0) // place.num_cpus] if place.num_cpus else []
        room += [has.get("GPU", 0.0) // place.num_gpus] if place.num_gpus else []
        fit += int(min(room, default=1))
    return max(1, fit)


def _alive(nodes: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    return (node for node in nodes if node.get("Alive"))


def described() -> str:
    """What the cluster has, and what of it is free, in words. Waits for a head that is gone."""
    has, free = _ray.cluster_resources(), _ray.available_resources()
    return (
        f"the cluster has {amounts(has.get('CPU', 0), has.get('GPU', 0))}, of which "
        f"{amounts(free.get('CPU', 0), free.get('GPU', 0))} are free"
    )
