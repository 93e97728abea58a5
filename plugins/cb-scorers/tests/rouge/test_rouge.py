"""ROUGE between one summary and its gold summaries, against values of another implementation."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_scorers.rouge import Overlap, SummarizationQuality, rouge_l, rouge_lsum, rouge_n, tokenize
from cb_scorers.rouge.stemming import stem
from tests.tables import check_each

VALUES = Path(__file__).with_name("rouge_score_values.jsonl")
REFERENCE = [json.loads(line) for line in VALUES.read_text("utf-8").splitlines()]
STEMS: dict[str, str] = json.loads(Path(__file__).with_name("nltk_stems.json").read_text("utf-8"))
TOKENS = st.lists(st.sampled_from(["a", "b", "c", "d", "the", "7"]), max_size=12)


@check_each("row", REFERENCE)
@check_each("use_stemmer", [False, True])
def test_scores_equal_those_of_rouge_score(row: dict[str, Any], use_stemmer: bool) -> None:
    """Values of rouge-score 0.1.2 (`RougeScorer`, with and without `use_stemmer`).

    `score_multi` for several golds; the stemmer was that of NLTK 3.10.4.
    """
    evaluator = SummarizationQuality(use_stemmer=use_stemmer)
    found = evaluator.score({"answers": row["gold"]}, {"response": row["summary"]})
    wanted = row["stemmed"] if use_stemmer else row
    expected = {name: wanted[name] for name in evaluator.emits}
    assert found == pytest.approx(expected, abs=1e-9, rel=0)


def test_the_reference_values_are_of_all_kinds() -> None:
    """The table has single and several golds and lines, and no score that is always 0 or 1."""
    assert {len(row["gold"]) > 1 for row in REFERENCE} == {True, False}
    for name in SummarizationQuality.emits:
        assert sum(0 < row[name] < 1 for row in REFERENCE) > 30
        assert sum(row[name] != row["stemmed"][name] for row in REFERENCE) > 10
    assert sum(row["rouge_lsum"] != row["rouge_l_f1"] for row in REFERENCE) > 10


def test_the_stems_are_those_of_nltk() -> None:
    """`nltk.stem.PorterStemmer().stem` of NLTK 3.10.4, as rouge-score calls it."""
    assert {word: stem(word) for word in STEMS} == STEMS
    assert tokenize("The cats ran; ties agreed.", use_stemmer=True) == [
        *("the", "cat", "ran", "tie", "agre"),
    ]


@given(st.text(alphabet="abcdelnosty1", max_size=12))
def test_a_stem_is_no_longer_than_its_word(word: str) -> None:
    """And of a word there is always something left."""
    assert len(stem(word)) <= len(word)
    assert bool(stem(word)) is bool(word)


def plain_union(summary: list[list[str]], gold: list[list[str]]) -> tuple[float, float]:
    """ROUGE-Lsum by the textbook's table, read out from its end as rouge-score does."""
    found, wanted = (Counter(token for line in text for token in line) for text in (summary, gold))
    sizes, hits = (found.total(), wanted.total()), 0
    if not all(sizes):
        return (0.0, 0.0)
    for line in gold:
        places = {place for other in summary for place in plain_places(line, other)}
        for token in (line[place] for place in sorted(places)):
            if found[token] > 0 and wanted[token] > 0:
                hits += 1
                found[token] -= 1
                wanted[token] -= 1
    return (hits / sizes[0], hits / sizes[1])


def plain_places(first: list[str], second: list[str]) -> Iterator[int]:
    row, column = len(first), len(second)
    while row and column:
        if first[row - 1] == second[column - 1]:
            row, column = row - 1, column - 1
            yield row
        elif plain_lcs(first[:row], second[: column - 1]) > plain_lcs(
            first[: row - 1], second[:column]
        ):
            column -= 1
        else:
            row -= 1


LINES = st.lists(st.lists(st.sampled_from("abc"), max_size=6), max_size=4)


@given(LINES, LINES)
def test_rouge_lsum_unites_the_subsequences_of_lines(
    summary: list[list[str]], gold: list[list[str]]
) -> None:
    """The fast way takes the same subsequence of several as the slow one."""
    assert rouge_lsum(summary, gold) == plain_union(summary, gold)


@given(TOKENS, TOKENS)
def test_of_single_lines_the_union_is_the_subsequence(summary: list[str], gold: list[str]) -> None:
    """So ROUGE-Lsum is ROUGE-L there."""
    assert rouge_lsum([summary], [gold]) == rouge_l(summary, gold)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The cat.", ["the", "cat"]),
        ("U.S.A.-based", ["u", "s", "a", "based"]),
        ("snake_case", ["snake", "case"]),
        ("café", ["caf"]),
        ("漢字 7", ["7"]),
        ("", []),
        ("?!\n", []),
    ],
)
def test_tokens_are_runs_of_ascii_letters_and_digits(text: str, tokens: list[str]) -> None:
    """Lower case; everything else separates, as in rouge-score."""
    assert tokenize(text) == tokens


def plain_lcs(first: list[str], second: list[str]) -> int:
    """The longest common subsequence by the textbook's table."""
    above = [0] * (len(second) + 1)
    for token in first:
        row = [0]
        for column, other in enumerate(second):
            row.append(above[column] + 1 if token == other else max(row[-1], above[column + 1]))
        above = row
    return above[-1]


@given(TOKENS, TOKENS)
def test_rouge_l_counts_the_longest_common_subsequence(summary: list[str], gold: list[str]) -> None:
    """The fast length is the textbook's."""
    common = plain_lcs(summary, gold)
    wanted = (common / len(summary), common / len(gold)) if summary and gold else (0.0, 0.0)
    assert rouge_l(summary, gold) == wanted


@given(TOKENS, TOKENS, st.integers(1, 3))
def test_overlaps_are_fractions_and_symmetric(summary: list[str], gold: list[str], n: int) -> None:
    """Swapping both texts swaps precision and recall; unigrams share at least what L shares."""
    for overlap, swapped in [
        (rouge_n(summary, gold, n), rouge_n(gold, summary, n)),
        (rouge_l(summary, gold), rouge_l(gold, summary)),
    ]:
        assert overlap == swapped[::-1]
        assert 0.0 <= min(overlap) <= overlap.f1 + 1e-12 <= max(overlap) + 2e-12
        assert max(overlap) <= 1.0
    assert rouge_l(summary, gold).recall <= rouge_n(summary, gold, 1).recall


@given(TOKENS.filter(bool))
def test_a_text_is_its_own_best_summary(tokens: list[str]) -> None:
    """Full marks against itself."""
    assert rouge_l(tokens, tokens) == rouge_n(tokens, tokens, 1) == Overlap(1.0, 1.0)


def test_n_grams_have_at_least_one_token() -> None:
    """ROUGE-0 does not exist."""
    with pytest.raises(ValueError, match="n is 0"):
        rouge_n(["a"], ["a"], 0)


def steps_for(n_words: int) -> int:
    """Lines of Python executed to score two different texts of that many words."""
    gold = " ".join(f"w{word % 997}" for word in range(n_words))
    summary = " ".join(f"w{word * 7 % 1009}" for word in range(n_words))
    evaluator = SummarizationQuality()
    evaluator.score({"answer": "warm"}, {"response": "up"})
    steps = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        steps += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        evaluator.score({"answer": gold}, {"response": summary})
    finally:
        sys.settrace(before)
    return steps


def test_work_in_python_grows_with_the_words_not_with_their_square() -> None:
    """4,000 × 4,000 words take a few steps per word, where a table would take 16 million."""
    assert steps_for(4000) < 5 * 8000
    assert steps_for(4000) <= 4.2 * steps_for(1000)
