"""How many examples there are, for the total that a run shows."""

from __future__ import annotations

from operator import length_hint

from cb_hotpotqa import HotpotQA


def test_the_sample_says_how_many_examples_it_has():
    """Exactly; the hub is not asked."""
    assert length_hint(HotpotQA("sample"), -1) == len(list(HotpotQA("sample")))
    assert length_hint(HotpotQA("distractor"), -1) == -1
