"""Judges: asked in parallel, within a time limit, each question once, every verdict 0 or 1."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from cb_ragas_precision.judging import Judgement
from cb_ragas_precision.prompts import REPLY_FORMAT
from cbcore.boundary import describe_exception
from cbcore.exceptions import CBError, ScoringError
from cbcore.protocols import Cost

_MOST_AT_ONCE = 64
_MOST_REMEMBERED = 50_000
_MOST_OBJECTS = 100
_CUT_OFF = re.compile(r'"verdict"\s*:\s*([01])\s*,')
"""A whole verdict in JSON that breaks off later: it comes before the reason, which is long."""


class Judge:
    """Judges many prompts at once and remembers, as long as it lives, what it said."""

    max_cost: Callable[[str], Cost] | None = None
    """The most that one prompt may cost; None for a judge that declares no cost."""

    def __init__(self) -> None:
        self._known: dict[str, Judgement] = {}

    async def judge(self, prompts: Sequence[str]) -> list[Judgement]:
        """A judgement for each prompt, in order; equal prompts are asked once."""
        limit = asyncio.Semaphore(_MOST_AT_ONCE)

        async def one(prompt: str) -> Judgement:
            async with limit:
                return await self._asked(prompt)

        known = {prompt: self._known[prompt] for prompt in prompts if prompt in self._known}
        new = [prompt for prompt in dict.fromkeys(prompts) if prompt not in known]
        found = dict(zip(new, await asyncio.gather(*map(one, new)), strict=True))
        if len(self._known) > _MOST_REMEMBERED:
            self._known.clear()
        # What failed is asked again when it comes again. What is known costs nothing.
        free = {prompt: judgement._replace(cost={}) for prompt, judgement in found.items()}
        self._known.update((p, j) for p, j in free.items() if j.verdict is not None)
        known |= free
        return [found.pop(prompt) if prompt in found else known[prompt] for prompt in prompts]

    async def _asked(self, prompt: str) -> Judgement:
        try:
            return await self._ask(prompt)
        except Exception as error:  # noqa: BLE001 - the judge may be anybody's code
            reason = error.message if isinstance(error, CBError) else describe_exception(error)
            cost = error.cost if isinstance(error, ScoringError) else {}
            return Judgement(None, reason, cost=cost)

    async def _ask(self, prompt: str) -> Judgement:
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close what the running event loop opened."""


class ClientJudge(Judge):
    """A judge client of `cb-llm-judge`: it has `binary`, retries, time limits and votes itself."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        super().__init__()
        self._connect = connect
        self.max_cost: Callable[[str], Cost] | None = getattr(connect(), "max_cost", None)
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    async def _ask(self, prompt: str) -> Judgement:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = self._connect()
        given = await self._clients[loop].binary(prompt)
        votes = tuple(getattr(given, "votes", ()))
        cost = getattr(given, "cost", {})
        return Judgement(_verdict(given.verdict), str(given.reason), votes, cost)

    async def aclose(self) -> None:
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None and hasattr(client, "aclose"):
            await client.aclose()


class FunctionJudge(Judge):
    """A function of the prompt, awaited or in a thread of its own, asked once per vote."""

    def __init__(self, function: Callable[[str], Any], timeout_s: float, n_votes: int) -> None:
        super().__init__()
        self._function = function
        self._timeout_s = timeout_s
        self._n_votes = n_votes

    async def _ask(self, prompt: str) -> Judgement:
        whole = f"{prompt}\n\n{REPLY_FORMAT}"
        given = await asyncio.gather(*(self._vote(whole) for _ in range(self._n_votes)))
        votes = tuple(verdict for verdict, _ in given)
        ((winner, _),) = Counter(votes).most_common(1)
        reason = next(reason for verdict, reason in given if verdict == winner)
        return Judgement(winner, reason, votes if self._n_votes > 1 else ())

    async def _vote(self, prompt: str) -> tuple[int, str]:
        try:
            reply = await asyncio.wait_for(self._called(prompt), self._timeout_s)
        except asyncio.TimeoutError:
            raise ValueError(f"no answer within {self._timeout_s:g} s") from None
        return read_reply(reply)

    async def _called(self, prompt: str) -> Any:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(prompt)
        reply = await _in_thread(self._function, prompt)
        return await reply if inspect.isawaitable(reply) else reply


async def _in_thread(function: Callable[[str], Any], prompt: str) -> Any:
    """Call in a new thread: a pool would queue calls, and wait at exit for one that hangs."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if done.cancelled():
            return  # the time limit was exceeded
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def call() -> None:
        value: Any = None
        failure: Exception | None = None
        try:
            value = function(prompt)
        except (StopIteration, SystemExit) as error:  # which no future can carry
            failure = RuntimeError(describe_exception(error))
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            failure = error
        with contextlib.suppress(RuntimeError):  # nobody waits any more: the loop is closed
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=call, name="cb-judge", daemon=True).start()
    return await done


def read_reply(reply: Any) -> tuple[int, str]:
    """Verdict and reason of what a function returned.

    That is 0 or 1, a pair, a dict with `verdict` and perhaps `reason`, or a model's text that
    holds such a dict as JSON. Raises ValueError for anything else.
    """
    if isinstance(reply, str):
        reply = _from_text(reply)
    if isinstance(reply, dict):
        if "verdict" not in reply:
            raise ValueError(f"the judge's reply has no 'verdict', only {sorted(map(str, reply))}")
        return _verdict(reply["verdict"]), str(reply.get("reason") or "")
    if isinstance(reply, tuple | list) and len(reply) == 2:
        return _verdict(reply[0]), str(reply[1])
    return _verdict(reply), ""


def _from_text(text: str) -> Any:
    """What a model's text says: the JSON objects with a verdict in it, if these agree."""
    bare = text.strip()
    if bare in ("0", "1"):
        return int(bare)
    found = list(_objects(bare)) or [{"verdict": int(m[1])} for m in _CUT_OFF.finditer(bare)]
    if not found:
        raise ValueError(f"the judge's reply holds no JSON object: {bare[:80]!r}")
    judged = [one for one in found if "verdict" in one] or found
    if any(one.get("verdict") != judged[0].get("verdict") for one in judged):
        raise ValueError(f"the judge's reply names more than one verdict: {bare[:80]!r}")
    return judged[0]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    position = 0
    for _ in range(_MOST_OBJECTS):
        position = text.find("{", position)
        if position < 0:
            return
        try:
            found, position = json.JSONDecoder().raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
        else:
            yield found


def _verdict(value: Any) -> int:
    if isinstance(value, int | float) and value in (0, 1):
        return int(value)
    raise ValueError(f"the judge's verdict is {str(value)[:80]!r}, neither 0 nor 1")
