"""ROUGE-Lsum: the longest common subsequences of lines, united over a whole summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from cb_scorers.rouge.rouge import NOTHING, Overlap


def rouge_lsum(summary: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> Overlap:
    """The overlap by tokens of each gold line that are in a common subsequence with some line.

    Of equal subsequences the one is taken that rouge-score takes. A token counts at most as
    often as it is in both texts.
    """
    found = Counter(token for line in summary for token in line)
    wanted = Counter(token for line in gold for token in line)
    if not found or not wanted:
        return NOTHING
    lines = [(line, _places(line)) for line in summary]
    available = found & wanted
    hits = 0
    for line in gold:
        united: set[int] = set()
        for other, places in lines:
            united |= _common(line, other, places)
        # A token may be in the union more often than in the summary.
        hits += (taken := Counter(line[place] for place in united) & available).total()
        available -= taken
    return Overlap(hits / found.total(), hits / wanted.total())


def _places(line: Sequence[str]) -> dict[str, int]:
    """For each token, a number with a bit where it stands."""
    places: dict[str, int] = {}
    for place, token in enumerate(line):
        places[token] = places.get(token, 0) | 1 << place
    return places


def _common(gold: Sequence[str], other: Sequence[str], places: Mapping[str, int]) -> set[int]:
    """Where the tokens of a longest common subsequence stand in the gold line.

    Row by row, a bit that is off says that the subsequence grows there, so that a row of the
    textbook's table is one number (Hyyrö, "Bit-parallel LCS-length computation revisited",
    2004). It is read out from the end as rouge-score does: of two ways, the one that leaves a
    gold token out.
    """
    every = (1 << len(other)) - 1
    shared = [place for place, token in enumerate(gold) if token in places]
    rows = [every]
    for place in shared:
        row = rows[-1]
        both = row & places[gold[place]]
        rows.append(((row + both) | (row - both)) & every)
    united: set[int] = set()
    row, column = len(shared), len(other)
    length = column - rows[row].bit_count()
    while length:
        if gold[shared[row - 1]] == other[column - 1]:
            united.add(shared[row - 1])
            row, column, length = row - 1, column - 1, length - 1
            continue
        above = column - (rows[row - 1] & ((1 << column) - 1)).bit_count()
        if above < length:
            column -= 1
        else:
            row -= 1
    return united
