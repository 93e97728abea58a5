"""Public names resolve, lazily."""

from __future__ import annotations

import pytest

import cb_stats


@pytest.mark.parametrize("name", cb_stats.__all__)
def test_every_public_name_resolves(name):
    """And is listed."""
    assert getattr(cb_stats, name) is not None
    assert name in dir(cb_stats)


def test_an_unknown_name_is_an_attribute_error():
    """As for any module."""
    with pytest.raises(AttributeError, match="nonsense"):
        _ = cb_stats.nonsense
