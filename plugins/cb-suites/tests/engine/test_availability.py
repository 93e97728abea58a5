"""What suites lack, told so that one command mends it."""

from __future__ import annotations

from cb_suites.engine.availability import Need, told


def test_what_one_package_would_supply_is_told_together():
    """Once for each kind; what has another reason stands alone."""
    needs = [
        Need("dataset", "drop", "cb-datasets"),
        Need("dataset", "qasper", "cb-datasets"),
        Need("dataset", "drop", "cb-datasets"),
        Need("evaluator", "rouge", "cb-scorers"),
        Need("dataset", "mine", near=("mind",)),
    ]
    assert told(needs) == [
        "dataset 'mine': not installed (did you mean mind?)",
        "datasets 'drop', 'qasper': not installed (pip install cb-datasets)",
        "evaluator 'rouge': not installed (pip install cb-scorers)",
    ]


def test_a_need_without_a_package_or_similar_name_has_no_remedy():
    assert str(Need("system", "unlike-any")) == "system 'unlike-any': not installed"
