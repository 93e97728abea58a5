"""Few-shot examples as the harness draws them: one generator for all documents of a task, in order.

Each pass over a task's documents begins with the seed anew, so that a limit or a resumed run
changes no prompt.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from cb_suites.engine.model import TaskConfig
from cbcore.exceptions import ConfigError, DataError
from cbcore.names import hint

DEFAULT_SEED = 1234
"""The seed of the harness, unless a task or the run has another."""

SAMPLERS = ("default", "first_n")
_OWN_KEYS = (
    *("sampler", "samples", "split", "seed", "process_docs", "doc_to_text", "doc_to_target"),
    *("doc_to_choice", "target_delimiter", "fewshot_delimiter"),
)


class Sampler:
    """Draws the examples of one document after another, which they depend on."""

    def __init__(
        self, pool: Sequence[Mapping[str, Any]], sampler: Any = "default", seed: int = DEFAULT_SEED
    ) -> None:
        self._pool = list(pool)
        self._first = sampler == "first_n"
        self._draw = random.Random(seed)  # noqa: S311 - reproducible, not secret

    def sample(self, n: int, unlike: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
        """So many documents; none of them equal to `unlike`."""
        if n == 0:
            return []
        pool = self._pool
        if not self._first:
            wanted = n + 1 if unlike else n
            drawn = self._draw.sample(pool, min(wanted, len(pool)))
            drawn = [one for one in drawn if not unlike or one != unlike]
            if len(drawn) >= n:
                return drawn[:n]
        pool = [one for one in pool if unlike is None or one != unlike]
        if len(pool) < n:
            raise DataError(
                f"{n} few-shot examples are asked for, and there are {len(pool)}",
                hint="lower num_fewshot, or name another fewshot_split",
            )
        return pool[:n] if self._first else self._draw.sample(pool, n)


class OwnSampler:
    """A sampler class that lies beside the task, asked as the harness asks it."""

    def __init__(self, kind: type, pool: Sequence[Mapping[str, Any]], seed: int) -> None:
        self._sampler = kind(list(pool), rnd=None)
        self._sampler.set_rnd(seed)

    def sample(self, n: int, unlike: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
        """So many documents, as the class chooses them."""
        return list(self._sampler.sample(n=n, eval_doc=unlike)) if n else []


def make_sampler(
    config: TaskConfig, pool: Sequence[Mapping[str, Any]], seed: int
) -> Sampler | OwnSampler:
    """The sampler that a task names, or a class of its own."""
    named = config.fewshot_config.get("sampler", "default")
    if isinstance(named, type):
        return OwnSampler(named, pool, seed)
    if config.harness is None and config.fewshot_config.get("samples") is not None:
        named = "first_n"  # written down by hand, they are meant in their order
    return Sampler(pool, named, seed)


def check_fewshot(config: TaskConfig) -> None:
    """Refuse a sampler, a key or a seed that there is not."""
    given = config.fewshot_config
    where = str(config.origins.get("fewshot_config", config.origin))
    for key in given if config.harness is None else ():
        if key not in _OWN_KEYS:
            raise ConfigError(
                where,
                f"fewshot_config has no key {key!r}",
                hint=hint(str(key), _OWN_KEYS, f"keys: {', '.join(_OWN_KEYS)}"),
            )
    named = given.get("sampler")
    if isinstance(named, str) and named not in SAMPLERS:
        raise ConfigError(
            where,
            f"there is no sampler {named!r}",
            hint=hint(named, SAMPLERS, f"samplers: {', '.join(SAMPLERS)}"),
        )
    if not isinstance(given.get("seed"), int | None):
        raise ConfigError(where, f"fewshot_config.seed is a whole number, not {given['seed']!r}")


def choose_seed(config: TaskConfig, of_run: int | None) -> int:
    """The seed of a task: its own before that of the run."""
    seeds = (config.seed, config.fewshot_config.get("seed"), of_run, DEFAULT_SEED)
    return next(int(seed) for seed in seeds if seed is not None)
