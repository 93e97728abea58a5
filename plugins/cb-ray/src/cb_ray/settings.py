"""What a run asks of Ray, as plain data that its envoy is started with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class Place:
    """Where workers run: the cluster at `address`, or one of our own in `folder`.

    `workers` is how many are asked for; None means as many as fit. Each wants `num_cpus` and
    `num_gpus`, which may be fractions. `env_file` is a file of variables on every node.
    """

    address: str | None = None
    folder: str | None = None
    workers: int | None = None
    num_cpus: float = 1.0
    num_gpus: float = 0.0
    runtime_env: Mapping[str, Any] | None = None
    env_file: str | None = None
    start_timeout_s: float = 120.0

    @property
    def wanted(self) -> str:
        """What each worker asks for, in words."""
        return amounts(self.num_cpus, self.num_gpus)


def amounts(cpus: float, gpus: float) -> str:
    """CPUs and GPUs in words; without GPUs, CPUs alone."""
    words = f"{cpus:g} CPU{'' if cpus == 1 else 's'}"
    return words if not gpus else f"{words} and {gpus:g} GPU{'' if gpus == 1 else 's'}"


@attrs.frozen
class Failure:
    """Why nothing more can be done, and what helps."""

    message: str
    hint: str | None = None
