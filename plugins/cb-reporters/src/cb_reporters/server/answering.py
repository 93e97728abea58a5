"""From an address to an answer. Nothing here writes, and nothing knows of sockets."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, unquote

import attrs

from cb_reporters.server import listing
from cb_reporters.server.joining import join_results
from cb_reporters.server.sources import Source
from cb_reporters.server.viewing import Viewed, Views
from cbcore.exceptions import CBError, UsageError
from cbcore.results import EvalResult
from cbcore.secrets import redact

_RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
HTML, JSON = "text/html; charset=utf-8", "application/json; charset=utf-8"
_PAGE_POLICY = "frame-ancestors 'none'; base-uri 'none'"
"""Beside the policy that the page of a run has itself."""


@attrs.frozen
class Answer:
    """The answer to a request."""

    body: str
    kind: str = HTML
    status: int = 200
    policy: str = listing.POLICY
    location: str = ""


@attrs.frozen
class Site:
    """The runs of a source as pages: a list, each run, and any two beside each other."""

    source: Source
    views: Views = attrs.Factory(Views)

    def answer(self, path: str, query: str) -> Answer:
        """The answer for a path behind the token. Errors of `cb` are answers too."""
        is_data = "/data/" in path
        try:
            return self._answer([unquote(part) for part in path.split("/")], query)
        except CBError as error:
            told = redact(error.message)
            status = 400 if isinstance(error, UsageError) else 500
            if is_data:
                return _json({"error": told}, status)
            return Answer(listing.message("This cannot be shown", told), status=status)

    def _answer(self, parts: list[str], query: str) -> Answer:
        match parts:
            case [""]:
                return Answer(listing.listing(self.source.entries()))
            case ["compare"]:
                return self._picked(query)
            case ["run", run_id, *rest] if self.source.entry(run_id) is not None:
                return self._of_run(self._run(run_id), rest, query)
            case ["compare", one, other, *rest] if self._are_known(one, other):
                return self._of_run(self._pair(one, other), rest, query)
        return _not_found(parts)

    def _are_known(self, *run_ids: str) -> bool:
        return all(self.source.entry(run_id) is not None for run_id in run_ids)

    def _picked(self, query: str) -> Answer:
        picked = parse_qs(query).get("run", [])
        if len(picked) != 2:
            note = f"Two runs can be compared; {len(picked)} were ticked."
            return Answer(listing.listing(self.source.entries(), note), status=400)
        one, other = (quote(run_id, safe="") for run_id in picked)
        return Answer("", status=303, location=f"compare/{one}/{other}/")

    def _of_run(self, viewed: Viewed, rest: list[str], query: str) -> Answer:
        parameters = dict(parse_qsl(query))
        match rest:
            case [""]:
                page = viewed.page()
                if page is None:
                    return Answer(listing.waiting(viewed.progress()))
                return Answer(page, policy=_PAGE_POLICY)
            case []:
                return _not_found(rest)
            case ["data", "examples"]:
                return _json(viewed.examples(parameters))
            case ["data", "example"]:
                found = viewed.example(parameters)
                if found is None:
                    return _json({"error": f"no example {parameters.get('id')!r}"}, 404)
                return _json(found)
            case ["data", "state"]:
                return _json(viewed.state())
        return _not_found(["data"] if rest[0] == "data" else rest)

    def _run(self, run_id: str) -> Viewed:
        def make() -> Viewed:
            return Viewed(
                lambda: self.source.open(run_id),
                lambda: self._version(run_id),
                glance=lambda: self.source.open(run_id, is_summed_up=False),
            )

        return self.views.get(run_id, make)

    def _pair(self, one: str, other: str) -> Viewed:
        def read(*, is_summed_up: bool = True) -> EvalResult:
            first, second = (
                self.source.open(run, is_summed_up=is_summed_up) for run in (one, other)
            )
            return join_results(first, second, _short(one, other), is_summed_up=is_summed_up)

        def state() -> tuple[str, bool]:
            (first, is_live), (second, is_live_too) = self._version(one), self._version(other)
            return f"{first} {second}", is_live or is_live_too

        glance = partial(read, is_summed_up=False)
        return self.views.get(f"{one} {other}", lambda: Viewed(read, state, glance=glance))

    def _version(self, run_id: str) -> tuple[str, bool]:
        entry = self.source.entry(run_id)
        return ("gone", False) if entry is None else (entry.version, entry.is_live)


def _short(one: str, other: str) -> tuple[str, str]:
    """Names for two runs: of ids that begin with a date, what is random in them."""
    if one == other:
        return one, f"{other} again"
    ends = [run_id[-6:] if _RUN_ID.fullmatch(run_id) else run_id for run_id in (one, other)]
    return (ends[0], ends[1]) if ends[0] != ends[1] else (one, other)


def _not_found(parts: list[str]) -> Answer:
    if "data" in parts:
        return _json({"error": "there is nothing at this address"}, 404)
    return Answer(listing.message("Not found", "There is nothing at this address."), status=404)


def _json(data: Any, status: int = 200) -> Answer:
    # Escaped as ASCII: no character of a text can be taken for anything else on the way.
    return Answer(json.dumps(data, allow_nan=False), JSON, status)
