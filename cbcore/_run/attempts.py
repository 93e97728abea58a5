"""One attempt at one example: called, kept and scored.

Whatever a component does, an outcome comes of it; only the user's own interrupt passes.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from cbcore._run.calls import AsyncCaller, NoThreadError, SyncCaller
from cbcore._run.cancelling import is_cancelled
from cbcore._run.memo import Memo
from cbcore._run.scorers import Outcome, Scorer, ascore, score
from cbcore._run.tracebacks import Raised
from cbcore._run.work import Work
from cbcore.components import describe_exception


@attrs.define(eq=False, repr=False)
class Attempt:
    """Calls a system that blocks, and asks the evaluators that can score at once.

    `memo` stores the output when the call is over, and then the scores. Without a memo, an
    attempt can be sent to another process.
    """

    called: SyncCaller
    scorers: Sequence[Scorer]
    memo: Memo | None = None

    def __call__(self, work: Work) -> Outcome:
        try:
            outcome = self.called(work)
        except (KeyboardInterrupt, NoThreadError):
            raise
        except BaseException as error:  # noqa: BLE001 - the plugin boundary
            outcome = _failed(work, error)
        if self.memo is None:
            return score(outcome, self.scorers)
        self.memo.keep_output(outcome)
        return self.memo.keep(score(outcome, self.scorers))


@attrs.frozen(eq=False, repr=False)
class AwaitedAttempt:
    """Awaits a system. `memo` keeps the output when the call is over, on the event loop."""

    called: AsyncCaller
    memo: Memo | None = None

    async def __call__(self, work: Work) -> Outcome:
        try:
            outcome = await self.called(work)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the plugin boundary
            if is_cancelled(error):
                raise
            outcome = _failed(work, error)
        if self.memo is not None:
            self.memo.keep_output(outcome)
        return outcome


@attrs.frozen(eq=False, repr=False)
class Scoring:
    """Asks the evaluators that can score at once about an outcome, in any thread."""

    scorers: Sequence[Scorer]
    memo: Memo | None = None

    def __call__(self, outcome: Outcome) -> Outcome:
        score(outcome, self.scorers)
        return outcome if self.memo is None else self.memo.keep(outcome)


@attrs.frozen(eq=False, repr=False)
class Judging:
    """Asks the evaluators that wait for something about an outcome, on the event loop."""

    scorers: Sequence[Scorer]
    memo: Memo | None = None

    async def __call__(self, outcome: Outcome) -> Outcome:
        await ascore(outcome, self.scorers)
        return outcome if self.memo is None else self.memo.keep(outcome)


def _failed(work: Work, error: BaseException) -> Outcome:
    return Outcome(work, None, 0.0, describe_exception(error), raised=Raised.by(error))
