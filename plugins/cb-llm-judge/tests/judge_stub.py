"""A judge behind HTTP, for tests: the model's name says how it behaves. Run as a script.

It prints its port, answers chat completions, and lists what it was asked under `/asked`.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ASKED: list[dict] = []
LOCK = threading.Lock()


def shown(prompt: str, name: str) -> str:
    match = re.search(rf"<{name}-(\w+)>\n(.*?)\n</{name}-\1>", prompt, re.DOTALL)
    return match[2] if match else ""


def honest(prompt: str) -> str:
    """5 for a response with the gold answer in it, 1 for another; the better of two."""
    gold = shown(prompt, "gold")
    if "response_a" in prompt:
        has_a, has_b = (gold in shown(prompt, name) for name in ("response_a", "response_b"))
        winner = "tie" if has_a == has_b else "A" if has_a else "B"
        return json.dumps({"winner": winner, "reason": "It has the gold answer."})
    if '"verdict"' in prompt:
        return json.dumps({"verdict": int("say yes" in prompt), "reason": "As asked."})
    score = 5 if gold in shown(prompt, "response") else 1
    return json.dumps({"score": score, "reason": f"Compared with {gold}."})


FIXED = {
    "fenced": 'Here you are:\n```json\n{"score": 4, "reason": "Nearly."}\n```',
    "prose": "**Score:** 4/5\n\nIt is nearly right.",
    "garbage": "I would rather talk about the weather.",
    "out-of-range": '{"score": 7, "reason": "Outstanding."}',
    "undecided": '{"score": 1, "reason": "Bad."} or rather {"score": 5, "reason": "Good."}',
    "truncated": '{"score": 4, "reason": "The response sta',
    "cut-short": '{"sco',
    "empty": "",
    "first": '{"winner": "A", "reason": "It came first."}',
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        with LOCK:
            self.send(200, ASKED)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model, has_schema = body["model"], "response_format" in body
        with LOCK:
            n_before = sum(asked["model"] == model for asked in ASKED)
            key = self.headers.get("Authorization", "")
            facts = {k: body.get(k) for k in ("model", "temperature", "max_tokens", "seed")}
            ASKED.append({**facts, "schema": has_schema, "key": key, "body": body["messages"]})
        if model == "failing" or (model == "flaky" and n_before == 0):
            return self.send(500, {"error": {"message": "out of order"}})
        if model == "choosy" or (model == "no-schema" and has_schema):
            return self.send(400, {"error": {"message": "unknown field response_format"}})
        prompt = body["messages"][-1]["content"]
        if model == "seeded":
            text = json.dumps({"score": 1 + (body.get("seed") or 0), "reason": "By seed."})
        elif model == "leaking":
            text = json.dumps({"score": 3, "reason": f"You sent {key}."})
        else:
            text = FIXED.get(model) if model in FIXED else honest(prompt)
        cut = model in ("truncated", "cut-short")
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "length" if cut else "stop",
        }
        return self.send(200, {"id": "1", "object": "chat.completion", "choices": [choice]})

    def send(self, status: int, data: object) -> None:
        payload = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()
