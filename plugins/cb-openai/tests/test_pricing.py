"""Prices that are spelled out, and where ours come from."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from cb_openai import OpenAI, Price, Pricing


def test_a_spec_may_spell_prices_out():
    """They go before any table."""
    assert Pricing(price_in=1, price_out=2, price_cached=0.5).of("gpt-4o") == Price(1, 2, 0.5)
    system = OpenAI("http://localhost:9", "gpt-4o", price_in=0, price_out=3, api_key_env=None)
    assert system.max_cost({"question": "?"}).usd == pytest.approx(256 * 3 / 1e6)


def test_half_a_price_is_refused():
    """Nobody knows what the other half would be."""
    with pytest.raises(ValueError, match="go together"):
        Pricing(price_in=1).of("gpt-4o")


def test_every_price_of_ours_has_a_date_and_a_source():
    """So that it can be checked."""
    models = json.loads(files("cb_openai").joinpath("prices.json").read_text("utf-8"))["models"]
    assert all(price["as_of"] and price["source"] for price in models.values())


def test_an_unknown_model_has_no_price():
    """Unknown is not free."""
    assert Pricing().of("nobody-knows") is None
