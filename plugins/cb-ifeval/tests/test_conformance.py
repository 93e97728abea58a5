"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cbcore.testing import check_plugin


def test_conformance() -> None:
    """Every rule of the kit holds for every component."""
    example = {
        "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
        "kwargs": [{}, {"num_words": 3, "relation": "at least"}],
    }
    pairs = [(example, {"response": "one, two"})]
    check_plugin("cb-ifeval", examples={"ifeval": {"examples": pairs}}).assert_ok()
