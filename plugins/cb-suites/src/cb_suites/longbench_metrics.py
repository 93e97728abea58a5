"""The metrics of LongBench: a response against one gold answer, from 0.0 to 1.0.

Each gives the number that the benchmark's own `metrics.py` gives, peculiarities included, and
says so where there are any.
"""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Callable, Sequence

from cbcore.scoring import overlap_scores, squad_tokens

_NUMBER = re.compile(r"\d+")
_CHINESE_PUNCTUATION = (
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛"
    "〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."
)
_NO_CHINESE_PUNCTUATION = str.maketrans("", "", string.punctuation + _CHINESE_PUNCTUATION)

Cut = Callable[[str], Sequence[str]]
"""Splits Chinese text into words."""


def qa_f1(response: str, gold: str) -> float:
    """F1 of the words both have; case, punctuation and articles aside."""
    return overlap_scores(squad_tokens(response), squad_tokens(gold)).f1


def qa_f1_zh(response: str, gold: str, cut: Cut) -> float:
    """The same over Chinese words, which `cut` finds."""
    return overlap_scores(_chinese_words(response, cut), _chinese_words(gold, cut)).f1


def _chinese_words(text: str, cut: Cut) -> list[str]:
    bare = ("".join(word.lower().translate(_NO_CHINESE_PUNCTUATION).split()) for word in cut(text))
    return [word for word in bare if word]


def rouge_l(response: str, gold: str) -> float:
    """ROUGE-L F1 of summaries, as version 1.0.1 of the package `rouge` defines it.

    Full stops end sentences. The distinct words of the longest common subsequences of all pairs
    of sentences are counted against the distinct words of either text. The package gives up on
    sentences of more than about 550 words, which LongBench counts as 0; here they are compared.
    """
    found, wanted = _sentences(response), _sentences(gold)
    n_found = len({word for sentence in found for word in sentence})
    n_wanted = len({word for sentence in wanted for word in sentence})
    if not n_found or not n_wanted:
        return 0.0
    shared = {
        word
        for gold_sentence in wanted
        for sentence in found
        for word in _common_subsequence(gold_sentence, sentence)
    }
    precision, recall = len(shared) / n_found, len(shared) / n_wanted
    return 2.0 * precision * recall / (precision + recall + 1e-8)


def rouge_l_zh(response: str, gold: str, cut: Cut) -> float:
    """The same over Chinese words, which `cut` finds."""
    return rouge_l(" ".join(cut(response)), " ".join(cut(gold)))


def _sentences(text: str) -> list[list[str]]:
    # Of blank space between two stops, the package makes a sentence of one empty word.
    return [part.split() or [""] for part in text.split(".") if part]


def _common_subsequence(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """A longest common subsequence; of several, the one that the package takes."""
    lengths = [[0] * (len(second) + 1)]
    for word in first:
        above, row = lengths[-1], [0]
        for j, other in enumerate(second):
            row.append(above[j] + 1 if word == other else max(above[j + 1], row[j]))
        lengths.append(row)
    i, j, taken = len(first), len(second), []
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            taken.append(first[i])
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return taken[::-1]


def classification(response: str, gold: str, classes: Sequence[str]) -> float:
    """1 over the number of classes that the response names, if the gold is among them.

    A class whose name is part of the gold's does not count. As published, the class after one
    that was left out is not looked at.
    """
    kept: list[str] = []
    left_out = False
    for name in (name for name in classes if name in response):
        left_out = not left_out and name in gold and name != gold
        if not left_out:
            kept.append(name)
    return 1.0 / len(kept) if gold in kept else 0.0


def count(response: str, gold: str) -> float:
    """The share of the numbers in the response that are the gold."""
    numbers = _NUMBER.findall(response)
    return numbers.count(gold) / len(numbers) if numbers else 0.0


def retrieval(response: str, gold: str) -> float:
    """The same, where the gold names a paragraph: `Paragraph 7`, `段落7`."""
    wanted = _NUMBER.search(gold)
    if wanted is None:
        raise ValueError(f"the gold answer {gold!r} has no number")
    return count(response, wanted.group())


def code_similarity(response: str, gold: str) -> float:
    """How like the gold the first line of code is: Python's `difflib`, in whole percent.

    Lines with a fence or a comment are passed over.
    """
    lines = response.lstrip("\n").split("\n")
    code = (line for line in lines if not any(mark in line for mark in ("`", "#", "//")))
    first = next(code, "")
    if not first or not gold:
        return 0.0
    return round(100 * difflib.SequenceMatcher(None, first, gold).ratio()) / 100
