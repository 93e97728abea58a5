"""The dataset `traffic`: what people really sent, from the log of a proxy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from cb_cost.logs import Logged, Message, holds_more_than_text, read_line
from cb_cost.times import fill_times
from cbcore.exceptions import DataError, UsageError
from cbcore.texts import join_turns

Each = Literal["session", "request"]
SAMPLE = "sample"


class Traffic:
    """Recorded requests as examples: a session, or a request, of the log of a proxy each.

    `path` is `sample`, a few invented sessions that come with this package, or a JSONL file of
    OpenAI-style requests, alone or as proxies log them (`messages`, or a `body`, `request` or
    `input` that holds them; `response` or `output` with the reply). Requests are read in the
    order of their timestamps. They belong to a session by its id, or because they begin with an
    earlier request.

    With `each="session"` an example has the `turns` of a whole session, the last one open, and
    the `turn_timestamps` of the user's turns. With `each="request"` every request is one: its
    last message as `question`, all before as `context`, so that systems which shorten a context
    can be tried. The reply in the log is the `answer`, if there is one. A line that cannot be
    read is a row with an error. A log with tool calls, images or files is refused with a
    `UsageError`.
    """

    tasks = ("multi-turn",)
    configs = ("sample",)
    main_score = "f1"
    published = "None: it is your own data; answers are compared with those of the log."

    def __init__(self, path: str = SAMPLE, *, each: Each = "session", n: int | None = None) -> None:
        if each not in get_args(Each):
            raise ValueError(f"each is {each!r}: it must be session or request")
        self.path = path
        self.each: Each = each
        self.n = n
        self._refuse_more_than_text()

    @property
    def name(self) -> str:
        return f"traffic:{Path(self.path).name}"

    def __iter__(self) -> Iterator[dict[str, Any] | DataError]:
        found, errors = self._read()
        examples: list[tuple[int, dict[str, Any]]] = []
        places = {id(request): place for place, request in enumerate(found)}
        for number, session in enumerate(_sessions(found)):
            own = self._examples(number, session)
            examples += [(places[id(request)], example) for request, example in own]
        if self.each == "request":
            examples.sort(key=lambda one: one[0])
        made: list[dict[str, Any] | DataError] = [*errors, *(one for _, one in examples)]
        yield from made if self.n is None else made[: self.n]

    def _refuse_more_than_text(self) -> None:
        """Refuse a log with tool calls, images or files, before a run spends anything.

        Only messages with text can be replayed: what else was sent would be missing in the bill.
        """
        try:
            lines = self._lines()
        except (OSError, UnicodeDecodeError):
            return  # reading the examples reports it
        n_lines = n_refused = 0
        for line in lines:
            n_lines += bool(line.strip())
            try:
                n_refused += holds_more_than_text(json.loads(line))
            except (ValueError, RecursionError):
                continue
        if n_refused:
            raise UsageError(
                f"{self.path}: {n_refused:,} of {n_lines:,} requests have tools, tool calls, images "
                "or files, which cannot be replayed. The bill would be wrong without them.",
                hint="remove these requests from the log; only messages with text can be replayed",
            )

    def _read(self) -> tuple[list[Logged], list[DataError]]:
        try:
            lines = self._lines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                f"{self.path} cannot be read: {error}", hint="traffic:LOG.jsonl names a file"
            ) from error
        found, errors = [], []
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                found.append(read_line(json.loads(line)))
            except (ValueError, RecursionError) as error:
                errors.append(DataError(f"{self.path}, line {number}: {error}"))
        if not found and not errors:
            raise DataError(f"{self.path} is empty")
        return _in_time(found), errors

    def _lines(self) -> list[str]:
        if self.path == SAMPLE:
            return files("cb_cost").joinpath("sample.jsonl").read_text("utf-8").splitlines()
        return Path(self.path).expanduser().read_text("utf-8").splitlines()

    def _examples(
        self, number: int, session: Sequence[Logged]
    ) -> Iterator[tuple[Logged, dict[str, Any]]]:
        known = session[0].session or f"session-{number}"
        if self.each == "session":
            last = session[-1]
            example = _example(f"{number}", known, last, turns=list(last.messages))
            times = {len(request.messages): request.timestamp for request in session}
            ends = [n for n, m in enumerate(last.messages, start=1) if m["role"] == "user"]
            if any(at is not None for at in times.values()):
                example["turn_timestamps"] = [times.get(n) for n in ends]
            yield last, example
            return
        for position, request in enumerate(session):
            *before, asked = request.messages
            fields = {"context": _written(before), "question": str(asked["content"])}
            fields["context"] = fields["context"] or fields["question"]
            yield request, _example(f"{number}.{position}", known, request, **fields)


def _example(example_id: str, session: str, request: Logged, **fields: Any) -> dict[str, Any]:
    if "turns" in fields:
        fields["context"] = join_turns(fields["turns"])
    example: dict[str, Any] = {"id": example_id, **fields, "cluster": session}
    if request.reply is not None:
        example["answer"] = request.reply
    if request.timestamp is not None:
        example["timestamp"] = request.timestamp
    return example


def _written(messages: Sequence[Message]) -> str:
    return "\n\n".join(f"{message['role']}: {message['content']}" for message in messages)


def _in_time(requests: Sequence[Logged]) -> list[Logged]:
    """Requests in the order in which they were sent, whatever the order of the log.

    A request without a usable time stays with the one that was sent before it.
    """
    known = [request.at_s for request in requests if request.at_s is not None]
    if known and known[0] > known[-1]:  # the newest first, also of those at the same second
        requests = requests[::-1]
    times = [time for (time,) in fill_times([[request.at_s] for request in requests], 0.0)]
    return [requests[n] for n in sorted(range(len(requests)), key=times.__getitem__)]


def _sessions(requests: Sequence[Logged]) -> list[list[Logged]]:
    """Requests that belong together, in their order; of one that was repeated, the last."""
    sessions: list[list[Logged]] = []
    by_id: dict[str, list[Logged]] = {}
    for request in requests:
        session = None
        if request.session is not None:
            session = by_id.get(request.session)
        else:
            session = next((s for s in reversed(sessions) if _goes_on(s[-1], request)), None)
        if session is None or (request.session and not _goes_on(session[-1], request)):
            session = []
            sessions.append(session)
        session.append(request)
        if request.session is not None:
            by_id[request.session] = session
    return sessions


def _goes_on(before: Logged, after: Logged) -> bool:
    """Whether a request begins with all that an earlier one said."""
    n = len(before.messages)
    is_longer = len(after.messages) > n
    return is_longer and list(after.messages[:n]) == list(before.messages)
