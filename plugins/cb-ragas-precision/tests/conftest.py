"""The endpoint that tests of embeddings talk to."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

WORDS = ("paris", "rome", "seine", "tiber")


class EmbeddingServer(ThreadingHTTPServer):
    """Listens on a port of its own; `asked` is what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Embeddings)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Embeddings(BaseHTTPRequestHandler):
    """Counts of four words as vectors; the model's name says how it misbehaves."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, request))
        model, texts = request["model"], request["input"]
        if model == "down":
            return self.send(500, {"error": {"message": "out of order"}})
        data = [{"index": i, "embedding": vector(text)} for i, text in enumerate(texts)]
        if model == "backwards":
            data.reverse()
        if model == "short":
            data.pop()
        if model == "words":
            data[0]["embedding"] = ["a", "b"]
        usage = {"prompt_tokens": 100 * len(texts), "total_tokens": 100 * len(texts)}
        told = {} if model == "silent" else {"usage": usage}
        return self.send(200, {"object": "list", "data": data, "model": model, **told})

    def send(self, status, body):
        answer = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        """Nothing."""


def vector(text):
    counts = Counter(re.findall(r"\w+", text.lower()))
    return [float(counts[word]) for word in WORDS]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    """An endpoint for embeddings."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    running = EmbeddingServer()
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()
