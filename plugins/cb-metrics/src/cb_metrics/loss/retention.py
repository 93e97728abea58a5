"""How much of the gold evidence the sent context still has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cb_metrics.loss.evidence import evidence_of
from cb_metrics.loss.matching import Change
from cbcore.contexts import context_of
from cbcore.results import Scored

_MOST_SHOWN = 160
_NO_EVIDENCE = (
    "no evidence is known: the example names none, and its context contains the answer nowhere, or "
    "in very many sentences"
)


@attrs.frozen(eq=False)
class ContextRetention:
    """The share of the gold evidence that the sent context still has.

    Evidence are the sentences of `supporting_facts`, `reference_contexts` or `evidence`, or else
    the sentences of the context that contain the answer. A sentence counts as kept if it is there
    whole after normalization: case, accents, white space and punctuation do not matter.

    The score is missing if the example names no evidence, if the system does not return the
    context it sent, and if the system rewrote the context or cut words out of it, so that a
    sentence which is not found may be there in other words. The row's details have the `state` of
    the evidence: kept, lost or unknown.
    """

    name = "context_retention"
    emits = ("context_retention",)
    applies_to = ("*",)
    automatic = True
    needs = ("context",)
    needs_output = ("context",)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """The score. It is missing if evidence or sent context are not known."""
        before = context_of(original)
        if before is None:
            return Scored({}, {self.name: "the example has no context as text"})
        after = context_of(processed)
        if after is None:
            return Scored({}, {self.name: "the system does not return the context that it sent"})
        evidence = evidence_of(original, before)
        if evidence is None:
            return Scored({}, {self.name: _NO_EVIDENCE})
        n_pieces = len(evidence.pieces)
        details = {"evidence": evidence.source, "pieces": n_pieces, "kept": n_pieces}
        if after == before:
            return Scored({self.name: 1.0}, details={**details, "state": "kept"})
        change = Change(before, after)
        kept = evidence.find_kept(change)
        details |= {"kept": sum(kept), "state": evidence.find_state(change, kept)}
        if not all(kept):
            details["first_not_found"] = evidence.pieces[kept.index(False)].text[:_MOST_SHOWN]
            if not change.keeps_runs and details["state"] != "lost":
                told = f"{n_pieces - sum(kept)} of {n_pieces} sentences may be there in other words"
                return Scored({}, {self.name: f"the context was rewritten: {told}"}, details)
        return Scored({self.name: sum(kept) / n_pieces}, details=details)
