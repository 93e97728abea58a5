"""The system `openai` in a run: rows, usage, cost, conversations, tools, chains."""

from __future__ import annotations

import asyncio
import gc
import json
import warnings

import pytest

from cb_openai import OpenAI
from cbcore import evaluate
from cbcore.exceptions import DataError

EXAMPLE = {"id": 1, "context": "Paris is in France.", "question": "Where?", "answer": "Paris"}


@pytest.fixture(autouse=True)
def _no_key_of_the_machine(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("CB_PRICES", raising=False)


def rows_of(system, examples, **options):
    """The rows of a run with this system."""
    options = {"evaluators": [], "metrics": [], "progress": False, **options}
    return evaluate([system], examples, **options).rows


def test_a_row_has_the_answer_the_usage_and_the_cost(server):
    """The endpoint's own count stands beside the run's; the cost is theirs at list price."""
    system = OpenAI(server.url(), "gpt-4o", name="mine")
    (row,) = rows_of(system, [EXAMPLE])
    assert (row.system, row.response, row.error) == ("mine", "Paris", None)
    assert row.output_tokens == row.input_tokens == 7
    assert (row.metadata["prompt_tokens"], row.metadata["completion_tokens"]) == (100, 2)
    assert row.metadata["cached_tokens"] == 40
    assert row.metadata["cost_usd"] == pytest.approx((60 * 2.5 + 40 * 1.25 + 2 * 10) / 1e6)
    assert row.metadata["finish_reason"] == "stop"
    assert row.metadata["request_id"].startswith("req-")
    assert 0 < row.metadata["request_s"] <= row.latency
    assert "outcome" not in row.metadata
    assert "retries" not in row.metadata


def test_a_system_is_called_by_host_and_port(server):
    """Unless it is given a name."""
    assert OpenAI(server.url()).name == f"127.0.0.1:{server.port}"


def test_an_unknown_model_has_tokens_and_no_cost_and_that_is_said_once(server, caplog):
    """No made-up prices; one warning, not one per row."""
    rows = rows_of(OpenAI(server.url(), "llama-3"), [{**EXAMPLE, "id": i} for i in range(5)])
    assert all("cost_usd" not in row.metadata for row in rows)
    assert all(row.metadata["prompt_tokens"] == 100 for row in rows)
    assert caplog.text.count("no price is known for the model 'llama-3'") == 1


def test_an_endpoint_without_usage_has_no_cost(server, caplog):
    """That is said too, and tokens are counted here."""
    (row,) = rows_of(OpenAI(server.url(fault="no_usage"), "gpt-4o"), [EXAMPLE])
    assert "cost_usd" not in row.metadata
    assert row.output_tokens == row.input_tokens > 0
    assert "reports no usage" in caplog.text


def test_a_budget_stops_a_run_before_it_is_exceeded(server):
    """The cost of rows is what the budget counts."""
    from cbcore.exceptions import RunStoppedError

    url = server.url()
    cost = (60 * 2.5 + 40 * 1.25 + 2 * 10) / 1e6
    with pytest.raises(RunStoppedError, match="exceed the budget") as stopped:
        rows_of(
            OpenAI(url, "gpt-4o", max_tokens=2),
            [{**EXAMPLE, "id": i} for i in range(20)],
            budget_usd=cost * 5.5,
        )
    assert len(stopped.value.result.rows) == len(server.requests(url)) == 5


def test_a_truncated_answer_is_scored_and_marked(server, caplog):
    """In the row, and counted at the end of the run."""
    rows = rows_of(OpenAI(server.url(fault="truncated"), "gpt-4o"), [EXAMPLE])
    assert rows[0].response == "Paris is the"
    assert rows[0].metadata["outcome"] == "truncated"
    assert "1 requests: 1 truncated" in caplog.text


def test_failures_are_rows_without_scores_and_counted(server, caplog):
    """Three refusals, each with its reason; not one is an answer."""
    rows = rows_of(
        OpenAI(server.url(fault="refusal"), "gpt-4o"), [{**EXAMPLE, "id": i} for i in range(3)]
    )
    reason = "refused: the model declined: I cannot help with that."
    expected = f"NoAnswerError: {reason} (127.0.0.1:{server.port})"
    assert [row.error for row in rows] == [expected] * 3
    assert all(row.response is None and not row.scores for row in rows)
    assert "3 requests: 3 refused" in caplog.text


def test_retries_are_told_in_the_row(server):
    """A slow row can be explained."""
    url = server.url(fault="status", status=503, times=1)
    (row,) = rows_of(OpenAI(url, "gpt-4o", backoff_s=0.001), [EXAMPLE])
    assert row.metadata["retries"] == 1


def test_what_is_sent(server):
    """Every parameter of the request, and the seed of the run."""
    url = server.url()
    system = OpenAI(
        url,
        "gpt-4o",
        system_prompt="Be brief.",
        prompt="{question}",
        temperature=0.5,
        max_tokens=9,
        seed=4,
        stop="END",
        extra_body={"top_p": 0.5},
        headers={"x-team": "tests"},
    )
    rows_of(system, [EXAMPLE])
    (request,) = server.requests(url)
    assert request["headers"]["x-team"] == "tests"
    assert request["body"] == {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Where?"},
        ],
        "temperature": 0.5,
        "max_tokens": 9,
        "seed": 4,
        "stop": ["END"],
        "top_p": 0.5,
    }


def test_a_spec_string_makes_the_same(server, tmp_path, monkeypatch):
    """Lists, JSON objects and functions are written as text."""
    (tmp_path / "asking.py").write_text(
        "def ask(example):\n    return [{'role': 'user', 'content': example['question'].upper()}]\n"
    )
    monkeypatch.chdir(tmp_path)
    url = server.url()
    spec = (
        f"openai:{url}&a=b,model=gpt-4o,name=mine,temperature=none,stop=[a,b],"
        """extra_body='{"top_p": 0.5}',build_messages=py:./asking.py:ask"""
    )
    (row,) = evaluate([spec], [EXAMPLE], evaluators=[], metrics=[], seed=8).rows
    assert (row.system, row.error) == ("mine", None)
    assert server.requests(url)[0]["body"] == {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "WHERE?"}],
        "stop": ["a", "b"],
        "top_p": 0.5,
        "seed": 8,
    }


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"temperature": -1}, "temperature is -1"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"prompt": "no field"}, "no field in braces"),
        ({"prompt": "{question}", "build_messages": list}, "not both"),
        ({"api": "responses", "seed": 1}, "no seed"),
        ({"extra_body": {"messages": []}}, "cannot set 'messages'"),
        ({"extra_body": "{"}, "extra_body is not a JSON object"),
        ({"headers": "[]"}, "headers is a list"),
        ({"prices": "/nowhere.json"}, "cannot read"),
    ],
)
def test_a_wrong_parameter_is_refused_at_once(parameters, told):
    """Before anything is spent."""
    with pytest.raises((ValueError, TypeError), match=told):
        OpenAI("http://h", "gpt-4o", **parameters)


def test_tools_are_sent_and_calls_come_back(server):
    """A bare function is wrapped as the API wants it; a call without text has no response."""
    url = server.url(fault="tool_calls")
    function = {"name": "weather", "parameters": {"type": "object"}}
    wrapped = {"type": "function", "function": function}
    output = OpenAI(url, "gpt-4o").process({**EXAMPLE, "tools": [function, wrapped]})
    assert server.requests(url)[0]["body"]["tools"] == [wrapped, wrapped]
    assert output["tool_calls"] == [
        {"name": "weather", "arguments": {"city": "Paris"}, "id": "call-1"}
    ]
    assert "response" not in output


@pytest.mark.parametrize("tools", ["weather", [3]])
def test_tools_of_another_shape_are_an_error(tools):
    """That names the example, before anything is sent."""
    with pytest.raises(DataError, match="example 1: 'tools'"):
        OpenAI("http://h", "gpt-4o").process({**EXAMPLE, "tools": tools})


def test_a_conversation_is_asked_turn_by_turn(server):
    """All answers are kept, and the usage and cost of all turns add up."""
    url = server.url(text="echo")
    (row,) = rows_of(OpenAI(url, "gpt-4o"), [{"id": 1, "turns": ["one", "two"]}])
    assert (row.response, row.metadata["turn_responses"]) == ("two", ["one", "two"])
    assert (row.input_tokens, row.output_tokens, row.response_tokens) == (2, 2, 1)
    assert (row.metadata["prompt_tokens"], row.metadata["completion_tokens"]) == (200, 4)
    assert row.metadata["cost_usd"] == pytest.approx(2 * (60 * 2.5 + 40 * 1.25 + 20) / 1e6)
    second = server.requests(url)[1]["body"]["messages"]
    assert [m["content"] for m in second] == ["one", "one", "two"]


@pytest.mark.parametrize("turns", [None, []])
def test_an_example_without_turns_is_asked_its_question(server, turns):
    """In a table with conversations in it, the other rows have the column too."""
    (row,) = rows_of(OpenAI(server.url(text="echo"), "gpt-4o"), [{**EXAMPLE, "turns": turns}])
    assert (row.response, row.error) == ("Paris is in France.\n\nWhere?", None)


def test_a_conversation_that_asks_nothing_is_an_error():
    """No row without a reply looks like an answer."""
    turns = [{"role": "assistant", "content": "Hello"}]
    with pytest.raises(DataError, match="no turn of its conversation"):
        OpenAI("http://h", "gpt-4o").process({"id": 1, "turns": turns})


def test_a_chain_ends_in_an_endpoint(server):
    """What a compressor leaves is what the model gets, in conversations too."""
    url = server.url(text="echo")

    class Shorter:
        name = "shorter"

        def process(self, example):
            return {"context": example["context"][:5]}

    from cbcore.chains import chain

    system = chain([Shorter(), OpenAI(url, "gpt-4o")])
    rows = rows_of(system, [EXAMPLE, {"id": 2, "context": "Rome is", "turns": ["Where?"]}])
    assert [row.response for row in rows] == ["Paris\n\nWhere?", "Rome \n\nWhere?"]


def test_stored_answers_are_not_asked_for_again(server, tmp_path):
    """The same system resumes; another model asks anew."""
    url = server.url()
    for model, requests in [("gpt-4o", 1), ("gpt-4o", 1), ("gpt-4", 2)]:
        rows_of(OpenAI(url, model), [EXAMPLE], cache_dir=tmp_path / "cb")
        assert len(server.requests(url)) == requests


def test_the_connections_are_closed_at_the_end_of_a_run(server, capsys):
    """No warning of an open session, also when the run ends early or nobody can await."""
    from cbcore.exceptions import RunStoppedError

    examples = [{**EXAMPLE, "id": i} for i in range(5)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows_of(OpenAI(server.url(), "gpt-4o"), examples)
        with pytest.raises(RunStoppedError, match="exceed the budget"):
            rows_of(OpenAI(server.url(), "gpt-4o", max_tokens=1), examples, budget_tokens=250)
        OpenAI(server.url(), "gpt-4o").process(EXAMPLE)
        gc.collect()
    assert "Closing" not in capsys.readouterr().err


def test_one_system_serves_several_event_loops(server):
    """Each has connections of its own."""
    system = OpenAI(server.url(), "gpt-4o")
    for _ in range(2):
        assert system.process(EXAMPLE)["response"] == "Paris"
    assert rows_of(system, [EXAMPLE])[0].response == "Paris"


def test_process_inside_a_running_loop_says_so(server):
    """There it would block everything else."""

    async def run():
        OpenAI(server.url(), "gpt-4o").process(EXAMPLE)

    with pytest.raises(RuntimeError, match="running event loop"):
        asyncio.run(run())


def test_an_error_keeps_its_facts_when_it_is_copied(server):
    """Errors cross threads and processes."""
    import pickle

    from cb_openai import EndpointError

    with pytest.raises(EndpointError) as caught:
        OpenAI(server.url(fault="status", status=404), "gpt-4o").process(EXAMPLE)
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (copied.outcome, copied.status, copied.message) == (
        caught.value.outcome,
        404,
        caught.value.message,
    )
    assert json.dumps(copied.outcome) == '"http_error"'


# -- what a proxy saves, and what is waiting -------------------------------------------------------


@pytest.mark.parametrize("model", ["gpt-4o-mini-2024-07-18", "openai/gpt-4.1", "qwen"])
def test_a_usage_below_the_text_is_not_a_saving(server, model):
    """A server that counts in its own way would seem to compress, whatever its model is called."""
    long = {"id": 1, "context": "word " * 400}
    (row,) = rows_of(OpenAI(server.url(), model), [long])
    assert (row.input_tokens, row.output_tokens) == (401, 401)
    assert row.metadata["prompt_tokens"] == 100


def test_an_endpoint_that_changes_nothing_saves_nothing(server):
    """Its chat template makes its own count larger; the run counts the text on both sides."""
    examples = [{**EXAMPLE, "id": n, "context": "word " * n} for n in range(1, 90, 11)]
    rows = rows_of(OpenAI(server.url(), "gpt-4o-mini"), examples)
    assert [row.output_tokens for row in rows] == [row.input_tokens for row in rows]


def test_waiting_for_a_place_is_not_latency(server):
    """One request at a time: the others wait for it, which is told and left out."""
    system = OpenAI(server.url(delay=0.05), "gpt-4o", max_in_flight=1)
    rows = rows_of(system, [{**EXAMPLE, "id": n} for n in range(3)])
    first, second, third = sorted(rows, key=lambda row: row.metadata.get("waited_s", 0.0))
    assert "waited_s" not in first.metadata
    assert second.metadata["waited_s"] >= 0.05
    assert third.metadata["waited_s"] >= 0.1
    assert third.latency < third.metadata["waited_s"] + third.metadata["request_s"]


@pytest.mark.parametrize(("status", "is_waiting"), [(429, True), (503, False)])
def test_what_a_rate_limit_makes_a_call_wait_is_not_latency(server, status, is_waiting):
    """A failure of the endpoint is: whoever asks has to wait until it has recovered."""
    url = server.url(fault="status", status=status, times=1)
    (row,) = rows_of(OpenAI(url, "gpt-4o", backoff_s=0.01), [EXAMPLE])
    assert row.metadata["retries"] == 1
    assert (row.metadata.get("waited_s", 0.0) >= 0.01) is is_waiting


def test_the_first_call_finds_everything_set_up(server, monkeypatch):
    """Connections are prepared on the loop of the run before the first example is sent."""
    lines = []
    system = OpenAI(server.url(), "gpt-4o")
    ask = system._client.chat

    async def chat(*arguments, **options):
        lines.append(len(system._client._lines))
        return await ask(*arguments, **options)

    monkeypatch.setattr(system._client, "chat", chat)
    rows_of(system, [EXAMPLE])
    assert lines == [1]


@pytest.mark.parametrize(("own", "sent"), [({}, 0.8), ({"temperature": 0.3}, 0.3)])
def test_an_example_says_how_it_is_sampled_unless_the_user_does(server, own, sent):
    """Several samples of one prompt are alike at the temperature that is usual here."""
    asked = {**EXAMPLE, "generation": {"until": [], "temperature": 0.8}}
    url = server.url()
    rows_of(OpenAI(url, "m", **own), [asked])
    (request,) = server.requests(url)
    assert request["body"]["temperature"] == sent
