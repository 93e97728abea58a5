"""A budget at an endpoint: whatever may have been billed is counted."""

from __future__ import annotations

import pytest

from cb_openai import OpenAI
from cbcore import evaluate
from cbcore.chains import chain
from cbcore.exceptions import RunStoppedError, UsageError
from cbcore.protocols import Cost

EXAMPLES = [{"id": i, "context": "Paris is in France.", "question": "Where?"} for i in range(30)]
COST = (60 * 2.5 + 40 * 1.25 + 2 * 10) / 1e6
"""What the server's usual usage costs at the list price of gpt-4o: 100 tokens, 40 cached, and 2."""


@pytest.fixture(autouse=True)
def _no_key_of_the_machine(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("CB_PRICES", raising=False)


def run(system, examples=EXAMPLES, **options):
    """The rows of a run, and what stopped it."""
    options = {"evaluators": [], "metrics": [], "progress": False, **options}
    try:
        return evaluate([system], examples, **options).rows, ""
    except RunStoppedError as stopped:
        return stopped.result.rows, stopped.message


def asked(url, **parameters):
    return OpenAI(url, "gpt-4o", backoff_s=0.001, **parameters)


@pytest.mark.parametrize("fault", ["refusal", "content_filter", "truncated_empty", "null"])
@pytest.mark.parametrize("limit", [{"budget_usd": COST * 4.5}, {"budget_tokens": 459}])
def test_replies_without_an_answer_are_billed_as_any_other(server, fault, limit):
    """Four fit, and no fifth is asked for."""
    url = server.url(fault=fault)
    rows, why = run(asked(url, max_tokens=2), **limit)
    assert "exceed the budget" in why
    assert len(rows) == len(server.requests(url)) == 4
    assert sum(row.metadata["cost_usd"] for row in rows) == pytest.approx(4 * COST)


def test_the_cost_of_images_is_no_bound():
    """Their tokens are unknown, and their base64 is not text."""
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0K" * 500}}
    message = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, part]}
    system = OpenAI("http://127.0.0.1:1", "gpt-4o", max_tokens=2)
    costs = [system.max_cost({"messages": [message]}), system.max_cost({"question": "Who?"})]
    assert [cost.is_bound for cost in costs] == [False, True]
    assert costs[0].tokens < 100


@pytest.mark.parametrize("status", [400, 401, 500])
def test_failures_do_not_let_all_others_through(server, status):
    """They were not billed, and showed nothing of what calls cost."""
    url = server.url(fault="status", status=status, times=5)
    rows, _ = run(asked(url, max_retries=0, max_tokens=2), budget_usd=COST * 4.5, max_workers=64)
    assert len(server.requests(url)) == 9
    assert [row.metadata["cost_usd"] for row in rows] == [0.0] * 5 + [pytest.approx(COST)] * 4


@pytest.mark.parametrize(
    ("fault", "unknown"), [("hang", 2), ("drop", 2), ("drop_at_once", 2), ("html_502", 0)]
)
def test_each_attempt_that_may_have_been_billed_is_counted(server, fault, unknown):
    """What timed out or broke off may have been answered; what was turned down was not."""
    url = server.url(fault=fault, times=2)
    (row,), _ = run(asked(url, timeout_s=0.3), EXAMPLES[:1])
    assert (row.error, row.metadata["retries"]) == (None, 2)
    assert row.metadata.get("requests_of_unknown_cost", 0) == unknown
    (row,), _ = run(asked(server.url(fault=fault), timeout_s=0.3, max_retries=1), EXAMPLES[:1])
    assert row.error is not None
    assert row.metadata.get("requests_of_unknown_cost", 0) == unknown


def test_requests_of_unknown_cost_count_as_the_most_they_can_cost(server):
    """Of the first call two attempts were lost, so that too little is left for a third call."""
    url = server.url(fault="drop", times=2)
    most = (14 * 2.5 + 100 * 10) / 1e6
    rows, why = run(asked(url, max_tokens=100), budget_usd=3.1 * most + COST)
    assert (len(rows), "exceed the budget" in why) == (2, True)


def test_a_conversation_that_fails_tells_what_its_turns_cost(server):
    """Two turns were answered, and the third was refused, which is billed too."""
    url = server.url(fault="refusal", after=2)
    (row,), _ = run(asked(url), [{"id": 1, "turns": ["one", "two", "three"]}])
    assert row.error.startswith("NoAnswerError: refused")
    asked_for = row.metadata.pop("requests")
    assert row.metadata == {"cost_usd": pytest.approx(3 * COST), "spent_tokens": 306}
    assert [one["usage"]["prompt_tokens"] for one in asked_for] == [100, 100, 100]


def test_a_chain_that_fails_tells_what_its_stages_cost(server):
    """The first stage was paid before the second was refused."""
    stages = [asked(server.url(), name="a"), asked(server.url(fault="refusal"), name="b")]
    (row,), _ = run(chain(stages), EXAMPLES[:1])
    asked_for = row.metadata.pop("requests")
    assert row.metadata == {"cost_usd": pytest.approx(2 * COST), "spent_tokens": 204}
    assert [(one["stage"], one["model"]) for one in asked_for] == [
        ("a", "gpt-4o"),
        ("b", "gpt-4o"),
    ]


@pytest.mark.parametrize("fault", ["no_usage", "odd_usage", "zero_usage"])
def test_an_endpoint_that_does_not_count_is_not_asked_again(server, fault):
    """What it costs cannot be known, so that the budget cannot be kept."""
    url = server.url(fault=fault)
    rows, why = run(asked(url), budget_usd=5.0, max_workers=64)
    assert len(rows) == len(server.requests(url)) == 1
    assert "does not report what its calls cost" in why


@pytest.mark.parametrize("fault", ["no_usage", "odd_usage", "zero_usage"])
def test_tokens_are_counted_here_where_an_endpoint_does_not(server, fault):
    """Seven of context and question, and one of the reply. A call may have 15."""
    url = server.url(fault=fault)
    run(asked(url, max_tokens=1), budget_tokens=31)
    assert len(server.requests(url)) == 3


def test_a_model_without_a_price_is_refused_before_it_is_asked(server):
    """In dollars nothing can be promised; in tokens it can."""
    url = server.url()
    with pytest.raises(UsageError, match="no price is known for 'mine'") as refused:
        run(OpenAI(url, "llama-3", name="mine"), budget_usd=1.0)
    assert refused.value.exit_code == 2
    assert "--budget-tokens" in refused.value.hint
    assert server.requests(url) == []


@pytest.mark.parametrize(
    ("parameters", "n_reply", "is_bound"),
    [
        ({}, 256, False),
        ({"max_tokens": 50}, 50, True),
        ({"extra_body": {"max_completion_tokens": 70}}, 70, True),
        ({"max_tokens": 50, "extra_body": {"n": 3}}, 150, True),
        ({"extra_body": {"n": 3}}, 256, False),
        ({"extra_body": {"max_tokens": "many"}}, 256, False),
    ],
)
def test_a_call_costs_at_most_its_prompt_and_the_longest_reply(parameters, n_reply, is_bound):
    """The limit has several names, and holds for each choice. Chat templates add some tokens."""
    cost = asked("http://h", **parameters).max_cost(EXAMPLES[0])
    assert cost == Cost(pytest.approx((14 * 2.5 + n_reply * 10) / 1e6), 14 + n_reply, is_bound)
    assert OpenAI("http://h", "llama-3", **parameters).max_cost(EXAMPLES[0]) == Cost(
        None, 14 + n_reply, is_bound
    )


@pytest.mark.parametrize(
    ("parameters", "example", "n_tokens"),
    [
        ({"max_tokens": 5}, {"turns": ["one", "two", "three"]}, (8 + 17 + 26) + (5 + 10) + 15),
        ({"system_prompt": "Be brief.", "max_tokens": 5}, {"question": "Why?"}, 3 + 7 + 6 + 5),
        ({}, {"question": "Why?", "generation": {"max_gen_toks": 9}}, 3 + 6 + 9),
        ({"max_tokens": 5}, {"question": "Why?", "tools": [{"name": "f"}]}, 3 + 6 + 17 + 5),
        ({"likelihood": "echo"}, {"loglikelihood_requests": [["one", " two"]] * 2}, 2 * 5),
    ],
    ids=["conversation", "system prompt", "limit of the example", "tools", "likelihoods"],
)
def test_all_that_a_call_sends_is_counted(parameters, example, n_tokens):
    """A conversation sends all that was said before with each turn."""
    assert asked("http://h", **parameters).max_cost(example) == Cost(
        pytest.approx(0, abs=1), n_tokens
    )


@pytest.mark.parametrize(
    "parameters", [{"prompt": "{response}"}, {"build_messages": lambda example: example["absent"]}]
)
def test_a_prompt_that_cannot_be_built_is_taken_to_be_the_example(parameters):
    """The call fails, or a stage before it adds what the prompt needs."""
    system = asked("http://h", max_tokens=5, **parameters)
    cost = system.max_cost(EXAMPLES[0])
    assert cost == Cost(pytest.approx(0, abs=1), cost.tokens, is_bound=False)
    assert cost.tokens > 7 + 256
    assert system.max_cost({}).usd is not None
    assert OpenAI("http://h", "llama-3", **parameters).max_cost({}).usd is None


def test_messages_built_for_a_cost_leave_the_example_as_it_is():
    """A function of the user may change what it gets."""

    def build(example):
        return [example["messages"].pop()]

    example = {"messages": [{"role": "user", "content": "one"}]}
    asked("http://h", build_messages=build).max_cost(example)
    assert len(example["messages"]) == 1


def test_a_call_that_may_not_fit_is_not_made(server):
    """With a limit of replies nothing has to be learned first."""
    url = server.url()
    rows, why = run(asked(url, max_tokens=1000), budget_usd=0.01)
    assert (rows, server.requests(url)) == ([], [])
    assert "the next call could exceed the budget of $0.01 ($0.0000 spent)" in why


def test_an_endpoint_that_bills_more_than_it_may_is_noticed_at_once(server):
    """One call shows it, and the others fit: the budget is exceeded by no more than that call."""
    url = server.url(delay=0.01)
    rows, _ = run(asked(url, max_tokens=2), budget_usd=COST * 4.5, max_workers=64)
    assert len(server.requests(url)) == len(rows) == 4
