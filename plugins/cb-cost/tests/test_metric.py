"""From rows to the bill."""

from __future__ import annotations

import json
import math

import pytest

from cb_cost import AnswerAgreement, NetCost, PromptBlocks
from cb_cost.bills import Account
from cb_cost.blocks import requests_of
from cb_cost.caching import cache_model
from cb_cost.row_requests import Asked
from cb_openai import Price
from cbcore import evaluate
from cbcore.results import EvalRow
from cbcore.results.summary import sum_up
from cbcore.tokens import Encoding

LONG = "The same beginning of every prompt. " * 60


def blocks(example, output):
    scored = PromptBlocks(tokenizer="words").score(example, output)
    return {"prompt_blocks": dict(scored.details)}, scored["prompt_tokens_sent"]


def test_a_prompt_is_context_and_question():
    """As the system passed them on."""
    metadata, sent = blocks({"context": "a b c", "question": "d?"}, {"context": "a b"})
    (request,) = requests_of(metadata)
    assert request.tokens == sent == 3


def minified(n):
    return json.dumps([{"id": i, "kind": "x" * (i % 7), "total": i * 37} for i in range(n)])


def test_pieces_add_up_to_the_exact_count_of_each_message():
    """Minified JSON has no blanks to cut at; cut into pieces it would have more tokens."""
    text = minified(400).replace(" ", "")
    scored = PromptBlocks().score({"turns": [text, "And?"]}, {"turn_responses": ["Yes.", "No."]})
    count = Encoding("o200k_base").count
    requests = requests_of({"prompt_blocks": dict(scored.details)})
    rest = sum(map(count, ("Yes.", "And?")))
    assert [one.tokens for one in requests] == [count(text), count(text) + rest]
    assert all(one.ends == sorted(one.ends) for one in requests)


def test_tokens_of_the_section_agree_with_tokens_saved():
    """The same texts, counted once by the run and once for the bill."""

    class Half:
        name = "half"

        def process(self, example):
            return {"context": example["context"][: len(example["context"]) // 2]}

    data = [{"id": n, "context": minified(200 + n), "question": "Which?"} for n in range(4)]
    result = evaluate(
        ["identity", Half()],
        data,
        evaluators=["prompt_blocks"],
        metrics=["compression_ratio", "net_cost:none"],
        score_field="prompt_tokens_sent",
        progress=False,
    )
    full, half = result.sections["net_cost"].lines
    saved = 100 * result.summary["half"]["compression_ratio"]
    assert float(half["tokens_change"].rstrip("%")) == pytest.approx(-saved, abs=0.1)
    assert full["n_tokens"] == pytest.approx(sum(r.input_tokens for r in result.rows[:4]), abs=4)


def test_conversations_are_a_request_for_every_reply():
    """Each sends all that was said before: one word, then one, two and one."""
    turns = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello there"},
        {"role": "user", "content": "bye"},
    ]
    metadata, _ = blocks({"turns": turns}, {"response": "x"})
    assert [request.tokens for request in requests_of(metadata)] == [1, 4]


def test_replies_of_the_system_are_sent_again():
    """Where the data gives none, the system's own reply stands in the next prompt."""
    metadata, _ = blocks({"turns": ["hi", "bye"]}, {"turn_responses": ["ok then", "well"]})
    assert [request.tokens for request in requests_of(metadata)] == [1, 4]


def rows(contexts, **usage):
    found = []
    for i, context in enumerate(contexts):
        output = {"response": "in five words or so", **({"usage": usage} if usage else {})}
        metadata, _ = blocks({"context": context, "question": f"q{i}?"}, output)
        row = EvalRow("s", i, {"f1": 1.0}, 10, 10, metadata, response_tokens=5)
        found.append(row)
    return found


def test_net_and_raw_dollars():
    """By hand, in words: 9 requests find the 360 words of the first, at a tenth of the price."""
    metric = NetCost(cache="anthropic", price_in=1.0, price_out=10.0)
    model = NetCost(cache="none", price_in=1.0, price_out=10.0)
    given = {"s": rows([LONG * 4] * 10)}
    found, plain = metric.compare(given)["s"], model.compare(given)["s"]
    tokens = 10 * (1440 + 1)
    assert found["raw_usd"] == plain["raw_usd"] == plain["net_usd"]
    assert found["raw_usd"] == pytest.approx((tokens + 50 * 10) / 1e6)
    read, written = 9 * 1440, 1441 + 9
    assert found["net_usd"] == pytest.approx((read * 0.1 + written * 1.25 + 500) / 1e6)
    assert found["cache_hit_rate"] == pytest.approx(read / tokens)
    assert found["net_usd_of_pass"] == pytest.approx(found["net_usd"] / 10)


def test_the_front_can_be_that_of_net_dollars():
    """A system that rewrites every prompt sends less, and is billed more: it is not on it."""
    same = rows([LONG * 4] * 10)
    rewritten = rows([f"{i} " + LONG * 2 for i in range(10)])
    shorter = rows([LONG * 3] * 10)
    worse = [EvalRow("s", r.example_id, {"f1": 0.5}, 10, 10, r.metadata) for r in shorter]
    found = NetCost(cache="anthropic", price_in=1.0, price_out=10.0).compare(
        {"same": same, "rewritten": rewritten, "worse": worse, "failed": []}
    )
    assert found["rewritten"]["net_usd"] > found["same"]["net_usd"]
    ranks = {system: values.get("net_pareto_rank") for system, values in found.items()}
    assert ranks == {"same": 1.0, "rewritten": 2.0, "worse": 1.0, "failed": None}


def test_what_the_endpoint_reports_goes_before_the_model():
    """Its count of cached tokens is the truth."""
    given = {"s": rows([LONG] * 2, prompt_tokens=100, cached_tokens=40)}
    found = NetCost(cache="openai-4o", price_in=1.0, price_out=0.0).compare(given)["s"]
    assert found["cache_hit_rate"] == 0.4
    assert found["net_usd"] == pytest.approx(2 * (60 + 40 * 0.5) / 1e6)


def test_writes_that_an_endpoint_reports_are_billed():
    """Caching was on, whether or not it paid."""
    given = {"s": rows([LONG * 4], prompt_tokens=2000, cached_tokens=0)}
    found = NetCost(cache="anthropic", price_in=1.0, price_out=0.0).compare(given)["s"]
    assert found["net_usd"] == pytest.approx(2000 * 1.25 / 1e6)


def test_a_price_of_cached_input_goes_before_the_multiplier():
    """What the provider charges for it, where that is known."""
    given = {"s": rows([LONG], prompt_tokens=100, cached_tokens=40)}
    metric = NetCost(cache="openai", price_in=1.0, price_out=0.0, price_cached=0.25)
    assert metric.compare(given)["s"]["net_usd"] == pytest.approx((60 + 40 * 0.25) / 1e6)


def test_without_a_price_there_are_tokens_but_no_dollars():
    """Unknown stays unknown."""
    found = NetCost(cache="openai").compare({"s": rows([LONG])})["s"]
    assert set(found) == {"billed_tokens", "cache_hit_rate"}


def test_the_section_compares_with_full_context(tmp_path):
    """A compressor that rewrites the beginning: fewer tokens, and what it does to the bill."""
    data = [
        {"id": i, "context": LONG * 5 + f"\n\nEnd {i}.", "question": f"q{i}?", "answer": "x"}
        for i in range(6)
    ]

    class Shuffled:
        name = "shuffled"

        def process(self, example):
            return {"context": f"{example['id']} " + example["context"][: len(LONG) * 4]}

    result = evaluate(
        ["identity", Shuffled()],
        data,
        evaluators=["prompt_blocks"],
        metrics=["net_cost:anthropic"],
        progress=False,
        score_field="prompt_tokens_sent",
    )
    full, short = result.sections["net_cost"].lines
    assert short["hit_rate"] == "0%"
    assert float(short["tokens_change"].rstrip("%")) < -10
    assert float(short["bill_change"].rstrip("%")) > 50
    assert full["name"] == "identity"


def test_agreement_with_full_context():
    """Two of three words in common on each side: F1 of 2/3; the baseline agrees with itself."""
    given = {
        "full": [EvalRow("full", 1, input_tokens=5, output_tokens=5, response="a b c")],
        "short": [EvalRow("short", 1, input_tokens=5, output_tokens=2, response="A b d")],
    }
    found = AnswerAgreement().compare(given)
    assert found["full"]["answer_agreement"] == 1.0
    assert found["short"]["answer_agreement"] == pytest.approx(2 / 3)


def test_a_missing_answer_counts_for_nobody():
    """An error is no disagreement."""
    given = {
        "full": [EvalRow("full", 1, response="a")],
        "short": [EvalRow("short", 1, error="failed")],
    }
    assert math.isnan(AnswerAgreement().compare(given)["short"]["answer_agreement"])


def test_little_is_not_shown_as_nothing():
    """A hundredth of a cent has more zeros than four places."""
    (line,) = NetCost(price_in=1.0, price_out=1.0).section({"s": rows(["a b c"])}, {}).lines
    assert (line["raw"], line["net"]) == ("9e-06", "9e-06")


def test_a_conversation_that_was_made_one_text_is_compared_by_its_end():
    """Sixty requests against five would be no saving: of both the last is billed."""
    turns = [
        {"role": "user", "content": LONG},
        {"role": "assistant", "content": "well"},
        {"role": "user", "content": "and now?"},
    ]
    example = {"context": f"{LONG}\n\nwell\n\nand now?", "turns": turns}
    short = {"context": "and now?", "response": "x"}

    def row(system, output, i=1, n_after=9):
        metadata, _ = blocks(example, output)
        return EvalRow(system, i, {"f1": 1.0}, 9, n_after, metadata)

    given = {"full": [row("full", {"response": "x"})], "short": [row("short", short, n_after=2)]}
    section = NetCost(cache="none").section(given, {})
    assert [line["requests"] for line in section.lines] == ["1", "1"]
    assert "only the last request of 1 conversations" in section.title
    both = {name: [row(name, {"response": "x"})] for name in ("full", "same")}
    section = NetCost(cache="none").section(both, {})
    assert [line["requests"] for line in section.lines] == ["2", "2"]
    assert "only" not in section.title


def test_ratios_say_how_sure_they_are():
    """Net dollars for a pass, and the share that is cached: by what each row adds to them."""
    given = rows([LONG * (1 + i % 4) for i in range(20)])
    for row in given[::3]:
        row.scores["f1"] = 0.0
    given[4].error = "lost"
    metric = NetCost(cache="anthropic", price_in=1.0, price_out=10.0)
    found = sum_up({"s": given}, [metric])
    values, sure = found.summary["s"], found.estimates["s"]
    n_passing = sum(row.error is None and row.scores["f1"] > 0.5 for row in given)
    assert values["net_usd_of_pass"] == pytest.approx(values["net_usd"] / n_passing)
    for name in ("net_usd_of_pass", "cache_hit_rate"):
        low, high = sure[name].interval
        assert 0 <= low < values[name] < high
        assert (sure[name].method, sure[name].stderr > 0) == ("fieller", True)


def test_what_a_pass_costs_has_no_bounds_where_few_pass():
    """One of twenty: nobody knows how many would."""
    given = rows([LONG] * 20)
    for row in given[1:]:
        row.scores["f1"] = 0.0
    metric = NetCost(cache="none", price_in=1.0, price_out=10.0)
    found = sum_up({"s": given}, [metric]).estimates["s"]["net_usd_of_pass"]
    assert (found.is_bounded, found.method) == (False, "fieller-unbounded")


def test_rows_add_up_to_the_bill_of_all_models_together():
    """A chain that asks two models, each with a price of its own, or telling what it cost."""
    accounts = [
        Account(to={"model": "a"}, stage="one", told=True),
        Account(to={"model": "b"}, stage="two", told=True),
    ]
    model = cache_model("openai")
    for row in range(6):
        request = requests_of(rows([LONG * 4])[0].metadata)[0]
        accounts[0].take(row, Asked(request, reply_tokens=row), 0.0)
        accounts[1].take(row, Asked(None, prompt_tokens=50, cost_usd=0.01 * row), 0.0)
    for account, price in zip(accounts, [Price(1.0, 10.0), None], strict=True):
        account.settle(model)
        by_row = account.net_usd_by_row(price, model)
        assert sorted(by_row) == [*range(6)]
        assert sum(by_row.values()) == pytest.approx(account.net_usd(price, model))
        assert account.net_usd(price, model) > 0
