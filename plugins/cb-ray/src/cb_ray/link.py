"""The run's side of the process that speaks with Ray, `cb_ray.envoy`."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from typing import IO, Any, BinaryIO, cast

from cb_ray import frames
from cb_ray.settings import Place
from cbcore.exceptions import RunError

Inbox = SimpleQueue[tuple[Any, ...]]

_BEGIN = """
import json, sys
sys.path[:] = json.loads(sys.argv.pop())
from cb_ray.envoy import main
main()
"""
_LEAVE_S = 15.0
_LATE_S = 30.0
"""How much longer than a first worker an envoy may take that should have given up itself."""
GONE = "gone"


class Link:
    """A process with a connection to Ray, shared by the crews of an executor.

    Made when the connection stands; raises RunError if it cannot be made. The process ends with
    this object, at the latest with the program, and by itself when the program was killed.
    """

    def __init__(self, place: Place, environment: Mapping[str, str]) -> None:
        self.folder = place.folder
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - read when the process has ended
        self._process = subprocess.Popen(  # noqa: S603 - this Python, with code of ours
            [sys.executable, "-c", _BEGIN, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **environment},
            start_new_session=True,  # Ctrl-C is for the run, which then closes its crews
        )
        self._writer = frames.Writer(cast("BinaryIO", self._process.stdin))
        self._inboxes: dict[int | None, Inbox] = {None: SimpleQueue()}
        self._numbers = itertools.count()
        self._end = weakref.finalize(self, _end, self._process, place.folder)
        threading.Thread(
            target=_listen,
            args=(self._process, self._inboxes, self._log),
            name="cb-ray-link",
            daemon=True,
        ).start()
        self.places = self._joined(place)

    def _joined(self, place: Place) -> int:
        """How many workers fit into the cluster, when there is a connection."""
        self._writer.write(place)
        try:
            word, *rest = self._inboxes[None].get(timeout=place.start_timeout_s + _LATE_S)
        except Empty:
            self.close()
            where = place.address or "a Ray of our own"
            told = f"no connection to {where} in {place.start_timeout_s + _LATE_S:g} s"
            raise RunError(told, hint="is it running, and can it be reached?") from None
        if word == GONE:
            self.close()
            raise RunError(rest[0], hint=rest[1])
        return int(rest[0])

    @property
    def is_alive(self) -> bool:
        """Whether there is still a process that speaks with Ray."""
        return self._process.poll() is None

    def enter(self) -> tuple[int, Inbox]:
        """A number for a crew, and where what is said to it arrives."""
        number, inbox = next(self._numbers), Inbox()
        self._inboxes[number] = inbox
        if not self.is_alive:
            inbox.put((GONE, "the connection to Ray is lost", None))
        return number, inbox

    def leave(self, number: int) -> None:
        """Nothing is said to this crew any more."""
        self._inboxes.pop(number, None)

    def say(self, *message: Any) -> None:
        """Send something. When nobody listens any more, every inbox is told why."""
        with contextlib.suppress(OSError):
            self._writer.write(*message)

    def close(self) -> None:
        """End the process, and the Ray that it started."""
        self._end()


def _listen(
    process: subprocess.Popen[bytes], inboxes: dict[int | None, Inbox], log: IO[bytes]
) -> None:
    stream = cast("BinaryIO", process.stdout)
    while (message := frames.read(stream)) is not None:
        number, *said = message
        if (inbox := inboxes.get(number)) is not None:
            inbox.put(tuple(said))
    stream.close()
    process.wait()
    words = _last_words(log)
    for inbox in list(inboxes.values()):
        inbox.put((GONE, f"the connection to Ray is lost: {words}", _LOOK))


_LOOK = "see whether the cluster is there"


def _last_words(log: IO[bytes]) -> str:
    """What Ray said last, in one line; it says why it ends a process."""
    with log, contextlib.suppress(OSError):
        log.seek(0)
        lines = log.read().decode(errors="replace").splitlines()
        told = [line for line in lines if " E " in line or "Error" in line] or lines
        if told:
            return told[-1].split("] ")[-1][:400]
    return "its process ended"


def _end(process: subprocess.Popen[bytes], folder: str | None) -> None:
    with contextlib.suppress(OSError):
        cast("BinaryIO", process.stdin).close()
    try:
        process.wait(_LEAVE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
