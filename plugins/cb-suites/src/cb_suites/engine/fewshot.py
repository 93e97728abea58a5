"""Worked examples in front of a question: how many, from where, and which ones.

Which examples stand before a document depends only on the seed and on the document's place in
its split, so that a limit, another order of work or a resumed run changes no prompt.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import attrs

from cb_suites.engine.examples import require_usable
from cb_suites.engine.model import TaskConfig
from cbcore.exceptions import ConfigError, DataError
from cbcore.names import hint

DEFAULT_SEED = 1234
"""The seed of the sampler, unless a task or the run has another."""

LARGEST_POOL = 10_000
"""Examples are drawn from at most so many documents at the beginning of their split."""

SAMPLERS = ("default", "first_n")
"""`default` draws anew for each document, `first_n` takes the first of the split."""

_SETTINGS = ("sampler", "samples", "split", "seed")


@attrs.define
class FewShot:
    """Draws the worked examples of a task's documents.

    `pool` gives the documents to draw from; with `own_split` they are those that are asked.
    A document is never its own example, nor is one equal to it: files have no splits, and
    splits overlap. Examples that are `fixed` are taken as they are written.
    """

    n: int
    pool: Callable[[], Iterable[Mapping[str, Any]]]
    sampler: str = "default"
    seed: int = DEFAULT_SEED
    own_split: bool = False
    fixed: bool = False
    _documents: Sequence[Mapping[str, Any]] | None = attrs.field(default=None, init=False)

    def load(self) -> Sequence[Mapping[str, Any]]:
        """The pool, read once. One too small for any document is a `DataError` of the task."""
        if self._documents is None:
            pool = list(islice(require_usable(self.pool()), LARGEST_POOL)) if self.n else []
            self._check_enough(len(pool) - (self.own_split and self.n > 0))
            self._documents = pool
        return self._documents

    def examples(self, index: int, document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The examples for the document at this place of its split."""
        documents = self.load()
        if self.n == 0:
            return []
        usable = [i for i in range(len(documents)) if not (self.own_split and i == index)]
        chosen = self._chosen(usable, index)
        if not self.fixed and any(documents[i] == document for i in chosen):
            usable = [i for i in usable if documents[i] != document]
            chosen = self._chosen(usable, index)
        return [documents[i] for i in chosen]

    def _check_enough(self, n_usable: int) -> None:
        if n_usable < self.n:
            raise DataError(
                f"{self.n} few-shot examples are asked for, and there are {n_usable}",
                hint="lower num_fewshot, or name another fewshot_split",
            )

    def _chosen(self, usable: Sequence[int], index: int) -> Sequence[int]:
        self._check_enough(len(usable))
        if self.sampler == "first_n":
            return usable[: self.n]
        draw = random.Random(f"{self.seed}:{index}")  # noqa: S311 - reproducible, not secret
        return draw.sample(usable, self.n)


def few_shot(
    config: TaskConfig,
    documents_of: Callable[[str | None], Iterable[Mapping[str, Any]]],
    seed: int | None = None,
) -> FewShot:
    """The sampler that a task asks for. `documents_of` gives the documents of a split.

    The task's own seed comes before that of the run.
    """
    settings = dict(config.fewshot_config)
    where = str(config.origins.get("fewshot_config", config.origin))
    for key in settings:
        if key not in _SETTINGS:
            raise ConfigError(
                where,
                f"fewshot_config has no key {key!r}",
                hint=hint(str(key), _SETTINGS, f"keys: {', '.join(_SETTINGS)}"),
            )
    sampler = settings.get("sampler", "default")
    if sampler not in SAMPLERS:
        raise ConfigError(
            where,
            f"there is no sampler {sampler!r}",
            hint=hint(str(sampler), SAMPLERS, f"samplers: {', '.join(SAMPLERS)}"),
        )
    samples = settings.get("samples")
    split = settings.get("split") or config.fewshot_split
    chosen_seed = next(
        s for s in (config.seed, settings.get("seed"), seed, DEFAULT_SEED) if s is not None
    )
    if not isinstance(chosen_seed, int):
        raise ConfigError(where, f"fewshot_config.seed is a whole number, not {chosen_seed!r}")
    if samples is not None:
        # Written down by hand, they are meant in the order in which they stand.
        pool = _fixed(samples, where)
        return FewShot(config.num_fewshot or 0, pool, "first_n", fixed=True)
    own_split = split is None or split == config.split
    return FewShot(
        config.num_fewshot or 0,
        lambda: documents_of(config.split if own_split else split),
        str(sampler),
        chosen_seed,
        own_split,
    )


def _fixed(samples: Any, where: str) -> Callable[[], Iterable[Mapping[str, Any]]]:
    if callable(samples):
        return samples  # type: ignore[no-any-return]
    if isinstance(samples, list | tuple) and all(isinstance(s, Mapping) for s in samples):
        return lambda: samples
    raise ConfigError(where, "fewshot_config.samples is a list of documents, or a function of none")
