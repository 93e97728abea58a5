"""A model and embeddings on this machine: facts are what was said, vectors are counts of words."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMS = 64
_SAID = re.compile(r"\[\d{4}[^\]]*\] [^\n\"]+")


def vector(text):
    """Words in DIMS drawers, by a hash that is the same in every process."""
    counts = [0.0] * DIMS
    for word in re.findall(r"\w\w\w+", text.lower()):
        counts[int(hashlib.md5(word.encode()).hexdigest(), 16) % DIMS] += 1.0
    return counts if any(counts) else [1.0] * DIMS


def facts(request):
    """Every dated line of the last message, once."""
    text = str(request["messages"][-1]["content"])
    said = list(dict.fromkeys(line.strip() for line in _SAID.findall(text)))
    return json.dumps({"memory": [{"text": line} for line in said], "facts": said})


class Endpoint(BaseHTTPRequestHandler):
    """Answers as an OpenAI-compatible endpoint does."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
            data = [
                {"object": "embedding", "index": i, "embedding": vector(str(text))}
                for i, text in enumerate(texts)
            ]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            body = {"object": "list", "data": data, "model": request["model"], "usage": usage}
        else:
            message = {"role": "assistant", "content": facts(request)}
            body = {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": request["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 900, "completion_tokens": 30, "total_tokens": 930},
            }
        answer = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        """Nothing: the port is the only line."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    print(server.server_port, flush=True)
    sys.stdout.close()
    server.serve_forever()
