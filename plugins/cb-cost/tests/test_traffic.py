"""Logs of proxies as examples."""

from __future__ import annotations

import json

import pytest

from cb_cost import Traffic
from cb_cost.logs import read_line
from cbcore.exceptions import DataError, UsageError

pytest_plugins = ["cb_testing"]

USER = {"role": "user", "content": "Where is it?"}
REPLY = {"role": "assistant", "content": "Here."}
MORE = {"role": "user", "content": "Since when?"}


@pytest.mark.parametrize(
    ("entry", "reply"),
    [
        ({"messages": [USER], "response": "Here."}, "Here."),
        ({"messages": [USER, REPLY]}, "Here."),
        ({"messages": [USER]}, None),
        ({"custom_id": "1", "body": {"model": "m", "messages": [USER]}}, None),
        (
            {
                "request": {"body": {"messages": [USER]}},
                "response": {"body": {"choices": [{"message": REPLY}]}},
            },
            "Here.",
        ),
        ({"kwargs": {"messages": [USER]}, "response": {"choices": [{"message": REPLY}]}}, "Here."),
        ({"input": [USER], "output": {"role": "assistant", "content": "Here."}}, "Here."),
        ({"input": {"messages": [USER]}, "output": "Here."}, "Here."),
        ({"prompt": "Where is it?", "completion": "Here."}, "Here."),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "Where is it?"}]}]},
            None,
        ),
    ],
)
def test_layouts_of_logs(entry, reply):
    """Messages and reply are found where common proxies put them."""
    logged = read_line(entry)
    assert [m["content"] for m in logged.messages] == ["Where is it?"]
    assert logged.reply == reply


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({"timestamp": 12.5}, 12.5),
        ({"created_at": "1970-01-01T00:01:00Z"}, 60.0),
        ({"startTime": 1_700_000_000_000}, 1_700_000_000.0),
        ({"time": "yesterday"}, None),
    ],
)
def test_times(told, seconds):
    """In seconds, milliseconds or as text; what is none is left out."""
    assert read_line({"messages": [USER], **told}).at_s == seconds


def log(tmp_path, *entries):
    file = tmp_path / "log.jsonl"
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    file.write_text("\n".join(lines), encoding="utf-8")
    return str(file)


FIRST = {"messages": [USER], "response": "Here."}
SECOND = {"messages": [USER, REPLY, MORE], "response": "Today."}
OTHER = {"messages": [{"role": "user", "content": "Who?"}], "response": "I."}


def test_requests_that_go_on_are_one_session(tmp_path):
    """Told by what they begin with; another one in between does not matter."""
    sessions = list(Traffic(log(tmp_path, FIRST, OTHER, SECOND)))
    assert [len(example["turns"]) for example in sessions] == [3, 1]
    assert sessions[0]["answer"] == "Today."
    assert sessions[0]["context"] == "Where is it?\n\nHere.\n\nSince when?"


def test_sessions_may_have_ids(tmp_path):
    """They are the clusters of the examples."""
    entries = [{**FIRST, "session_id": "s1"}, {**SECOND, "metadata": {"session_id": "s1"}}]
    (example,) = Traffic(log(tmp_path, *entries))
    assert example["cluster"] == "s1"


def test_every_request_can_be_an_example(tmp_path):
    """What was said before is its context, the last message its question."""
    first, second = Traffic(log(tmp_path, FIRST, SECOND), each="request")
    assert first["question"] == first["context"] == "Where is it?"
    assert second["question"] == "Since when?"
    assert second["context"] == "user: Where is it?\n\nassistant: Here."
    assert [first["answer"], second["answer"]] == ["Here.", "Today."]


def test_lines_that_cannot_be_read_are_errors_with_their_number(tmp_path):
    """The others are used."""
    found = list(Traffic(log(tmp_path, "{broken", {"no": "messages"}, "[1]", FIRST)))
    errors = [one for one in found if isinstance(one, DataError)]
    assert len(found) == 4
    assert [str(n) in error.message for n, error in enumerate(errors, start=1)] == [True] * 3


@pytest.mark.parametrize("path", ["/no/such/log.jsonl", ""])
def test_a_log_that_is_not_there_is_told(path):
    """With what was looked for."""
    with pytest.raises(DataError, match="cannot be read"):
        list(Traffic(path))


@pytest.mark.parametrize(
    ("entry", "reply"),
    [
        (
            {
                "request": {
                    "system": [{"type": "text", "text": "Be brief."}],
                    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
                },
                "response": {"content": [{"type": "text", "text": "Hello"}]},
            },
            "Hello",
        ),
        (
            {
                "body": {
                    "model": "m",
                    "instructions": "Be brief.",
                    "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
                },
                "response": {
                    "output": [
                        {"type": "reasoning", "summary": []},
                        {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
                    ]
                },
            },
            "Hello",
        ),
    ],
)
def test_what_the_system_says_beside_the_messages_comes_first(entry, reply):
    """It was sent, and is paid for."""
    logged = read_line(entry)
    assert [(m["role"], m["content"]) for m in logged.messages] == [
        ("system", "Be brief."),
        ("user", "Hi"),
    ]
    assert logged.reply == reply


CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {}}}]


@pytest.mark.parametrize(
    "entry",
    [
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "document", "source": {}}]}]},
        {
            "messages": [
                USER,
                {"role": "assistant", "content": [{"type": "web_search_tool_result"}]},
                USER,
            ]
        },
        {"messages": [USER], "tools": TOOLS},
        {"messages": [USER], "functions": [{"name": "find"}]},
        {"messages": [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}]},
        {"messages": [USER, {"role": "tool", "tool_call_id": "c1", "content": "[1]"}]},
        {"messages": [USER, {"role": "function", "name": "find", "content": "[1]"}]},
        {
            "request": {"messages": [USER]},
            "response": {"choices": [{"message": {"content": None, "tool_calls": [CALL]}}]},
        },
        {
            "messages": [USER],
            "response": {"content": [{"type": "tool_use", "id": "t", "input": {}}]},
        },
        {
            "body": {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "tool_result", "tool_use_id": "t", "content": "[1]"}],
                    }
                ]
            }
        },
        {"input": [USER, {"type": "function_call", "name": "find", "arguments": "{}"}]},
        {"input": [USER, {"type": "function_call_output", "call_id": "c", "output": "[1]"}]},
    ],
)
def test_a_log_with_tool_calls_is_refused_with_their_number(tmp_path, entry):
    """Left out, they would be missing in every prompt after them."""
    path = log(tmp_path, FIRST, entry, SECOND, entry)
    with pytest.raises(UsageError, match=r"log\.jsonl: 2 of 4 requests have tools, tool calls"):
        Traffic(path)


@pytest.mark.parametrize(
    "entry",
    [
        {**FIRST, "tools": [], "functions": None},
        {"messages": [{"role": "user", "content": 'Which tool has "role": "tool"?'}, REPLY]},
        {"messages": [{**USER, "tool_calls": None}, REPLY]},
    ],
)
def test_a_log_that_only_mentions_tools_is_read(tmp_path, entry):
    assert len(list(Traffic(log(tmp_path, entry)))) == 1


def test_a_run_refuses_tool_calls_before_any_request(cb_runner):
    """Also when another dataset comes first: no example is processed, and the exit code is 2."""
    folder = cb_runner.folder
    log(folder, FIRST, {"messages": [USER], "tools": TOOLS})
    (folder / "first.jsonl").write_text('{"id": 1, "context": "a", "answer": "a"}\n')
    (folder / "asks.py").write_text(
        "class Asks:\n"
        "    name = 'asks'\n"
        "    def process(self, example):\n"
        "        open('asked', 'w').close()\n"
        "        return {'response': 'a'}\n"
    )
    done = cb_runner(
        *("run", "-s", "py:./asks.py:Asks", "-d", "first.jsonl", "-d", "traffic:log.jsonl")
    )
    assert (done.exit_code, (folder / "asked").exists()) == (2, False)
    assert "1 of 2 requests have tools, tool calls" in done.stderr


def test_examples_of_requests_are_in_the_order_of_time(tmp_path):
    """Whatever session they belong to."""
    entries = [{**SECOND, "timestamp": 30}, {**OTHER, "timestamp": 20}, {**FIRST, "timestamp": 10}]
    found = list(Traffic(log(tmp_path, *entries), each="request"))
    assert [example["timestamp"] for example in found] == [10, 20, 30]
    assert [example["id"] for example in found] == ["0.0", "1.0", "0.1"]


def test_newest_first_logs_have_the_same_sessions(tmp_path):
    """Also where two requests have the same second."""
    entries = [{**SECOND, "timestamp": 20}, {**FIRST, "timestamp": 20}, {**OTHER, "timestamp": 10}]
    sessions = list(Traffic(log(tmp_path, *entries)))
    assert [len(example["turns"]) for example in sessions] == [1, 3]


def test_a_session_has_the_time_of_each_turn(tmp_path):
    """None for a turn whose request the log does not have."""
    entries = [{**FIRST, "timestamp": "10"}, {**SECOND, "timestamp": "1970-01-01 00:01:00"}]
    (example,) = Traffic(log(tmp_path, *entries))
    assert example["turn_timestamps"] == ["10", "1970-01-01 00:01:00"]
    (example,) = Traffic(log(tmp_path, entries[1]))
    assert example["turn_timestamps"] == [None, "1970-01-01 00:01:00"]
