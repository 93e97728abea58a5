"""What a call costs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_openai.prices import PRICES_VARIABLE, Price, find_price


@pytest.fixture(autouse=True)
def _no_prices_of_the_machine(monkeypatch):
    monkeypatch.delenv(PRICES_VARIABLE, raising=False)


def test_cached_tokens_have_their_own_price():
    """By hand: 60 · 2 + 40 · 0.5 + 10 · 8 = 220 millionths of a dollar."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 40}
    assert Price(2, 8, 0.5).cost_usd(usage) == pytest.approx(220e-6)
    assert Price(2, 8).cost_usd(usage) == pytest.approx(280e-6)


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": 5}, {"completion_tokens": 5}])
def test_without_usage_there_is_no_cost(usage):
    """Unknown is not free."""
    assert Price(2, 8).cost_usd(usage) is None


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**7))
def test_a_cost_lies_between_all_cached_and_nothing_cached(prompt, completion, cached):
    """Whatever an endpoint says was cached."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached}
    cost = Price(2, 8, 0.5).cost_usd(usage)
    least, most = 0.5 * prompt + 8 * completion, 2 * prompt + 8 * completion
    assert least / 1e6 - 1e-9 <= cost <= most / 1e6 + 1e-9


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-4o", Price(2.5, 10, 1.25)),
        ("gpt-4o-2024-08-06", Price(2.5, 10, 1.25)),
        ("gpt-4-0613", Price(30, 60)),
        ("gpt-4o-audio", None),
        ("llama-3", None),
    ],
)
def test_models_are_found_by_name_and_by_dated_name(model, price):
    """List prices of the provider; what is not known is not guessed."""
    assert find_price(model, None) == price


def test_a_price_file_goes_first(tmp_path, monkeypatch):
    """That of the parameter before that of the variable, and both before our table."""
    mine, other = tmp_path / "mine.json", tmp_path / "other.json"
    mine.write_text(json.dumps({"gpt-4o": {"input": 1, "output": 2}}))
    other.write_text(
        json.dumps({"models": {m: {"input": 3, "output": 4} for m in ("gpt-4o", "llama-3")}})
    )
    monkeypatch.setenv(PRICES_VARIABLE, str(other))
    assert find_price("gpt-4o", str(mine)) == Price(1, 2)
    assert find_price("llama-3", str(mine)) == Price(3, 4)
    assert find_price("gpt-4", str(mine)) == Price(30, 60)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "not valid JSON"),
        ("[]", "not an object"),
        ('{"m": 3}', "'m' must have input and output"),
        ('{"m": {"input": 1}}', "'m' needs both"),
        ('{"m": {"input": 1, "outputs": 2}}', "did you mean output"),
        ('{"m": {"input": -1, "output": 2}}', "input is -1"),
        ('{"m": {"input": "1", "output": 2}}', "input is '1'"),
    ],
)
def test_a_wrong_price_file_is_refused(tmp_path, content, told):
    """With what is wrong in it."""
    path = tmp_path / "prices.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=told):
        find_price("m", str(path))


def test_a_missing_price_file_is_refused(tmp_path):
    """With its name."""
    with pytest.raises(ValueError, match=r"cannot read .*nowhere\.json"):
        find_price("m", str(tmp_path / "nowhere.json"))
