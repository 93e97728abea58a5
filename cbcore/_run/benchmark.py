"""A dataset with the evaluators that score it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from cbcore._run.scorers import Scorer
from cbcore._run.work import Replayable


@attrs.frozen(eq=False, repr=False)
class Benchmark:
    """A dataset with the evaluators that score its outputs.

    - `name`: the dataset of its rows.
    - `pooled`: evaluators that score all repeats of an example together.
    - `repeats`: used instead of those of the run.
    - `main_score`: the score that quality means here.
    - `record`: the dataset's record in the result.
    - `required`: if False, data that fails ends this benchmark alone. Ids of its examples may come
      twice, and its rows need not have the main score of the run.
    - `place`: its position in the run, which `compose` sets.
    """

    name: str
    examples: Iterable[Any]
    scorers: Sequence[Scorer] = ()
    repeats: int | None = None
    pooled: Sequence[Scorer] = ()
    main_score: str | None = None
    record: Mapping[str, Any] = attrs.Factory(dict)
    required: bool = True
    place: int = 0

    def for_system(self, name: str) -> Benchmark:
        """This benchmark with its evaluators as they score one system's rows."""
        return attrs.evolve(
            self,
            scorers=[scorer.for_system(name) for scorer in self.scorers],
            pooled=[scorer.for_system(name) for scorer in self.pooled],
        )

    def expected_score(self, main: str | None) -> str | None:
        """The run's main score, if every row of this benchmark should have it; else None.

        Nothing can be expected of repeats that are scored together, and of an evaluator that does
        not declare its scores.
        """
        if any(main in scorer.emits for scorer in self.scorers):
            return None if self.pooled else main
        is_declared = bool(self.scorers) and all(scorer.emits for scorer in self.scorers)
        return main if is_declared and self.required else None


@contextlib.contextmanager
def replayed(
    benchmarks: Sequence[Benchmark], *, limit: int | None, passes: int
) -> Iterator[list[Replayable]]:
    """The examples of each benchmark, which can be gone through so many times."""
    with contextlib.ExitStack() as spools:
        yield [
            spools.enter_context(
                contextlib.closing(Replayable(benchmark.examples, limit=limit, passes=passes))
            )
            for benchmark in benchmarks
        ]
