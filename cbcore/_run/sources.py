"""What a run reads its examples from: datasets with the scorers that judge their outputs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from cbcore._run.scorers import Scorer
from cbcore._run.work import Replayable


@attrs.frozen(eq=False, repr=False)
class Source:
    """A dataset with the scorers of its outputs.

    `pooled` ones score all repeats of an example together. `repeats` of its own go before
    those of the run. When the data of a `contained` source fails, the others still run; nobody
    promised that the ids of its examples are unique.
    """

    tag: str
    examples: Iterable[Any]
    scorers: Sequence[Scorer] = ()
    repeats: int | None = None
    pooled: Sequence[Scorer] = ()
    # What this changes: a `DataError` or `UsageError` while it is read ends this source alone,
    # also for the systems that follow, instead of the run (`Run._collect_contained`); an id that
    # comes again gets its position added instead of being refused (`number`); and its rows need
    # not have the run's main score (`expected_score`).
    contained: bool = False
    # Its place among the sources of the run, which `compose` says; tags may come twice.
    place: int = 0

    def for_system(self, name: str) -> Source:
        """This source with its scorers as they score one system's rows."""
        return attrs.evolve(
            self,
            scorers=[scorer.for_system(name) for scorer in self.scorers],
            pooled=[scorer.for_system(name) for scorer in self.pooled],
        )

    def expected_score(self, main: str | None) -> str | None:
        """The run's main score, where every row of this source should have it; else None.

        Contained sources are judged by scores of their own, repeats that are scored together have
        one row with scores, and of an evaluator that does not say what it emits nothing can be
        expected.
        """
        if any(main in scorer.emits for scorer in self.scorers):
            return None if self.pooled else main
        said = bool(self.scorers) and all(scorer.emits for scorer in self.scorers)
        return main if said and not self.contained else None


@contextlib.contextmanager
def replayed(
    sources: Sequence[Source], *, limit: int | None, passes: int
) -> Iterator[list[Replayable]]:
    """The examples of each source, which can be gone through so many times."""
    with contextlib.ExitStack() as spools:
        yield [
            spools.enter_context(
                contextlib.closing(Replayable(source.examples, limit=limit, passes=passes))
            )
            for source in sources
        ]
