"""What was found, compared by ids with what the answer rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, get_args

from cb_memory.examples import HISTORY
from cb_memory.nouns import ConversationTurn, History
from cbcore.exceptions import MissingScoreError
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
    automatic = True
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
        hits = [not gold.isdisjoint(ids) for ids in ranking]
        covered = gold & {one for ids in ranking for one in ids}
        return {
            "evidence_recall": len(covered) / len(gold),
            "evidence_all": float(covered == gold),
            "evidence_ndcg": ndcg(hits, min(len(gold), self.k or len(gold))),
        }


class LongMemEvalRetrieval:
    """LongMemEval's published scores of retrieval, with its own discount and choice of questions.

    At `level` turn, the turns of the user that contain evidence count. At `level` session, a
    memory that returns turns is scored as LongMemEval converts turns to sessions: the ranking
    goes on until it covers `k` sessions, and every turn with evidence is relevant, in the ranking
    and in the ideal one. The other turns of a session with evidence count as a session of their
    own. A memory that returns sessions, or texts made of several turns of the user, is scored on
    the distinct sessions. Questions without an answer, and questions without evidence in a turn
    of the user, are not scored.
    """

    name = "longmemeval_retrieval"
    emits = ("longmemeval_recall_any", "longmemeval_recall_all", "longmemeval_ndcg")
    applies_to = ("longmemeval",)
    automatic = True
    needs = ("evidence",)
    needs_output = ("contexts",)
    reads = ("evidence", "abstention", "history", "contexts")

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
        session_of = {item.id: item.session for item in history.items if _is_of_user(item)}
        evidence = gold_ids(original.get("evidence")) & session_of.keys()
        if not evidence:
            raise MissingScoreError("no turn of the user is evidence")
        ranking = found_ids(processed.get("contexts"))
        turns = list(dict.fromkeys(one for ids in ranking for one in ids if one in session_of))
        if self.level == "turn":
            return self._scores(turns, evidence, len(evidence), self.k)
        if _returns_sessions(ranking, session_of):
            sessions = set(session_of.values())
            named = (
                one if one in sessions else session_of.get(one) for ids in ranking for one in ids
            )
            found = [one for one in dict.fromkeys(named) if one is not None]
            gold = {session_of[one] for one in evidence}
            return self._scores(found, gold, len(gold), self.k)
        labels = [(session_of[one], one in evidence) for one in turns]
        k = self.k
        while k <= len(session_of) and len(set(labels[:k])) < self.k:
            k += 1
        return self._scores(labels, {(session_of[one], True) for one in evidence}, len(evidence), k)

    @staticmethod
    def _scores(ranked: Sequence[Any], gold: AbstractSet[Any], n_relevant: int, k: int) -> Scores:
        top = ranked[:k]
        hits = [one in gold for one in top]
        return {
            "longmemeval_recall_any": float(any(hits)),
            "longmemeval_recall_all": float(gold <= set(top)),
            "longmemeval_ndcg": longmemeval_ndcg(hits, min(n_relevant, k)),
        }


def _returns_sessions(ranking: Iterable[Iterable[str]], session_of: Mapping[str, str]) -> bool:
    """Whether a context is a whole session, or made of several turns of the user."""
    sessions = set(session_of.values())
    return any(
        any(one in sessions for one in ids) or sum(one in session_of for one in ids) > 1
        for ids in map(list, ranking)
    )


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


def found_ids(contexts: Any) -> list[list[str]]:
    """The ids behind each context, best first. Raises `MissingScoreError` where one has none."""
    if not isinstance(contexts, list | tuple):
        raise MissingScoreError("the memory does not tell what it found")
    found = []
    for one in contexts:
        told = one if isinstance(one, Mapping) else {}
        own = [str(told["id"])] if told.get("id") is not None else []
        ids = list(dict.fromkeys([*own, *map(str, told.get("sources") or ())]))
        if not ids:
            raise MissingScoreError(_CUT)
        found.append(ids)
    return found


def _is_of_user(item: Any) -> bool:
    return isinstance(item, ConversationTurn) and item.role == "user"
