"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cbcore.testing import check_plugin


def test_conformance() -> None:
    """Every rule of the kit holds for every component."""
    pairs = [({"label": "entailment"}, {"response": "The label is entailment."})]
    check_plugin("cb-nli", examples={"nli_label": {"examples": pairs}}).assert_ok()
