"""The cache of a provider, replayed: every number by hand."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_cost import CACHE_MODELS, CacheModel, Request
from cb_cost.caching import Billed, cache_model


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


def test_short_prompts_are_billed_at_the_price_of_input():
    """Below the provider's minimum no token is a cache write; from it on, every new one is."""
    model = CacheModel(write=1.25, read=0.1, min_tokens=1024)
    below, above = (Request(["a"], [n]) for n in (1023, 1024))
    assert model.replay([below, below]) == [Billed(0, 0, 1023)] * 2
    assert model.replay([above, above]) == [Billed(0, 1024, 0), Billed(1024, 0, 0)]
    assert [model.input_tokens(one) for one in model.replay([below])] == [1023]


def test_a_model_with_nothing_but_a_name_changes_no_price():
    """Reading and writing cost what input does unless the model says otherwise."""
    billed = CacheModel().replay([request("ab"), request("ab")])
    assert billed == [Billed(0, 0, 200), Billed(0, 0, 200)]
    assert CacheModel(write=2.0).input_tokens(Billed(100, 10, 1)) == 121
    assert CacheModel(read=0.5).input_tokens(Billed(100, 10, 1)) == 61


def test_an_empty_prompt_has_no_tokens():
    assert CACHE_MODELS["anthropic"].replay([Request([], [])]) == [Billed(0, 0, 0)]


def test_requests_are_sent_in_the_order_of_their_times():
    """A later request in the list that was sent earlier is the one that fills the cache."""
    model = CacheModel(read=0.1, ttl_s=300)
    assert cached(model, request("abc", 200), request("abd", 0)) == [200, 0]
    assert cached(model, request("abc", 601), request("abd", 0)) == [0, 0]


def messages(*texts, n_opening=1, at_s=0.0, size=100):
    """A prompt of messages, one letter a piece."""
    text = "".join(texts)
    ends = [sum(map(len, texts[: n + 1])) - 1 for n in range(len(texts))]
    made = request(text, at_s, size)
    return Request(made.prefixes, made.ends, at_s, blocks=ends, n_opening=n_opening)


EXPLICIT = CacheModel(write=1.25, read=0.1, breakpoints=4, lookback=20)


def test_a_prefix_that_ends_inside_a_message_is_not_found():
    """The system prompt is a block of its own; the same beginning of a question is not."""
    assert cached(EXPLICIT, messages("ss", "abx"), messages("ss", "abc")) == [0, 200]
    assert cached(EXPLICIT, messages("abx", n_opening=0), messages("abc", n_opening=0)) == [0, 0]


def test_without_messages_every_paragraph_is_a_breakpoint():
    text = [
        Request(made.prefixes, made.ends, blocks=[1, 3], is_text=True)
        for made in (request("aabx"), request("aacx"), request("abcx"))
    ]
    assert cached(EXPLICIT, *text) == [0, 200, 0]
    many = [
        Request(made.prefixes, made.ends, blocks=range(30), is_text=True)
        for made in (request("a" * 29 + "x"), request("a" + "b" * 29))
    ]
    assert cached(EXPLICIT, *many) == [0, 100]


def test_only_the_system_prompt_and_the_last_messages_are_cached():
    """Of `s a b c d` four prefixes: up to `s`, `b`, `c` and `d`. One up to `a` is not there."""
    first = messages("s", "a", "b", "c", "d")
    assert cached(EXPLICIT, first, messages("s", "a", "b", "x")) == [0, 300]
    assert cached(EXPLICIT, first, messages("s", "a", "x")) == [0, 100]


def test_one_breakpoint_is_at_the_end():
    model = CacheModel(write=1.25, read=0.1, breakpoints=1)
    assert cached(model, messages("s", "a"), messages("s", "b")) == [0, 0]
    assert cached(model, messages("s", "a"), messages("s", "a", "b", "c")) == [0, 200]


@pytest.mark.parametrize(("n_new", "found"), [(19, 2), (21, 2), (22, 1)])
def test_a_prefix_is_looked_for_in_twenty_messages(n_new, found):
    """Those up to each of the last three breakpoints; then only the system prompt is found.

    The first of these three is two messages before the end, so its twenty begin 21 before it.
    """
    before = messages("s", "a")
    after = messages("s", "a", *("b" * n_new))
    assert cached(EXPLICIT, before, after) == [0, 100 * found]


def test_without_a_limit_a_prefix_is_found_anywhere():
    model = CACHE_MODELS["openai-5.6"]
    before, after = messages("s", "a" * 11), messages("s", "a" * 11, *("b" * 90))
    assert cached(model, before, after) == [0, 1200]


def test_reading_a_prefix_makes_it_last():
    """The prefix that is read is not one that the request itself caches."""
    model = CacheModel(write=1.25, read=0.1, breakpoints=2, lookback=20, ttl_s=300)
    after = ("s", "a", "b", "c")
    sent = [messages("s", "a"), messages(*after, at_s=200), messages("s", "a", "x", at_s=400)]
    assert cached(model, *sent) == [0, 200, 200]


def test_a_prefix_is_forgotten_in_time():
    """Each use makes it last for another five minutes."""
    model = CacheModel(read=0.1, ttl_s=300)
    times = (0, 200, 500, 801)
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


def test_presets_have_a_date_and_a_source():
    for model in CACHE_MODELS.values():
        assert re.fullmatch(r"20\d\d-[01]\d(-[0-3]\d)?", model.date)
        assert len(model.source) > 10


@pytest.mark.parametrize(
    ("name", "min_tokens", "read", "write", "breakpoints", "lookback"),
    [
        ("anthropic", 1024, 0.1, 1.25, 4, 20),
        ("anthropic-1h", 1024, 0.1, 2.0, 4, 20),
        ("anthropic-512", 512, 0.1, 1.25, 4, 20),
        ("anthropic-512-1h", 512, 0.1, 2.0, 4, 20),
        ("anthropic-4096", 4096, 0.1, 1.25, 4, 20),
        ("anthropic-4096-1h", 4096, 0.1, 2.0, 4, 20),
        ("openai", 1024, 0.1, 1.0, None, None),
        ("openai-4.1", 1024, 0.25, 1.0, None, None),
        ("openai-4o", 1024, 0.5, 1.0, None, None),
        ("openai-5.6", 1024, 0.1, 1.25, 4, None),
        ("gemini", 4096, 0.1, 1.0, None, None),
        ("gemini-2.5", 2048, 0.1, 1.0, None, None),
    ],
)
def test_presets_have_the_published_values(name, min_tokens, read, write, breakpoints, lookback):
    model = CACHE_MODELS[name]
    assert (model.min_tokens, model.read, model.write) == (min_tokens, read, write)
    assert (model.breakpoints, model.lookback) == (breakpoints, lookback)


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
