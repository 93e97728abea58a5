"""The metrics of LongBench, with the values of its own code.

Reference values: `metrics.py` and `eval.py` of THUDM/LongBench, run with rouge 1.0.1, jieba
0.42.1 and fuzzywuzzy 0.18.0 (without python-Levenshtein).
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_suites import LongBenchScore, longbench_metrics, longbench_score
from cbcore.exceptions import MissingScoreError

CUT = {
    "他在北京大学学习。": ["他", "在", "北京大学", "学习", "。"],
    "在北京大学": ["在", "北京大学"],
    "他去北京大学学习了。": ["他", "去", "北京大学", "学习", "了", "。"],
}
"""How jieba cuts these texts."""


@pytest.fixture
def jieba(monkeypatch):
    """Something that cuts the texts of these tests as jieba does."""
    fake = SimpleNamespace(lcut=CUT.__getitem__, setLogLevel=lambda level: None)
    monkeypatch.setitem(sys.modules, "jieba", fake)
    longbench_score._chinese_cut.cache_clear()
    yield
    longbench_score._chinese_cut.cache_clear()


def score(metric, response, *answers, first_line=False, **fields):
    original = {"answers": list(answers), **fields}
    return LongBenchScore(metric, first_line).score(original, {"response": response})["longbench"]


@pytest.mark.parametrize(
    ("metric", "response", "gold", "wanted"),
    [
        ("qa_f1", "It was the Red-Kite.", "a red kite", 0.0),
        ("qa_f1", "It was the red kite.", "a red kite", 2 * 0.5 * 1 / 1.5),
        ("qa_f1", "", "a red kite", 0.0),
        ("rouge_l", "The cat sat. The dog ran home.", "The cat ran home. A dog sat.", 0.9230769181),
        ("rouge_l", "a b c d. e f", "a c b. f e d", 0.6666666617),
        ("rouge_l", "", "a b", 0.0),
        ("rouge_l", "...", "a b", 0.0),
        ("count", "There are 7 of 12, so 7.", "7", 2 / 3),
        ("count", "several", "7", 0.0),
        ("retrieval", "Paragraph 7", "Paragraph 7", 1.0),
        ("retrieval", "7 or 8", "段落7", 0.5),
        ("code_similarity", "```python\n# next\nreturn x\ny", "return xs", 0.94),
        ("code_similarity", "`x`", "return xs", 0.0),
    ],
)
def test_a_metric_has_the_published_value(metric, response, gold, wanted):
    """To nine places."""
    assert score(metric, response, gold) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "gold", "wanted"),
    [("qa_f1_zh", "在北京大学", 2 / 3), ("rouge_l_zh", "他去北京大学学习了。", 0.7272727223)],
)
def test_chinese_is_compared_word_by_word(jieba, metric, gold, wanted):
    """As jieba cuts it."""
    assert score(metric, "他在北京大学学习。", gold) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(
    ("response", "gold", "wanted"),
    [
        ("Date", "Date", 1.0),
        ("Date or Other", "Date", 0.5),
        ("Order number", "Order number", 1 / 2),  # "num" is skipped after "Order" is left out
        ("Order", "Date", 0.0),
        ("none of them", "Date", 0.0),
    ],
)
def test_classes_that_are_named_share_the_point(response, gold, wanted):
    """A class that is part of the gold's name is left out, the next then not looked at."""
    classes = ["Order", "num", "Order number", "Other", "Date"]
    assert score("classification", response, gold, all_classes=classes) == pytest.approx(wanted)


def test_the_best_gold_and_the_first_line_count():
    """Few-shot tasks go on writing examples; several golds are alternatives."""
    response = "\nred kite\nQuestion: and the green one?"
    assert score("qa_f1", response, "blue", "red kite", first_line=True) == 1.0
    assert score("qa_f1", response, "blue", "red kite") < 1.0


@pytest.mark.parametrize(
    ("metric", "original", "processed", "reason"),
    [
        ("qa_f1", {"answers": ["x"]}, {}, "no response"),
        ("qa_f1", {"answers": []}, {"response": "x"}, "no gold answer"),
        ("classification", {"answers": ["x"]}, {"response": "x"}, "all_classes"),
        ("retrieval", {"answers": ["x"]}, {"response": "7"}, "has no number"),
    ],
)
def test_what_cannot_be_scored_has_no_score(metric, original, processed, reason):
    """It is never a zero."""
    with pytest.raises(MissingScoreError, match=reason):
        LongBenchScore(metric).score(original, processed)


def test_without_jieba_chinese_has_no_score(monkeypatch):
    """The reason says what to install."""
    monkeypatch.setitem(sys.modules, "jieba", None)
    longbench_score._chinese_cut.cache_clear()
    with pytest.raises(MissingScoreError, match=r"pip install 'cb-suites\[zh\]'"):
        score("qa_f1_zh", "北京", "北京")


def test_an_unknown_metric_is_refused():
    """With those there are."""
    with pytest.raises(ValueError, match="'bleu' is not one of qa_f1"):
        LongBenchScore("bleu")


WORDS = st.lists(st.sampled_from(["a", "cat", "sat", "7", ".", "mat"]), max_size=8).map(" ".join)


@given(WORDS, WORDS)
def test_scores_are_shares(response, gold):
    """Between 0 and 1, and 1 for the gold itself where it has words at all."""
    for compared in (longbench_metrics.qa_f1, longbench_metrics.rouge_l):
        assert 0.0 <= compared(response, gold) <= 1.0
    if "cat" in gold:
        assert longbench_metrics.qa_f1(gold, gold) == pytest.approx(1.0)
        assert longbench_metrics.rouge_l(gold, gold) == pytest.approx(1.0)
