"""What was found against what the answer rests on."""

from __future__ import annotations

import math
import random

import pytest

from cb_memory.nouns import ConversationTurn, History
from cb_memory.scoring.evidence import Evidence, LongMemEvalRetrieval, longmemeval_ndcg, ndcg
from cbcore.exceptions import MissingScoreError


def found(*ids):
    return {"contexts": [{"id": one, "text": one} for one in ids]}


@pytest.mark.parametrize(
    ("k", "gold", "ranking", "recall", "everything"),
    [
        (None, "ac", "bacd", 1.0, 1.0),
        (None, "ac", "bad", 0.5, 0.0),
        (1, "ac", "bacd", 0.0, 0.0),
        (2, "ac", "acd", 1.0, 1.0),
        (None, "a", "", 0.0, 0.0),
    ],
)
def test_recall_is_the_share_of_the_evidence(k, gold, ranking, recall, everything):
    """Among the first k, or all that was found."""
    scores = Evidence(k=k).score({"evidence": list(gold)}, found(*ranking))
    assert scores["evidence_recall"] == recall
    assert scores["evidence_all"] == everything


def test_ndcg_by_both_formulas():
    """Gold {a, c}, ranking b, a, c: the standard discount, and that of LongMemEval's code."""
    hits = [False, True, True]
    assert ndcg(hits, 2) == pytest.approx(0.6934, abs=1e-4)
    assert longmemeval_ndcg(hits, 2) == pytest.approx(0.8155, abs=1e-4)


def test_a_fact_made_of_several_items_counts_for_all_of_them():
    """Provenance: what was written anew says from what."""
    output = {"contexts": [{"text": "both", "sources": ["a", "c"]}]}
    assert Evidence().score({"evidence": ["a", "c"]}, output)["evidence_recall"] == 1.0


@pytest.mark.parametrize(
    ("example", "output", "reason"),
    [
        ({"evidence": ["a"]}, {"contexts": [{"text": "rewritten"}]}, "cannot be measured"),
        ({"evidence": ["a"]}, {}, "does not tell what it found"),
        ({"evidence": []}, found("a"), "names no evidence"),
        ({}, found("a"), "names no evidence"),
    ],
)
def test_what_cannot_be_measured_is_missing(example, output, reason):
    """A zero would be a claim."""
    with pytest.raises(MissingScoreError, match=reason):
        Evidence().score(example, output)


@pytest.fixture
def chats():
    """Three sessions of a user and an assistant; the second and third hold the answer."""
    turns = [
        ConversationTurn(content="x", id=f"{s}:{n}", role=role, session=s)
        for s in ("s1", "s2", "s3")
        for n, role in enumerate(("user", "assistant"))
    ]
    return {
        "history": History(turns),
        "evidence": ["s2:0", "s3:0"],
        "evidence_sessions": ["s2", "s3"],
    }


@pytest.mark.parametrize(
    ("level", "k", "ranking", "some", "every"),
    [
        ("session", 1, ["s2:0", "s2:1", "s3:0"], 1.0, 0.0),
        ("session", 2, ["s2:0", "s1:1", "s3:0"], 1.0, 1.0),  # turns of the assistant do not count
        ("turn", 1, ["s1:0", "s2:0"], 0.0, 0.0),
        ("turn", 3, ["s1:0", "s2:0", "s3:0"], 1.0, 1.0),
    ],
)
def test_longmemeval_counts_sessions_or_turns_of_the_user(chats, level, k, ranking, some, every):
    """Rankings of turns become rankings of sessions, each once."""
    scores = LongMemEvalRetrieval(k=k, level=level).score(chats, found(*ranking))
    assert scores["longmemeval_recall_any"] == some
    assert scores["longmemeval_recall_all"] == every


def published(ranking, correct, corpus, k):
    """LongMemEval's `evaluate_retrieval`: ids in the order found, gold ids, ids of the corpus."""

    def dcg(relevances):
        return sum(r / math.log2(max(i, 2)) for i, r in enumerate(relevances[:k], start=1))

    ideal = dcg(sorted((one in correct for one in corpus), reverse=True))
    top = ranking[:k]
    return {
        "longmemeval_recall_any": float(any(one in top for one in correct)),
        "longmemeval_recall_all": float(all(one in top for one in correct)),
        "longmemeval_ndcg": dcg([one in correct for one in ranking]) / ideal if ideal else 0.0,
    }


def published_for_turns(ranking, correct, corpus, k):
    """LongMemEval's `evaluate_retrieval_turn2session`: ids are `SESSION_NUMBER`."""
    ranking, correct, corpus = (
        [one.rpartition("_")[0] for one in ids] for ids in (ranking, correct, corpus)
    )
    cut = k
    while cut <= len(corpus) and len(set(ranking[:cut])) < k:
        cut += 1
    return published(ranking, set(correct), corpus, cut)


def test_longmemeval_scores_are_the_published_ones():
    """On random rankings, for memories that return turns, sessions, or texts of several turns.

    The published corpus consists of the turns of the user. It names a session with evidence
    `answer…`; the turns of that session without evidence, and a session that has evidence in no
    turn of the user, are `noans…`.
    """
    draw = random.Random(7)
    for _ in range(1500):
        turns, evidence, turn_ids, session_ids = [], [], {}, {}
        for number in range(draw.randint(2, 9)):
            gold = draw.random() < 0.5
            for place in range(draw.randint(1, 7)):
                role = ("user", "assistant")[place % 2]
                turn = ConversationTurn(
                    content="x", id=f"s{number}:{place}", role=role, session=f"s{number}"
                )
                turns.append(turn)
                answers = gold and draw.random() < 0.5
                evidence += [turn.id] if answers else []
                if role == "user":
                    turn_ids[turn.id] = f"{'answer' if answers else 'noans'}{number}_{place + 1}"
            told = any(one in evidence for one in turn_ids if one.startswith(f"s{number}:"))
            session_ids[f"s{number}"] = f"{'answer' if told else 'noans'}{number}"
        example = {"history": History(turns), "evidence": evidence}
        if not any(one in turn_ids for one in evidence):
            continue
        k = draw.randint(1, 6)
        ranked = draw.sample([turn.id for turn in turns], draw.randint(0, len(turns)))
        ranked_ids = [turn_ids[one] for one in ranked if one in turn_ids]
        sessions = draw.sample(list(session_ids), draw.randint(0, len(session_ids)))
        ranked_sessions = [session_ids[one] for one in sessions]

        def gold_of(corpus):
            return {one for one in corpus.values() if one.startswith("answer")}

        of_turns = (ranked_ids, gold_of(turn_ids), list(turn_ids.values()), k)
        of_sessions = (ranked_sessions, gold_of(session_ids), list(session_ids.values()), k)
        several = {
            "contexts": [
                {"text": "t", "sources": [t.id for t in turns if t.session == one]}
                for one in sessions
            ]
        }
        cases = [
            ("turn", found(*ranked), published(*of_turns)),
            ("session", found(*ranked), published_for_turns(*of_turns)),
            ("session", found(*sessions), published(*of_sessions)),
        ]
        if any(sum(one in turn_ids for one in c["sources"]) > 1 for c in several["contexts"]):
            cases.append(("session", several, published(*of_sessions)))
        for level, output, expected in cases:
            scores = LongMemEvalRetrieval(k=k, level=level).score(example, output)
            assert scores == pytest.approx(expected), (level, k, output, evidence)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"abstention": True}, "nothing to be found"),
        ({"evidence": ["s2:1"]}, "no turn of the user"),
    ],
)
def test_longmemeval_leaves_out_what_it_leaves_out(chats, changes, reason):
    """Unanswerable questions, and those whose evidence the assistant said."""
    with pytest.raises(MissingScoreError, match=reason):
        LongMemEvalRetrieval().score({**chats, **changes}, found("s2:0"))
