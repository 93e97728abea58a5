"""Pairing two lists one to one, so that what the pairs score together is most."""

from __future__ import annotations

from collections.abc import Sequence

_FAR = float("inf")


def best_alignment(scores: Sequence[Sequence[float]]) -> list[float]:
    """For each row the score of the column it is paired with in the best pairing, 0.0 without one.

    The Hungarian method with potentials: each row in turn finds the cheapest way to a column of
    its own, which may move the rows before it to others.
    """
    n_rows, n_columns = len(scores), len(scores[0]) if scores else 0
    if not n_rows or not n_columns:
        return [0.0] * n_rows
    if n_rows > n_columns:
        turned = _columns_of_rows([list(column) for column in zip(*scores, strict=True)])
        column_of = {row: column for column, row in enumerate(turned)}
    else:
        column_of = dict(enumerate(_columns_of_rows(scores)))
    return [scores[row][column_of[row]] if row in column_of else 0.0 for row in range(n_rows)]


def _columns_of_rows(scores: Sequence[Sequence[float]]) -> list[int]:
    """The column of every row; there are at least as many columns."""
    n_rows, n_columns = len(scores), len(scores[0])
    of_rows, of_columns = [0.0] * (n_rows + 1), [0.0] * (n_columns + 1)
    row_of = [0] * (n_columns + 1)  # counted from 1; column 0 holds the row that is looking
    for row in range(1, n_rows + 1):
        row_of[0] = row
        column = 0
        least, before = [_FAR] * (n_columns + 1), [0] * (n_columns + 1)
        seen = [False] * (n_columns + 1)
        while row_of[column]:
            seen[column] = True
            here, step, nearest = row_of[column], _FAR, 0
            for other in range(1, n_columns + 1):
                if seen[other]:
                    continue
                cost = -scores[here - 1][other - 1] - of_rows[here] - of_columns[other]
                if cost < least[other]:
                    least[other], before[other] = cost, column
                if least[other] < step:
                    step, nearest = least[other], other
            for other in range(n_columns + 1):
                if seen[other]:
                    of_rows[row_of[other]] += step
                    of_columns[other] -= step
                else:
                    least[other] -= step
            column = nearest
        while column:
            row_of[column], column = row_of[before[column]], before[column]
    found = [0] * n_rows
    for column, row in enumerate(row_of[1:]):
        if row:
            found[row - 1] = column
    return found
