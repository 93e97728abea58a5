"""The executor `ray`: what can be asked of it, and the checks on that."""

from __future__ import annotations

import json
import os
import secrets
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cb_ray.settings import Place
from cbcore.binding import Trusted
from cbcore.secrets import Secret, is_secret_name

if TYPE_CHECKING:
    from cb_ray.crew import RayCrew
    from cb_ray.link import Link
    from cbcore.workers import Recipe

_SHORT = "/tmp"  # noqa: S108 - a folder of our own in it; the paths of Ray's sockets have to be short

_LATE_S = 30.0
"""How much longer a run waits for workers than their crew does, which can say what is missing."""


class RayExecutor:
    """Runs systems and evaluators on Ray: on this machine, or on a cluster.

    Without `address` and `RAY_ADDRESS` a Ray is started here for the run, without dashboard,
    usage statistics and access for others; `auto` joins the one that runs on this machine.
    `workers` is how many processes there are, unless given as many as the cluster has room for
    with `num_cpus` and `num_gpus` each; where `--concurrency` is less, it counts. `runtime_env` is Ray's, as a mapping, as JSON, or the
    name of a YAML or JSON file. Keys are in the environment of workers: a Ray that is started here
    has that of the run, and nodes of a cluster have their own, or an `env_file` with variables,
    a file that is on every node. They are never sent: what is, and what is in `runtime_env`, Ray
    writes into its logs. `start_timeout_s` is how long a run waits while no worker is ready.
    """

    name = "ray"

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int | None = None,
        num_cpus: float = 1.0,
        num_gpus: float = 0.0,
        runtime_env: Trusted[Mapping[str, Any] | str | None] = None,
        env_file: Trusted[str | None] = None,
        start_timeout_s: float = 120.0,
    ) -> None:
        for name, value in (("num_cpus", num_cpus), ("num_gpus", num_gpus)):
            if value < 0:
                raise ValueError(f"{name} has to be 0 or more, not {value}")
        if workers is not None and workers < 1:
            raise ValueError(f"workers has to be 1 or more, not {workers}")
        if start_timeout_s <= 0:
            raise ValueError(f"start_timeout_s has to be positive, not {start_timeout_s}")
        self.address = _address(address)
        self.workers = workers
        self.num_cpus = num_cpus
        self.num_gpus = num_gpus
        self.runtime_env = _runtime_env(runtime_env)
        self.env_file = _absolute(env_file)
        self._start_timeout_s = start_timeout_s
        self.start_timeout_s = start_timeout_s + _LATE_S
        self._lock = threading.Lock()
        self._link: Link | None = None

    def open(self, recipe: Recipe, *, workers: int | None) -> RayCrew:
        """A crew on the Ray of this executor, which is started or joined with the first."""
        from cb_ray.crew import RayCrew

        wanted = min((n for n in (self.workers, workers) if n is not None), default=None)
        with self._lock:
            link = self._linked(wanted)
        return RayCrew(link, recipe, size=wanted or link.places)

    def _linked(self, wanted: int | None) -> Link:
        from cb_ray.link import Link

        if self._link is None or not self._link.is_alive:
            address = self.address or _joined_already()
            place = Place(
                address=address,
                folder=_folder() if address is None else None,
                workers=wanted,
                num_cpus=self.num_cpus,
                num_gpus=self.num_gpus,
                runtime_env=self.runtime_env,
                env_file=self.env_file,
                start_timeout_s=self._start_timeout_s,
            )
            self._link = Link(place, _own_access() if address is None else _given_access())
        return self._link


def _address(given: str | None) -> str | None:
    """Where the cluster is; None for a Ray of our own."""
    address = given or os.environ.get("RAY_ADDRESS") or None
    if address is not None and "://" in address:
        raise ValueError(
            f"{address} cannot be joined: give HOST:PORT of the head, usually port 6379, on a "
            "machine that is one of its nodes; from elsewhere use `ray job submit`"
        )
    return None if address == "local" else address


def _joined_already() -> str | None:
    """The cluster that this program itself has joined, if it uses Ray."""
    ray = sys.modules.get("ray")
    if ray is None or not getattr(ray, "is_initialized", bool)():
        return None
    return str(ray.get_runtime_context().gcs_address)


def _runtime_env(given: Mapping[str, Any] | str | None) -> Mapping[str, Any] | None:
    value: Any = given
    if isinstance(given, str):
        value = _parsed(given) if given.lstrip().startswith("{") else _read(Path(given))
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise TypeError(f"runtime_env has to be a mapping, not {type(value).__name__}")
    for name, text in (value.get("env_vars") or {}).items():
        if isinstance(text, Secret) or is_secret_name(name):
            raise ValueError(
                f"runtime_env would write {name} into Ray's logs: set it on the nodes, or put it "
                "into a file there and name that as env_file"
            )
    return value


def _absolute(path: str | None) -> str | None:
    """A file by its whole name, since workers have folders of their own; `~` is the node's."""
    return path if path is None or path.startswith("~") else str(Path(path).absolute())


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"runtime_env is not JSON: {error}") from error


def _read(path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))  # which JSON is, too
    except OSError as error:
        raise ValueError(f"runtime_env: {path} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"runtime_env: {path} is not YAML: {error}") from error


def _folder() -> str:
    return tempfile.mkdtemp(prefix="cb-ray-", dir=_SHORT if Path(_SHORT).is_dir() else None)


def _own_access() -> dict[str, str]:
    """The environment of a Ray of our own: a token that nobody else has, and no statistics."""
    own = {"RAY_USAGE_STATS_ENABLED": "0"}
    if "RAY_AUTH_MODE" not in os.environ:
        own |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return own


def _given_access() -> dict[str, str]:
    """Ray shows a token at an address that it is given only where the mode says so."""
    has_token = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & set(os.environ)
    wanted = has_token and "RAY_AUTH_MODE" not in os.environ
    return {"RAY_USAGE_STATS_ENABLED": "0"} | ({"RAY_AUTH_MODE": "token"} if wanted else {})
