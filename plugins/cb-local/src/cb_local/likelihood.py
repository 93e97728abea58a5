"""Likelihoods of texts by llama.cpp: one step for each token of a continuation.

llama.cpp tells how likely each token is to come next, so that a continuation is gone along token
by token. What requests have in common is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import attrs

Tokens: TypeAlias = tuple[int, ...]
NextTokens: TypeAlias = Mapping[int, float]
"""Tokens that may come next, the likeliest first, with the logarithms of their probabilities."""


def split(context: str, continuation: str) -> tuple[str, str]:
    """The two texts, with white space at the end of a context where words begin with it."""
    bare = context.rstrip()
    return bare, context[len(bare) :] + continuation


@attrs.frozen
class Beginning:
    """Tokens before a text: `always`, or where there is no context to go on from, `alone`."""

    always: Tokens
    alone: Tokens


class Scoring:
    """The likelihoods of one call. Steps that were made for one request serve the others.

    `encode` makes tokens of a text, and `step` gives what may come after tokens: at least so
    many, or all. No more than `n_ctx` tokens are looked back on.
    """

    def __init__(
        self,
        encode: Callable[[str], Sequence[int]],
        beginning: Beginning,
        step: Callable[[Tokens, int | None], NextTokens],
        n_ctx: int,
    ) -> None:
        self._encode = encode
        self._beginning = beginning
        self._step = step
        self._n_ctx = n_ctx
        self._known: dict[Tokens, NextTokens] = {}

    def likelihood(self, context: str, continuation: str) -> tuple[float, bool]:
        """The logarithm of a continuation's probability, and whether no other is likelier."""
        before, after = split(context, continuation)
        whole = tuple(self._encode(before + after))
        n_before = len(self._encode(before)) if before else 0
        tokens = whole[n_before:]
        start = self._beginning.always if n_before else self._beginning.alone
        total, is_greedy = 0.0, True
        for i, token in enumerate(tokens):
            known = (start + whole[: n_before + i])[-self._n_ctx :]
            found = self._next(known, token)
            total += found[token]
            is_greedy = is_greedy and next(iter(found)) == token
        return total, is_greedy

    def _next(self, known: Tokens, token: int) -> NextTokens:
        """What may come after tokens, one token among it."""
        for n_wanted in (*_FEW_FIRST, None):
            found = self._known.get(known)
            if found is not None and token in found:
                return found
            if found is None or n_wanted is None or len(found) < n_wanted:
                self._known[known] = self._step(known, n_wanted)
        return self._known[known]


_FEW_FIRST = (64, 2048)
"""So many tokens are asked for, and more only where the one that counts is not among them."""
