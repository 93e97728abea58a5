"""The key goes to the endpoint and nowhere else."""

from __future__ import annotations

import os

import pytest

from cb_openai import Access, ChatClient, OpenAI
from cbcore import evaluate
from tests.forkserver import copy_plugin_cache, run_cb

KEY = 'quite secret/"key" of 1234'
"""Looks like no key, and JSON has to escape it."""
PLAIN_KEY = "quite-secret-key-1234"


@pytest.fixture
def cb(tmp_path):
    """Run `cb` in an empty folder with the key in the environment."""
    environ = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "HOME": str(tmp_path / "home"),
        "MY_KEY": PLAIN_KEY,
        "CB_DEBUG": "1",
    }

    copy_plugin_cache(tmp_path / "cache")

    def run(*arguments):
        return run_cb(*arguments, cwd=tmp_path, env=environ)

    return run


RUN_FILE = """
systems:
  - openai:
      base_url: "{url}"
      model: gpt-4o
      {key}
datasets: [data.jsonl]
output: [json=result.json, jsonl=rows.jsonl, html=report.html, table]
"""


@pytest.mark.parametrize(
    "key",
    ["api_key: ${MY_KEY}", "api_key_env: MY_KEY", "headers: {Authorization: 'Bearer ${MY_KEY}'}"],
)
@pytest.mark.parametrize("fault", ["ok", "echo_key"])
def test_no_file_and_no_line_of_a_run_holds_the_key(server, cb, tmp_path, key, fault):
    """Results, reports, store, debug log, errors and the plan, whether it works or not."""
    (tmp_path / "data.jsonl").write_text('{"id": 1, "question": "Where?", "answer": "Paris"}\n')
    url = server.url(fault=fault)
    (tmp_path / "bench.yaml").write_text(RUN_FILE.format(url=url, key=key))
    for arguments, told in ((["--dry-run"], "nothing was called"), (["-vv"], "request_id=req-")):
        done = cb("run", "bench.yaml", *arguments)
        assert told in done.stdout + done.stderr
        assert PLAIN_KEY not in done.stdout + done.stderr
    assert server.requests(url)[0]["headers"]["authorization"] == f"Bearer {PLAIN_KEY}"
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"result.json", "rows.jsonl", "report.html"} <= {path.name for path in written}
    assert any(".cb" in path.parts for path in written)
    for path in written:
        assert PLAIN_KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("key", [KEY, PLAIN_KEY])
def test_a_key_that_comes_back_is_redacted(server, key):
    """In an error, in an answer, plain or escaped."""
    refused = OpenAI(server.url(fault="echo_key"), "gpt-4o", api_key=key, name="refused")
    echoing = OpenAI(server.url(text="echo"), "gpt-4o", api_key=key, name="echoing")
    result = evaluate(
        [refused, echoing],
        [{"id": 1, "question": f"It is {key}."}],
        evaluators=[],
        metrics=[],
    )
    assert key not in result.to_json()
    assert result.rows[0].error.startswith("StatusError: unauthorized: status 401: wrong key: ")
    assert result.rows[1].response == "It is ***."


@pytest.mark.parametrize(
    "headers", [{"X-Api-Key": PLAIN_KEY}, {"Authorization": f"Bearer {PLAIN_KEY}"}]
)
def test_a_header_that_comes_back_is_redacted(server, headers):
    """If its name says that it is a secret, and without the word in front of a token."""
    system = OpenAI(server.url(text="echo"), "gpt-4o", headers={**headers, "X-Key": ""})
    example = {"id": 1, "question": f"It is {PLAIN_KEY}."}
    result = evaluate([system], [example], evaluators=[], metrics=[])
    assert result.rows[0].response == "It is ***."


def test_a_refusal_says_that_no_key_was_sent(server, monkeypatch):
    """And which variable would have held it; with a key, that is not the reason."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    address = server.url(fault="echo_key")
    systems = [
        OpenAI(address, "gpt-4o", name="unset"),
        OpenAI(address, "gpt-4o", name="given", api_key=KEY),
    ]
    examples = [{"id": 1, "question": "q"}]
    rows = evaluate(systems, examples, evaluators=[], metrics=[], progress=False).rows
    told = "no key was sent: the environment variable OPENAI_API_KEY is not set"
    assert told in rows[0].error
    assert "no key was sent" not in rows[1].error


def test_no_key_in_what_python_shows():
    """Neither of the client nor of the system."""
    access = Access(api_key=KEY, headers={"X-Api-Key": KEY})
    made = [ChatClient("http://h", "m", access=access), OpenAI("http://h", "gpt-4", api_key=KEY)]
    for value in made:
        assert KEY not in repr(value) + str(value) + repr(value.access) + repr(value.access.api_key)


def test_a_key_that_no_header_can_hold_is_refused_and_not_told():
    """A line break at the end of a key file is a usual mistake."""
    with pytest.raises(ValueError, match="line break") as caught:
        OpenAI("http://h", "gpt-4", api_key=f"{PLAIN_KEY}\n")
    assert PLAIN_KEY not in str(caught.value)
