"""Public names resolve, lazily."""

from __future__ import annotations

import pytest

import cb_compare


@pytest.mark.parametrize("name", cb_compare.__all__)
def test_every_public_name_resolves(name):
    """When it is first used."""
    assert getattr(cb_compare, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    """As for any module."""
    with pytest.raises(AttributeError, match="nonsense"):
        _ = cb_compare.nonsense
