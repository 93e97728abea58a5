"""The process that speaks with Ray for a run; see `cb_ray.link` for the run's side.

It gets messages on its standard input and answers on its standard output: `Place` first, then
`open`, `send`, `abandon`, `reopen` and `close` for crews by their number. It ends when the input ends, that
is also when the run was killed, and takes a Ray that it started with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import select
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

from cb_ray import frames
from cb_ray.settings import Place

_MOMENT_S = 0.01
_LONG_S = 10.0
"""How long Ray may take to shut down, once the run is over."""


def main() -> None:
    """Serve one run."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what Ray prints goes to the log, and not between messages
    first = frames.read(incoming)
    if first is None:
        return
    threading.Thread(target=_follow, args=(incoming.fileno(),), daemon=True).start()
    place: Place = first[0]
    writer = frames.Writer(outgoing)
    try:
        _serve(place, incoming, writer)
    finally:
        _leave(place)


def _follow(pipe: int) -> None:
    """End this process soon after the run, whatever Ray makes it wait for."""
    if hasattr(select, "poll"):
        gone = select.poll()
        gone.register(pipe, 0)  # no event but that the other end was closed
        gone.poll()
        time.sleep(_LONG_S)
        os._exit(1)


def _serve(place: Place, incoming: BinaryIO, writer: frames.Writer) -> None:
    from cb_ray import cluster

    failure = cluster.connect(place)
    with contextlib.suppress(OSError):
        if failure is not None:
            writer.write(None, "gone", failure.message, failure.hint)
            return
        writer.write(None, "joined", cluster.places(place))
        asyncio.run(_Desk(place, writer).serve(incoming))


class _Desk:
    """Hands what the run says to the crew that it is for."""

    def __init__(self, place: Place, writer: frames.Writer) -> None:
        self._place = place
        self._writer = writer
        self._crews: dict[int, Any] = {}
        self._ended = asyncio.Event()

    async def serve(self, incoming: BinaryIO) -> None:
        loop = asyncio.get_running_loop()

        def listen() -> None:
            while (message := frames.read(incoming)) is not None:
                loop.call_soon_threadsafe(self._hear, message)
            loop.call_soon_threadsafe(self._ended.set)

        threading.Thread(target=listen, name="cb-ray-listen", daemon=True).start()
        await self._ended.wait()

    def _hear(self, message: tuple[Any, ...]) -> None:
        number, word, *rest = message
        if word == "open":
            from cb_ray.actors import Actors

            self._crews[number] = Actors(
                self._place,
                *rest,
                tell=functools.partial(self._tell, number),
                is_crowded=lambda: any(crew.has_workers for crew in self._crews.values()),
            )
        elif word == "reopen" and (crew := self._crews.pop(number, None)) is not None:
            other, recipe = rest  # another number, so that nothing said before is taken for its own
            self._crews[other] = crew
            crew.reopen(recipe, tell=functools.partial(self._tell, other))
        elif word == "close":
            self._closing = asyncio.ensure_future(self._close(number))
        elif (crew := self._crews.get(number)) is not None:
            getattr(crew, word)(*rest)

    async def _close(self, number: int) -> None:
        if (crew := self._crews.pop(number, None)) is not None:
            await crew.close()
        self._tell(number, "closed")

    def _tell(self, number: int, *said: Any) -> None:
        try:
            self._writer.write(number, *said)
        except OSError:  # the run is gone
            self._ended.set()


def _leave(place: Place) -> None:
    """End, whatever Ray thinks of it; with a Ray of our own, that has nothing to say any more."""
    import ray

    clock = threading.Timer(_LONG_S, os._exit, (1,))
    clock.daemon = True
    clock.start()
    if place.folder is None or not _end_all_others():
        ray.shutdown()
    if place.folder is not None:
        shutil.rmtree(place.folder, ignore_errors=True)
    sys.stdout.flush()
    os._exit(0)  # threads of Ray may be left that wait for a head that is gone


def _end_all_others() -> bool:
    """End the other processes of our session, which is all of a Ray that we started.

    Ray itself asks each of them to leave, one after another, and waits for more than a second.
    Whether that can be done here.
    """
    found = _session()
    while found:
        for number in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(_MOMENT_S)
        found = _session()
    return Path("/proc/self/stat").exists()


def _session() -> list[int]:
    """The processes of our session that have not ended, but for this one."""
    session, own, found = os.getsid(0), os.getpid(), []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, _, _, of, *_ = path.read_text().rpartition(")")[2].split()
            if int(of) == session and state != "Z" and int(path.parent.name) != own:
                found.append(int(path.parent.name))
    return found
