"""Likelihoods of texts by llama.cpp: one step for each token of a continuation.

llama.cpp tells how likely each token is to come next, so that a continuation is gone along token
by token. What requests have in common is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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


@attrs.frozen
class Window:
    """Tokens that are looked at together, of which the last `n_asked` are asked about."""

    tokens: Tokens
    n_asked: int


def windows_of_text(first: Tokens, tokens: Tokens, n_most: int) -> Iterator[Window]:
    """A text in pieces, each token asked about once and after no more than `n_most` others.

    The first piece comes after the tokens `first`, the others after one token of the piece
    before; the last one looks further back, as far as there is room.
    """
    whole = first + tokens
    done = 0
    while done < len(tokens):
        n_room = n_most if done else n_most + 1 - len(first)
        n_asked = min(n_room, len(tokens) - done)
        done += n_asked
        end = len(first) + done
        yield Window(whole[max(0, end - n_most - 1) : end], n_asked)


class Scoring:
    """The likelihoods of one call. Steps that were made for one request serve the others.

    `encode` makes tokens of a text, and `step` gives what may come after tokens: at least so
    many, or all. No more than `n_ctx` tokens are looked back on: the beginning of a context that
    is longer is left out, and a text without a context is taken in pieces.
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
        """The logarithm of a continuation's probability, and whether no other is likelier.

        Raises `ValueError` for a continuation that is longer than what can be looked back on.
        """
        total, is_greedy = 0.0, True
        for window in self._windows(*split(context, continuation)):
            for i in range(len(window.tokens) - window.n_asked, len(window.tokens)):
                token = window.tokens[i]
                found = self._next(window.tokens[:i], token)
                total += found[token]
                is_greedy = is_greedy and next(iter(found)) == token
        return total, is_greedy

    def _windows(self, before: str, after: str) -> list[Window]:
        whole = tuple(self._encode(before + after))
        n_before = len(self._encode(before)) if before else 0
        n_asked = len(whole) - n_before
        if not n_before:
            return list(windows_of_text(self._beginning.alone, whole, self._n_ctx))
        if n_asked > self._n_ctx:
            raise ValueError(f"a continuation has {n_asked} tokens")
        return [Window((self._beginning.always + whole)[-self._n_ctx - 1 :], n_asked)]

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
