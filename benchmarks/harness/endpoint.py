"""An endpoint of completions that tells how likely each token of a prompt was, by PyTorch."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def told(model: Any, tokenizer: Any, prompt: str) -> dict[str, Any]:
    """Tokens, where they begin, how likely each was, and the likeliest in its place."""
    import torch

    read = tokenizer(prompt, add_special_tokens=False, return_offsets_mapping=True)
    ids, offsets = read["input_ids"], [start for start, _ in read["offset_mapping"]]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    values = [None, *(float(logits[i, token]) for i, token in enumerate(ids[1:]))]
    best = [None, *({"best": float(row.max())} for row in logits[:-1])]
    return {
        "tokens": [prompt[start:end] for start, end in read["offset_mapping"]],
        "text_offset": offsets,
        "token_logprobs": values,
        "top_logprobs": best,
    }


@contextlib.contextmanager
def serving(model: Any, tokenizer: Any) -> Iterator[str]:
    """Listen on this machine for as long as the block runs; gives the address."""
    turn = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with turn:
                logprobs = told(model, tokenizer, asked["prompt"])
            choice = {"text": asked["prompt"], "finish_reason": "length", "logprobs": logprobs}
            body = json.dumps({"model": "m", "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
