"""How much of the evidence is left in what a system passed on."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from cb_loss.evidence import evidence_of, words
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored

LEAST_LIKE = 0.75
"""A piece of which fewer words stand together is gone, whatever else is there."""

_MOST_SHOWN = 160
_FILLERS = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his i in into is "  # noqa: SIM905
    "it its of on or she so that the their them they this to was we were which who will with you".split()
)
"""Words that carry no fact; compressors drop them first."""


@attrs.frozen(eq=False)
class ContextRetention:
    """The share of the gold evidence that survived in the context which the system passed on.

    Evidence are the sentences of `supporting_facts`, `reference_contexts` or `evidence`, or else
    the answer's own text where it stands in the context. A piece that is still there word for
    word counts 1, case and punctuation aside. One that was rewritten counts the share of its
    words, fillers aside, that still stand together, if that is at least `least_like`; below, it
    counts 0 and is lost. The row keeps how many pieces there are and which were lost.

    There is no score where nothing is known of the evidence, nor where the system does not show
    the context that it passed on.
    """

    name = "context_retention"
    emits = ("context_retention",)
    applies_to = ("*",)
    needs = ("context",)
    needs_output = ("context",)

    least_like: float = LEAST_LIKE

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """The score. Raises `MissingScoreError` where evidence or context are not known."""
        before = _text(original.get("context"), "the example has no context as text")
        after = _text(
            processed.get("context", processed.get("contexts")),
            "the system does not show the context that it passed on",
        )
        evidence = evidence_of(original, before)
        if evidence is None:
            raise MissingScoreError(
                "nothing is known of the evidence: no supporting facts, no reference contexts, "
                "and the answer does not stand in the context"
            )
        kept = (
            [1.0] * len(evidence.pieces)
            if after == before
            else [self._kept(piece, after) for piece in _Passed.over(evidence.pieces, after)]
        )
        lost = [p for p, share in zip(evidence.pieces, kept, strict=True) if not share]
        details = {"evidence": evidence.source, "pieces": len(kept), "lost": len(lost)}
        if lost:
            details["first_lost"] = lost[0][:_MOST_SHOWN]
        return Scored({"context_retention": sum(kept) / len(kept)}, details=details)

    def _kept(self, piece: _Passed, after: str) -> float:
        if piece.is_whole:
            return 1.0
        share = piece.best_share()
        return share if share >= self.least_like else 0.0


def _text(value: Any, reason: str) -> str:
    if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
        return "\n".join(value)
    if not isinstance(value, str):
        raise MissingScoreError(reason)
    return value


class _Passed(NamedTuple):
    """A piece of evidence beside the words of a context."""

    is_whole: bool
    wanted: Counter[str]
    context: Sequence[str]

    @classmethod
    def over(cls, pieces: Sequence[str], context: str) -> list[_Passed]:
        said = words(context)
        joined = f" {' '.join(said)} "
        telling = [word for word in said if word not in _FILLERS]
        found = []
        for piece in pieces:
            own = words(piece)
            wanted = Counter([w for w in own if w not in _FILLERS] or own)
            found.append(cls(f" {' '.join(own)} " in joined, wanted, telling))
        return found

    def best_share(self) -> float:
        """The largest share of its words in any stretch of the context about as long as it."""
        n_wanted = self.wanted.total()
        stretch: deque[str] = deque()
        inside: Counter[str] = Counter()
        matched = best = 0
        for word in self.context:
            stretch.append(word)
            inside[word] += 1
            matched += inside[word] <= self.wanted[word]
            if len(stretch) > n_wanted + n_wanted // 2 + 2:
                gone = stretch.popleft()
                matched -= inside[gone] <= self.wanted[gone]
                inside[gone] -= 1
            best = max(best, matched)
        return best / n_wanted
