"""The reference tells of every key there is."""

from __future__ import annotations

from pathlib import Path

from cb_suites.engine.aggregate_keys import AGGREGATE_KEYS
from cb_suites.engine.fields import GROUP_KEYS, TASK_KEYS, WITHOUT_MEANING
from cb_suites.engine.harness import EVALUATOR_OF_METRIC, FORMAT_OF_OUTPUT_TYPE
from tests.tables import check_each

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "suites.md"
KEYS = {*TASK_KEYS, *WITHOUT_MEANING, *GROUP_KEYS, *AGGREGATE_KEYS}
KEYS |= {*FORMAT_OF_OUTPUT_TYPE, *EVALUATOR_OF_METRIC} - {"bypass"}


@check_each("key", sorted(KEYS))
def test_every_key_is_in_the_reference(key):
    """A key that is added is described."""
    assert f"`{key}`" in PAGE.read_text(encoding="utf-8")
