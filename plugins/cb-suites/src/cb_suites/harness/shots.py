"""Worked examples as the harness draws them: one generator for all documents of a task, in order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from cbcore.exceptions import ConfigError, DataError
from cbcore.names import hint

DEFAULT_SEED = 1234
"""The seed that the harness has, unless it is told another."""

SAMPLERS = ("default", "first_n")


class Sampler:
    """Draws the examples of one document after another, which they depend on.

    Each pass over a task's documents has a sampler of its own.
    """

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
        if self._first:
            pool = [one for one in self._pool if unlike is None or one != unlike]
            self._check(len(pool), n)
            return pool[:n]
        wanted = n if not unlike else n + 1
        self._check(len(self._pool), wanted)
        drawn = self._draw.sample(self._pool, wanted)
        if not unlike:
            return drawn
        drawn = [one for one in drawn if one != unlike][:n]
        if len(drawn) < n:
            pool = [one for one in self._pool if one != unlike]
            self._check(len(pool), n)
            drawn = self._draw.sample(pool, n)
        return drawn

    @staticmethod
    def _check(n_there: int, wanted: int) -> None:
        if n_there < wanted:
            raise DataError(
                f"{wanted} few-shot examples are to be drawn, and there are {n_there}",
                hint="lower num_fewshot, or name another fewshot_split",
            )


class OwnSampler:
    """A sampler class that lies beside the task, asked as the harness asks it."""

    def __init__(self, kind: type, pool: Sequence[Mapping[str, Any]], seed: int) -> None:
        self._sampler = kind(list(pool), rnd=None)
        self._sampler.set_rnd(seed)

    def sample(self, n: int, unlike: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
        """So many documents, as the class chooses them."""
        return list(self._sampler.sample(n=n, eval_doc=unlike)) if n else []


def make_sampler(
    named: Any, pool: Sequence[Mapping[str, Any]], seed: int, where: str
) -> Sampler | OwnSampler:
    """The sampler that a task names, or a class of its own."""
    if isinstance(named, type):
        return OwnSampler(named, pool, seed)
    check_sampler(named, where)
    return Sampler(pool, named, seed)


def check_sampler(named: Any, where: str) -> None:
    """Refuse a sampler that there is not."""
    if isinstance(named, str) and named not in SAMPLERS:
        raise ConfigError(
            where,
            f"there is no sampler {named!r}",
            hint=hint(named, SAMPLERS, f"samplers: {', '.join(SAMPLERS)}"),
        )
