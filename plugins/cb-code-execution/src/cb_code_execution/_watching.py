"""Watching a program: what it uses is measured, and its end is made sure of."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import struct
import time
from pathlib import Path
from typing import Any

import attrs

from cb_code_execution.limits import Limits

_READ_AT_ONCE = 65_536
_LOOK_EVERY_S = 0.05
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_END_WITHIN_S = 30.0
"""How long the kernel may take to end a tree of processes that was killed."""
_LONGEST_VERDICT = 1 << 20
_CREDENTIALS = struct.Struct("3i")
_SOLUTION, _TESTS = 0, 1


@attrs.define
class Seen:
    """What was seen of a program. `stopped` says why it was not left to end by itself."""

    verdict: tuple[str, str] | None = None
    stopped: str = ""
    refused: str = ""
    exit_codes: dict[int, int] = attrs.Factory(dict)

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to wait for."""
        if self.verdict is None:
            return _TESTS in self.exit_codes
        return self.verdict[0] != "exited" or _SOLUTION in self.exit_codes


@attrs.define
class Program:
    """This process's ends of what a program is given: to control it, to tell each of its two
    cells its source, and to read what it prints."""

    control: socket.socket
    output: int
    cells: tuple[socket.socket, socket.socket]
    _waiting: dict[socket.socket, memoryview] = attrs.Factory(dict)
    _verdict: bytes = b""
    _printed: int = 0
    _pid: int = 0

    def watch(self, sources: tuple[bytes, bytes], limits: Limits) -> Seen:
        """Hand a program its sources and follow it to its verdict, its end, or a limit.

        Afterwards all of it has ended.
        """
        seen = Seen()
        deadline = time.monotonic() + limits.time_s
        look_at = time.monotonic() + _LOOK_EVERY_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.control, selectors.EVENT_READ, self._hear)
            selector.register(self.output, selectors.EVENT_READ, self._count)
            selector.register(self.cells[_TESTS], selectors.EVENT_READ, self._read_verdict)
            self._send(selector, sources)
            while not (seen.ended or seen.refused or seen.stopped):
                now = time.monotonic()
                if now >= look_at:
                    seen.stopped = self._uses_too_much(limits)
                    look_at = now + _LOOK_EVERY_S
                if now >= deadline:
                    seen.stopped = "timed out"
                if self._printed > limits.output_bytes:
                    seen.stopped = "too much output"
                for key, event in selector.select(min(look_at, deadline) - now):
                    if event & selectors.EVENT_WRITE:
                        self._send_more(selector, key.fileobj)
                    if event & selectors.EVENT_READ and not key.data(seen):
                        selector.unregister(key.fileobj)
            self._end(selector)
        return seen

    def _send(self, selector: selectors.BaseSelector, sources: tuple[bytes, bytes]) -> None:
        for cell, source in zip(self.cells, sources, strict=True):
            cell.setblocking(False)
            self._waiting[cell] = memoryview(struct.pack("<Q", len(source)) + source)
            self._send_more(selector, cell)

    def _send_more(self, selector: selectors.BaseSelector, cell: Any) -> None:
        """Send what fits; for the rest, wait until more does."""
        data = self._waiting.get(cell, memoryview(b""))
        with contextlib.suppress(BlockingIOError):
            try:
                while data:
                    data = data[cell.send(data[: 1 << 20]) :]
            except (BrokenPipeError, ConnectionResetError):
                data = data[:0]
        self._waiting[cell] = data
        reads = cell is self.cells[_TESTS]
        events = selectors.EVENT_READ * reads | selectors.EVENT_WRITE * bool(data)
        known = cell.fileno() in selector.get_map()
        if known and events:
            selector.modify(cell, events, self._read_verdict)
        elif known:
            selector.unregister(cell)
        elif data:
            selector.register(cell, events)

    def _hear(self, seen: Seen) -> bool:
        """What the process says that keeps the program."""
        try:
            message, about, _, _ = self.control.recvmsg(_READ_AT_ONCE, 256)
        except ConnectionResetError:
            message, about = b"", []
        if not message:
            seen.refused = seen.refused or ("" if seen.ended else "its keeper has ended")
            return False
        for level, kind, data in about:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                self._pid = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
        told = json.loads(message)
        seen.refused = told.get("refused", seen.refused)
        if "ended" in told:
            seen.exit_codes[told["ended"]] = told["code"]
        return True

    def _count(self, _: Seen) -> bool:
        chunk = os.read(self.output, _READ_AT_ONCE)
        self._printed += len(chunk)
        return bool(chunk)

    def _read_verdict(self, seen: Seen) -> bool:
        try:
            chunk = self.cells[_TESTS].recv(_READ_AT_ONCE)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            chunk = b""
        self._verdict += chunk
        if len(self._verdict) >= 8:
            (length,) = struct.unpack_from("<Q", self._verdict)
            if len(self._verdict) >= 8 + length:
                status, message = json.loads(self._verdict[8 : 8 + length])
                seen.verdict = (str(status), str(message))
        return bool(chunk) and len(self._verdict) < _LONGEST_VERDICT

    def _uses_too_much(self, limits: Limits) -> str:
        used = _memory_bytes(self._pid) + _socket_bytes(self._pid) if self._pid else 0
        return "too much memory" if used > limits.memory_bytes_of_all else ""

    def _end(self, selector: selectors.BaseSelector) -> None:
        """Have all of it killed, and wait until it is."""
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_WR)
        self.control.settimeout(_END_WITHIN_S)
        with contextlib.suppress(OSError):
            while self.control.recv(_READ_AT_ONCE):
                pass

    def close(self) -> None:
        os.close(self.output)
        for one in (self.control, *self.cells):
            one.close()


def _memory_bytes(pid: int) -> int:
    """The memory of a process and all that it started, as far as they are still there."""
    total, found = 0, [str(pid)]
    while found:
        process = Path("/proc", found.pop())
        with contextlib.suppress(OSError):
            total += int((process / "statm").read_text().split()[1]) * _PAGE_BYTES
            for children in process.glob("task/*/children"):
                found += children.read_text().split()
    return total


def _socket_bytes(pid: int) -> int:
    """The most that can be waiting in the sockets of a program, which is memory of the kernel."""
    try:
        text = Path(f"/proc/{pid}/net/sockstat").read_text()
        each = int(Path("/proc/sys/net/core/wmem_default").read_text())
    except OSError:
        return 0
    return int(text.split()[2]) * each
