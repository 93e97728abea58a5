"""What a name that nothing offers may have been meant for."""

from __future__ import annotations

import pytest

from cbcore.components import Component
from cbcore.plugins._mistaken import meant

OFFERED = [
    Component("evaluator", "f1-score", "a:b"),
    Component("reporter", "csv", "a:b"),
    Component("reporter", "html", "a:b"),
]


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("dataset", "notes.txt", "a data file ends in .jsonl, .json, .csv, .parquet, not .txt"),
        ("system", "f1_score", "'f1_score' is an evaluator, not a system"),
        ("reporter", "excel", "there are csv, html"),
        ("system", "zzz", ""),
    ],
)
def test_what_is_said(kind, name, said):
    """The ending of a file, another kind, or what there is."""
    assert meant(kind, name, OFFERED) == said
