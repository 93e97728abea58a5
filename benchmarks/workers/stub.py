"""An endpoint that answers at once, as fast as one process of asyncio can. Prints its port.

With a share as argument, it refuses that share of requests with 429, at random.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys

REPLY = json.dumps(
    {
        "id": "stub",
        "model": "gpt-4o-mini",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Paris"},
            }
        ],
        "usage": {"prompt_tokens": 250, "completion_tokens": 1, "total_tokens": 251},
    }
).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-request-id: r\r\nContent-Length: "
RESPONSE = HEAD + str(len(REPLY)).encode() + b"\r\n\r\n" + REPLY
REFUSAL = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 2\r\n\r\n{}"
REFUSED = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
DICE = random.Random(429)


class Stub(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        while True:
            end = self.received.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.received[:end].lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            if len(self.received) < end + 4 + length:
                return
            self.received = self.received[end + 4 + length :]
            reply = REFUSAL if DICE.random() < REFUSED else RESPONSE
            self.transport.write(reply)  # type: ignore[attr-defined]


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until whoever started it goes away


if __name__ == "__main__":
    asyncio.run(main())
