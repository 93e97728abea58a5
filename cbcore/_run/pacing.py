"""How many examples go to a worker together, and how long it may take over them."""

from __future__ import annotations

import math

import attrs

WORTH_SENDING_S = 0.1
"""What a batch should take: long beside the cost of sending it, short beside losing it."""
MOST_EXAMPLES = 256
MOST_BYTES = 1_000_000
"""A batch has no more than that of either; an example that is larger goes alone."""
LONGEST_BATCH_S = 1.0
"""A worker that has worked on a batch for so long begins no other example of it."""
LONGEST_CALL_S = 3600.0
"""How long an example is waited for where nobody said how long a call may take."""

_GROWS = 4
_RECENT = 0.3
_SILENT_S = 60.0
_UNUSUAL = 10


@attrs.define
class Pace:
    """The size of the next batch, by what examples took so far. `width` run at once in a worker."""

    width: int = 1
    _example_s: float | None = None
    _size: int = 0

    @property
    def size(self) -> int:
        """How many examples to send together: as many as take a moment, and none waits long."""
        return max(self._size, self.width)

    def learn(self, n_examples: int, took_s: float) -> None:
        """Take into account that so many took so long, in a worker."""
        if n_examples <= 0:
            return
        each = max(took_s, 0.0) / n_examples
        known = self._example_s
        # One that is slower than was thought counts at once: others may wait for it.
        slower = known is None or each > known
        self._example_s = each if slower else known + _RECENT * (each - known)  # type: ignore[operator]
        wanted = WORTH_SENDING_S / self._example_s if self._example_s else MOST_EXAMPLES
        self._size = max(1, int(min(wanted, _GROWS * self.size, MOST_EXAMPLES)))


@attrs.define
class Patience:
    """How long the reply to a batch is waited for, and when that is worth a word.

    A worker ends a call that takes longer than `timeout_s` itself where it can, and begins no
    other behind it. What is left is the call that cannot be ended, which holds its whole process,
    and scoring, for which nobody gave a limit: what it took so far, several times over. Where
    calls have no limit either, one has `LONGEST_CALL_S`: nothing is waited for for ever. Several
    are sent together only if they are quick, so that they have until it is unusual, and are then
    sent one by one; those that overlap in a worker are dear, and have the time of one.
    """

    timeout_s: float | None
    width: int = 1
    scores: bool = False
    slack_s: float = 5.0
    scoring_s: float = 60.0
    _longest_scoring_s: float = 0.0
    _longest_reply_s: float = 0.0
    _silent_s: float = _SILENT_S

    @property
    def limit_s(self) -> float:
        """How long a call may take."""
        return LONGEST_CALL_S if self.timeout_s is None else self.timeout_s

    def learn(self, scoring_s: float, reply_s: float = 0.0) -> None:
        """Take into account how long scoring an example took, and the reply to its batch."""
        self._longest_scoring_s = max(self._longest_scoring_s, scoring_s)
        self._longest_reply_s = max(self._longest_reply_s, reply_s)

    def is_unusual(self, waited_s: float) -> bool:
        """Whether a reply is out for so long that the user should know of it."""
        return waited_s >= max(self._silent_s, self._unusual_s)

    @property
    def _unusual_s(self) -> float:
        return max(_SILENT_S, _UNUSUAL * self._longest_reply_s)

    def told(self) -> None:
        """The user knows: the next time is when it took twice as long."""
        self._silent_s *= 2

    def for_batch(self, n_examples: int) -> float:
        if self.timeout_s is None:
            alone_s = LONGEST_CALL_S if n_examples == 1 or self.width > 1 else self._unusual_s
            return max(alone_s, 4 * self._longest_scoring_s * n_examples)
        # One call at a time: what was begun before the worker would stop, and the last. Several
        # at a time: as many rounds of them as are begun at once; see `executors`.
        rounds = 1 if self.width == 1 else min(math.ceil(n_examples / self.width), 5)
        begun_s = min(self.timeout_s, LONGEST_BATCH_S)
        scoring_s = 0.0
        if self.scores:
            scoring_s = self.scoring_s + 4 * self._longest_scoring_s * n_examples
        return begun_s + rounds * self.timeout_s + scoring_s + self.slack_s
