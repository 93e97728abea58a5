"""The cache of a provider, replayed: every number by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_money import CACHE_MODELS, CacheModel, Request
from cb_money.caching import cache_model


def request(text, at_s=0.0, size=100):
    """A prompt of pieces, one letter each, of so many tokens."""
    prefixes = [text[: i + 1] for i in range(len(text))]
    return Request(prefixes, [size * (i + 1) for i in range(len(text))], at_s)


def cached(model, *requests):
    return [billed.cached for billed in model.replay(requests)]


def test_a_prefix_is_found_again():
    """Of `abc` after `abx`, two pieces of a hundred tokens."""
    assert cached(CacheModel(read=0.1), request("abx"), request("abc")) == [0, 200]


def test_a_rewritten_beginning_finds_nothing():
    """The end may be the same: only what a prompt begins with counts."""
    assert cached(CacheModel(read=0.1), request("abc"), request("xbc")) == [0, 0]


def test_granularity_rounds_down():
    """Of 300 tokens, 256 in steps of 128."""
    model = CacheModel(read=0.5, granularity=128)
    assert cached(model, request("abc"), request("abcd")) == [0, 256]


def test_short_prompts_are_not_cached():
    """Neither written below the least number of tokens nor found."""
    model = CacheModel(read=0.5, min_tokens=1024)
    short, long = request("abc"), request("a" * 11)
    assert cached(model, short, short) == [0, 0]
    assert cached(model, long, long) == [0, 1100]


def test_a_prefix_is_forgotten_in_time():
    """Each use makes it last for another five minutes."""
    model = CacheModel(read=0.1, ttl_s=300)
    times = (0, 200, 499, 800)
    assert cached(model, *(request("ab", t) for t in times)) == [0, 200, 200, 0]


def test_a_slot_remembers_its_last_prompt_only():
    """With room for one, what came before the last is gone."""
    model = CacheModel(read=0.0, capacity=1)
    assert cached(model, request("ab"), request("xy"), request("ab")) == [0, 0, 0]
    assert cached(model, request("ab"), request("abc"), request("abd")) == [0, 200, 200]


def test_fewer_tokens_can_cost_more():
    """The case of the field: a third of the tokens, rewritten each time, is billed more.

    Ten requests with the same 900 tokens and 100 new ones, at 1.25 for writing and 0.1 for
    reading: 1250 + 9 · (0.1 · 900 + 1.25 · 100) = 3185. A compressor that leaves 340 tokens of
    each, none of which begins as another: 10 · 1.25 · 340 = 4250, which is a third more.
    """
    model = CacheModel(write=1.25, read=0.1)
    whole = [request("abcdefghi" + chr(ord("A") + i)) for i in range(10)]
    squeezed = [Request([f"{i}"], [340]) for i in range(10)]
    bills = [
        sum(model.input_tokens(billed) for billed in model.replay(requests))
        for requests in (whole, squeezed)
    ]
    assert bills == [pytest.approx(3185), pytest.approx(4250)]
    assert sum(r.tokens for r in squeezed) / sum(r.tokens for r in whole) == 0.34


@given(
    st.lists(st.text("ab", min_size=1, max_size=12), max_size=12),
    st.sampled_from(list(CACHE_MODELS)),
)
def test_every_token_is_billed_once(prompts, name):
    """Whatever the cache, cached, written and plain tokens are those that were sent."""
    requests = [request(text, 10.0 * i, size=200) for i, text in enumerate(prompts)]
    for sent, billed in zip(requests, CACHE_MODELS[name].replay(requests), strict=True):
        assert billed.tokens == sent.tokens
        assert min(billed.cached, billed.written, billed.plain) >= 0


def test_presets_say_when_and_where_they_were_read():
    """Data with dates and sources."""
    assert all(model.as_of and model.source for model in CACHE_MODELS.values())


def test_unknown_names_are_refused():
    """With the nearest one."""
    with pytest.raises(ValueError, match="did you mean openai"):
        cache_model("opnai")


def test_a_file_may_hold_a_model(tmp_path):
    """The fields of a model as JSON."""
    file = tmp_path / "mine.json"
    file.write_text('{"granularity": 16, "read": 0.2}', encoding="utf-8")
    assert cache_model(str(file)) == CacheModel(granularity=16, read=0.2)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1]", "it is a list, not an object with granularity"),
        ('{"red": 0.1}', "a cache has no 'red'; did you mean read"),
        ('{"my-model": {}}', "it may have granularity"),
        ('{"read": -1}', "read is -1: it must be a number, 0 or more"),
        ('{"ttl_s": "5"}', "ttl_s is '5'"),
        ('{"capacity": 0}', "capacity is 0: it must be a whole number, 1 or more"),
        ('{"granularity": 1.5}', "granularity is 1.5"),
        ("{", "cannot be used"),
    ],
)
def test_a_file_that_holds_no_model_is_refused(tmp_path, text, told):
    """Before anything is run, with what is wrong in it."""
    file = tmp_path / "mine.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=told):
        cache_model(str(file))


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(ValueError, match=r"cannot read .none\.json.: No such file"):
        cache_model("none.json")
