"""A stand-in endpoint that can misbehave in every way a real one does, for tests.

    with FaultServer() as server:
        client = ChatClient(server.url(fault="status", status=429, retry_after=1), "any")

    python -m cb_openai.testing --port 7878      # for trying things by hand

What it does is chosen by the query of the base URL: `fault` names one of `FAULTS`, or several
with commas between them that take turns, `times=2` limits it to the first two requests,
`after=2` to those that follow, `key` counts separately.
Streams are sent to those who ask for one. It runs in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from email.utils import formatdate
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from cb_openai.testing_replies import BODIES, REPLIES, good_reply
from cb_openai.testing_streams import STREAM_FAULTS, stream

_KEYS = count()


class FaultServer:
    """The server in another process, for as long as the `with` block lasts.

    `text` is what it answers; without a port it takes one that is free.
    """

    def __init__(self, port: int = 0, *, text: str = "Paris") -> None:
        self._process: subprocess.Popen[str] | None = None
        self.port = port
        self.text = text

    def __enter__(self) -> FaultServer:  # noqa: PYI034 - no Self on 3.10
        options = ["--port", str(self.port), "--text", self.text, "--until-stdin-closes"]
        self._process = subprocess.Popen(  # noqa: S603 - this module, by this interpreter
            [sys.executable, "-m", "cb_openai.testing", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None  # noqa: S101 - for type checkers
        self.port = int(self._process.stdout.readline().rpartition(":")[2])
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None  # noqa: S101 - for type checkers
        self._process.communicate()  # closes its standard input, which ends it

    def url(self, **behaviour: Any) -> str:
        """A base URL with this behaviour, counted apart from every other."""
        query = urlencode({"key": f"k{next(_KEYS)}", **behaviour})
        return f"http://127.0.0.1:{self.port}?{query}"

    def requests(self, base_url: str) -> list[dict[str, Any]]:
        """The requests under a base URL: `path`, `headers` and `body` of each request."""
        return self._statistics(base_url)["requests"]  # type: ignore[no-any-return]

    def most_under_way(self, base_url: str) -> int:
        """The largest number of requests there were at once."""
        return self._statistics(base_url)["most_under_way"]  # type: ignore[no-any-return]

    def _statistics(self, base_url: str) -> Any:
        query = urlsplit(base_url).query
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/statistics?{query}") as reply:
            return json.load(reply)


WAYS = ("hang", "drip", "endless", "large", "drop", "drop_at_once", "gzip", "echo_key", "status")
"""Faults of the exchange itself."""

FAULTS = ("ok", *REPLIES, *BODIES, *WAYS, *STREAM_FAULTS)


# -- the server -----------------------------------------------------------------------------------


class _Server:
    def __init__(self, text: str) -> None:
        self.text = text
        self.seen: dict[str, list[dict[str, Any]]] = {}
        self.under_way: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.number = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError)
        with contextlib.suppress(*ended):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request. False ends the connection."""
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        parts = urlsplit(target)
        behaviour = {"text": self.text, **dict(parse_qsl(parts.query))}
        key = behaviour.get("key", "")
        if method == "GET":
            known = {"requests": self.seen.get(key, []), "most_under_way": self.most.get(key, 0)}
            return await _send(writer, 200, json.dumps(known).encode())
        asked = json.loads(body)
        before = self.seen.setdefault(key, [])
        before.append({"path": parts.path, "headers": headers, "body": asked})
        faults = behaviour.get("fault", "ok").split(",")
        behaviour["fault"] = faults[(len(before) - 1) % len(faults)]
        under_way = self.under_way[key] = self.under_way.get(key, 0) + 1
        self.most[key] = max(self.most.get(key, 0), under_way)
        try:
            await asyncio.sleep(float(behaviour.get("delay", 0)))
            if under_way > int(behaviour.get("capacity", sys.maxsize)):
                behaviour |= {"fault": "status", "status": "429"}
            elif not _is_due(behaviour, len(before)):
                behaviour["fault"] = "ok"
            return await self._answer(writer, behaviour, parts.path, asked, headers)
        finally:
            self.under_way[key] -= 1

    async def _answer(
        self,
        writer: asyncio.StreamWriter,
        behaviour: Mapping[str, str],
        path: str,
        asked: Mapping[str, Any],
        headers: Mapping[str, str],
    ) -> bool:
        fault = behaviour.get("fault", "ok")
        self.number += 1
        extra = {"x-request-id": f"req-{self.number}"}
        if fault in BODIES:
            status, kind, content = BODIES[fault]
            extra |= {"location": "http://127.0.0.1:1/elsewhere", "content-type": kind}
            return await _send(writer, status, content, extra)
        if fault == "status":
            return await _send(writer, *_refusal(behaviour), extra)
        if fault == "echo_key":
            told = {"error": {"message": f"wrong key: {headers.get('authorization')}"}}
            return await _send(writer, 401, json.dumps(told).encode(), extra)
        reply = REPLIES.get(fault) or good_reply(behaviour, path, asked)
        whole = (*WAYS, "stream_whole")
        if asked.get("stream") and fault not in whole:
            return await stream(writer, fault, reply, path, asked)
        good = json.dumps(reply).encode()
        if fault == "gzip":
            return await _send(writer, 200, gzip.compress(good), {"content-encoding": "gzip"})
        if fault in ("hang", "drip", "endless", "large", "drop", "drop_at_once"):
            return await _misbehave(writer, fault, good)
        return await _send(writer, 200, good, extra)


def _is_due(behaviour: Mapping[str, str], number: int) -> bool:
    """Whether the fault is for the request of this number."""
    first, last = int(behaviour.get("after", 0)), int(behaviour.get("times", sys.maxsize))
    return first < number <= first + last


def _refusal(behaviour: Mapping[str, str]) -> tuple[int, bytes, dict[str, str]]:
    """A status with the error object that endpoints send; `retry_after` in seconds or as a date."""
    status = int(behaviour.get("status", "500"))
    extra = {}
    if (after := behaviour.get("retry_after")) is not None:
        date = after.removeprefix("date:")
        extra["retry-after"] = (
            after if date == after else formatdate(time.time() + float(date), usegmt=True)
        )
    told = {"error": {"message": f"this is status {status}", "type": "test", "code": None}}
    return status, json.dumps(told).encode(), extra


async def _send(
    writer: asyncio.StreamWriter, status: int, body: bytes, *headers: Mapping[str, str]
) -> bool:
    lines = {"content-type": "application/json", "content-length": str(len(body))}
    for more in headers:
        lines |= more
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    writer.write(f"HTTP/1.1 {status} Told\r\n{head}\r\n".encode() + body)
    await writer.drain()
    return True


async def _misbehave(writer: asyncio.StreamWriter, fault: str, good: bytes) -> bool:
    if fault == "hang":
        await asyncio.sleep(3600)
    if fault == "drop_at_once":
        return False
    length = len(good) if fault in ("drop", "drip") else 10**9
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    writer.write(head.encode())
    if fault == "drop":
        writer.write(good[: len(good) // 2])
    elif fault == "drip":
        for byte in good:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.05)
    while fault in ("endless", "large"):
        writer.write(b" " * 65_536)
        await writer.drain()
        await asyncio.sleep(0.01 if fault == "endless" else 0)
    await writer.drain()
    return False


async def _main(port: int, text: str, *, until_stdin_closes: bool) -> None:
    server = await asyncio.start_server(_Server(text).serve, "127.0.0.1", port, limit=1 << 24)
    found = server.sockets[0].getsockname()[1]
    print(f"serving on http://127.0.0.1:{found}", flush=True)  # noqa: T201
    with contextlib.suppress(asyncio.CancelledError):
        if until_stdin_closes:
            await asyncio.to_thread(sys.stdin.read)
        else:
            await asyncio.Event().wait()
    for task in _others():
        task.cancel()
    server.close()


def _others() -> Iterator[asyncio.Task[Any]]:
    return (task for task in asyncio.all_tasks() if task is not asyncio.current_task())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m cb_openai.testing", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="default: one that is free")
    parser.add_argument("--text", default="Paris", help="what it answers; echo: what was asked")
    parser.add_argument("--until-stdin-closes", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(
            _main(arguments.port, arguments.text, until_stdin_closes=arguments.until_stdin_closes)
        )
