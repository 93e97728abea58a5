"""What was found, compared by ids with what the answer rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from cb_memory.examples import HISTORY
from cbcore.exceptions import MissingScoreError
from cbcore.memory import ConversationTurn, History
from cbcore.protocols import Scores

Level = Literal["turn", "session"]

_CUT = "what was found carries no ids of what it was made from: this cannot be measured"


class Evidence:
    """Was the evidence found, and does it stand first? By ids, without a model.

    `evidence_recall` is the share of the evidence that is among what was found, `evidence_all`
    whether all of it is, and `evidence_ndcg` the normalized discounted cumulative gain (Järvelin
    and Kekäläinen, 2002) of the ranking. With `k`, only the first `k` count. A question without
    evidence is not scored, nor is what carries no ids.
    """

    name = "evidence"
    emits = ("evidence_recall", "evidence_all", "evidence_ndcg")
    applies_to = ("memory",)
    needs = ("evidence",)
    needs_output = ("contexts",)
    reads = ("evidence", "contexts")

    def __init__(self, k: int | None = None) -> None:
        if k is not None and k < 1:
            raise ValueError(f"k is {k}: it must be at least 1")
        self.k = k

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The scores. Raises `MissingScoreError` where there is nothing to compare."""
        gold = gold_ids(original.get("evidence"))
        ranking = found_ids(processed.get("contexts"))[: self.k]
        hits = [bool(gold & ids) for ids in ranking]
        covered = gold & {one for ids in ranking for one in ids}
        return {
            "evidence_recall": len(covered) / len(gold),
            "evidence_all": float(covered == gold),
            "evidence_ndcg": ndcg(hits, min(len(gold), self.k or len(gold))),
        }


class LongMemEvalRetrieval:
    """LongMemEval's scores of retrieval, with its own discount and its own choice of questions.

    At `level` session, a session counts as found with any of its turns, and rankings go on until
    there are `k` of them; at `level` turn, the turns of the user count. Questions that cannot be
    answered, and those without evidence in a turn of the user, are not scored, as there.
    """

    name = "longmemeval_retrieval"
    emits = ("longmemeval_recall_any", "longmemeval_recall_all", "longmemeval_ndcg")
    applies_to = ("longmemeval",)
    needs = ("evidence",)
    needs_output = ("contexts",)
    reads = ("evidence", "evidence_sessions", "abstention", "history", "contexts")

    def __init__(self, k: int = 10, level: Level = "session") -> None:
        if k < 1:
            raise ValueError(f"k is {k}: it must be at least 1")
        if level not in get_args(Level):
            raise ValueError(f"level is {level!r}: it must be turn or session")
        self.k = k
        self.level: Level = level

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The scores. Raises `MissingScoreError` for what the benchmark leaves out."""
        if original.get("abstention"):
            raise MissingScoreError("it cannot be answered, so there is nothing to be found")
        history = original.get(HISTORY)
        if not isinstance(history, History):
            raise MissingScoreError("the example has no history to look the turns up in")
        users = {item.id: item for item in history.items if _is_of_user(item)}
        evidence = gold_ids(original.get("evidence")) & users.keys()
        if not evidence:
            raise MissingScoreError("no turn of the user is evidence")
        found = [one for ids in found_ids(processed.get("contexts")) for one in ids]
        ranked = [one for one in dict.fromkeys(found) if one in users]
        gold: set[str] = set(evidence)
        if self.level == "session":
            gold = set(map(str, original.get("evidence_sessions") or ())) or {
                users[one].session for one in evidence
            }
            ranked = list(dict.fromkeys(users[one].session for one in ranked))
        top = ranked[: self.k]
        hits = [one in gold for one in top]
        return {
            "longmemeval_recall_any": float(any(hits)),
            "longmemeval_recall_all": float(gold <= set(top)),
            "longmemeval_ndcg": longmemeval_ndcg(hits, min(len(gold), self.k)),
        }


def ndcg(hits: Sequence[bool], n_gold: int) -> float:
    """Σ relᵢ / log₂(i + 1) over the ranking, divided by that of the best ranking there is."""
    return _gain(hits) / _gain([True] * n_gold) if n_gold else 0.0


def longmemeval_ndcg(hits: Sequence[bool], n_gold: int) -> float:
    """With rel₁ + Σ_{i ≥ 2} relᵢ / log₂ i: the first two ranks count alike."""
    ideal = _late_gain([True] * n_gold)
    return _late_gain(hits) / ideal if ideal else 0.0


def _gain(hits: Iterable[bool]) -> float:
    return sum(1 / math.log2(rank + 1) for rank, hit in enumerate(hits, start=1) if hit)


def _late_gain(hits: Iterable[bool]) -> float:
    return sum(1 / math.log2(max(rank, 2)) for rank, hit in enumerate(hits, start=1) if hit)


def gold_ids(evidence: Any) -> set[str]:
    """The ids of the evidence. Raises `MissingScoreError` where there are none."""
    if not isinstance(evidence, list | tuple) or not evidence:
        raise MissingScoreError("the example names no evidence")
    return set(map(str, evidence))


def found_ids(contexts: Any) -> list[set[str]]:
    """The ids behind each context, best first. Raises `MissingScoreError` where one has none."""
    if not isinstance(contexts, list | tuple):
        raise MissingScoreError("the memory does not tell what it found")
    found = []
    for one in contexts:
        told = one if isinstance(one, Mapping) else {}
        ids = {str(told["id"])} if told.get("id") is not None else set()
        ids |= set(map(str, told.get("sources") or ()))
        if not ids:
            raise MissingScoreError(_CUT)
        found.append(ids)
    return found


def _is_of_user(item: Any) -> bool:
    return isinstance(item, ConversationTurn) and item.role == "user"
