"""A local stand-in for a model's endpoint that logs each request under the name of its model."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def reply_as_reader(prompt: str) -> str:
    """Answer with the name in the prompt."""
    found = re.search(r"is called (\w+)", prompt)
    return found[1] if found else "I do not know"


def reply_as_judge(prompt: str) -> str:
    """Rate 5 if the gold answer is in the response, else 1."""
    gold, response = (
        re.search(rf"<{name}-(\w+)>\n(.*?)\n</{name}-\1>", prompt, re.DOTALL)
        for name in ("gold", "response")
    )
    right = bool(gold and response and gold[2] in response[2])
    return json.dumps({"score": 5 if right else 1, "reason": "Compared with the gold answer."})


REPLIES = {"reader": reply_as_reader, "judge": reply_as_judge}


class Handler(BaseHTTPRequestHandler):
    """Replies to chat completions."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        text = REPLIES[body["model"]](prompt)
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        counted = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(text.split())}
        reply = {"id": "1", "object": "chat.completion", "choices": [choice], "usage": counted}
        payload = json.dumps(reply).encode()
        self.server.note_call(body["model"])
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


class Endpoint(ThreadingHTTPServer):
    """Serves in a thread of this process while the `with` block lasts."""

    daemon_threads = True

    def __init__(self, log: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.log = log
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def note_call(self, model: str) -> None:
        with self.lock, self.log.open("a") as log:
            log.write(f"{model}\n")

    def __enter__(self) -> Endpoint:  # noqa: PYI034 - no Self on 3.10
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
