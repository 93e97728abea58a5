"""The executor `ray`: its parameters, and the checks on them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbcore.binding import Trusted
from cbcore.secrets import Secret, is_secret_name

if TYPE_CHECKING:
    from cb_ray.workers import RayPool


class RayExecutor:
    """Runs systems and evaluators on Ray: on this machine, or on a cluster.

    Without `address` and `RAY_ADDRESS` a Ray is started here, without dashboard, usage statistics
    and access for others. It ends with the program. `auto` joins the one that runs on this machine.
    `workers` is how many processes there are, unless given as many as the cluster has room for
    with `num_cpus` and `num_gpus` each; if `--concurrency` is less, it counts. `runtime_env` is
    Ray's, as a mapping, as JSON, or the name of a YAML or JSON file. Keys are in the environment of
    workers: a Ray that is started here has that of the run, and nodes of a cluster have their own,
    or an `env_file` with variables, a file that is on every node. Keys are never sent, since Ray
    writes what is sent, and what is in `runtime_env`, into its logs. `start_timeout_s` is how long
    a run waits while no worker is ready.
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
                raise ValueError(f"{name} must be 0 or more, not {value}")
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be 1 or more, not {workers}")
        if start_timeout_s <= 0:
            raise ValueError(f"start_timeout_s must be positive, not {start_timeout_s}")
        self.address = _find_address(address)
        self.workers = workers
        self.num_cpus = num_cpus
        self.num_gpus = num_gpus
        self.runtime_env = _read_runtime_env(runtime_env)
        if env_file is not None and not env_file.startswith("~"):  # which is the node's
            env_file = str(Path(env_file).absolute())  # workers have folders of their own
        self.env_file = env_file
        self.start_timeout_s = start_timeout_s

    def open(self, worker: bytes, *, workers: int | None) -> RayPool:
        """A pool of actors on the Ray of this program, which is started or joined first."""
        from cb_ray.cluster import connect

        asked = [n for n in (self.workers, workers) if n is not None]
        n_workers = min(asked, default=None)
        n_cpus = (n_workers or 1) * self.num_cpus
        cluster = connect(self.address, n_cpus=n_cpus, runtime_env=self.runtime_env)
        if n_workers is None:
            n_workers = cluster.count_places(CPU=self.num_cpus, GPU=self.num_gpus)
        from cb_ray.workers import RayPool  # which imports Ray

        return RayPool(self, cluster, worker, n_workers)


def _find_address(given: str | None) -> str | None:
    """Where the cluster is. None means a Ray of our own."""
    address = given or os.environ.get("RAY_ADDRESS") or None
    if address is not None and "://" in address:
        raise ValueError(
            f"{address} cannot be joined: give HOST:PORT of the head, usually port 6379, on a "
            "machine that is one of its nodes; from elsewhere use `ray job submit`"
        )
    return None if address == "local" else address


def _read_runtime_env(given: Mapping[str, Any] | str | None) -> Mapping[str, Any] | None:
    value: Any = given
    if isinstance(given, str):
        import yaml

        try:
            is_text = given.lstrip().startswith("{")
            value = yaml.safe_load(given if is_text else Path(given).read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as error:  # YAML includes JSON
            raise ValueError(f"runtime_env cannot be read: {error}") from error
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise TypeError(f"runtime_env must be a mapping, not {type(value).__name__}")
    for name, text in (value.get("env_vars") or {}).items():
        if isinstance(text, Secret) or is_secret_name(name):
            raise ValueError(
                f"runtime_env would write {name} into Ray's logs: set it on the nodes, or put it "
                "into a file there and name that as env_file"
            )
    return value
