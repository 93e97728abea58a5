"""What was found against what the answer rests on."""

from __future__ import annotations

import pytest

from cb_memory.scoring.evidence import Evidence, LongMemEvalRetrieval, longmemeval_ndcg, ndcg
from cbcore.exceptions import MissingScoreError
from cbcore.memory import ConversationTurn, History


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
