"""llama.cpp in this process: one engine per model and size, shared by all who ask for it."""

from __future__ import annotations

import atexit
import json
import os
import secrets
import threading
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cb_local.exceptions import EngineError, PromptTooLongError
from cb_local.likelihood import Beginning, NextTokens, Scoring, Tokens
from cbcore.exceptions import MissingExtraError, ProcessError
from cbcore.timing import waiting

_TOO_LONG = "exceed_context_size_error"
_SILENT = -1
_SURELY = 10_000.0


@attrs.frozen
class EngineOptions:
    """What makes an engine: equal options share one.

    `n_ctx` is what one request may hold; `n_parallel` requests are worked on at once.
    `address` makes it answer HTTP requests of others there.
    """

    path: Path
    alias: str
    n_ctx: int
    n_threads: int
    n_parallel: int = 1
    address: tuple[str, int] | None = None


@attrs.frozen
class Completion:
    """What the model said to a conversation, and what that took."""

    text: str
    finish_reason: str
    usage: Mapping[str, int]


class Engine:
    """A loaded model. Safe to call from several threads: requests wait for each other."""

    def __init__(self, options: EngineOptions) -> None:
        self.options = options
        # llama.cpp always listens. Where nobody else is meant to be served, nobody has the key.
        self._key = secrets.token_hex(32)
        self._server: Any = _start(options, self._key)
        self._places = threading.Semaphore(options.n_parallel)
        self._begins: Beginning | None = None
        self._plain: int | None = None

    @property
    def url(self) -> str:
        """Where llama.cpp listens."""
        return str(self._server.listening_address)

    def chat(
        self, system: str, messages: Sequence[Mapping[str, str]], **sampling: Any
    ) -> Completion:
        """Let the model go on with a conversation. `system` is whom errors are told of.

        Raises `PromptTooLongError` before anything is generated, `ProcessError` for the rest.
        """
        if not self._places.acquire(blocking=False):
            with waiting():
                self._places.acquire()
        try:
            answer = self._server.handle_chat_completions({"messages": list(messages), **sampling})
        except (RuntimeError, TypeError, ValueError) as error:
            raise ProcessError(f"{system}: llama.cpp refused the request: {error}") from error
        finally:
            self._places.release()
        if failure := answer.get("error"):
            if failure.get("type") == _TOO_LONG:
                raise PromptTooLongError(system, failure["n_prompt_tokens"], failure["n_ctx"])
            raise ProcessError(f"{system}: llama.cpp failed: {failure.get('message', failure)}")
        choice = answer["choices"][0]
        counted = ("prompt_tokens", "completion_tokens")
        return Completion(
            text=choice["message"]["content"] or "",
            finish_reason=choice["finish_reason"],
            usage={name: answer["usage"][name] for name in counted},
        )

    def likelihoods(
        self, system: str, requests: Sequence[tuple[str, str]]
    ) -> list[tuple[float, bool]]:
        """How likely texts are to continue others. Nobody else is served meanwhile.

        Steps after the first find what they have in common with it computed; the first computes
        everything, so that a result does not depend on what was asked before.
        """
        if not self._places.acquire(blocking=False):
            with waiting():
                self._places.acquire()
        is_first = True

        def step(tokens: Tokens, n_wanted: int | None) -> NextTokens:
            nonlocal is_first
            found = self._step(system, tokens, n_wanted, again=not is_first)
            is_first = False
            return found

        n_most = self.options.n_ctx - 1  # llama.cpp wants room for what it says
        try:
            scoring = Scoring(self._encode, self._beginning(), step, n_most)
            return [scoring.likelihood(*request) for request in requests]
        except ValueError as error:
            raise ProcessError(
                f"{system}: {error}, and the model looks back on {n_most}",
                hint="give local a larger n_ctx",
            ) from error
        finally:
            self._places.release()

    def _step(
        self, system: str, tokens: Tokens, n_wanted: int | None, *, again: bool
    ) -> NextTokens:
        asked = {
            "prompt": list(tokens),
            "max_tokens": 1,
            "temperature": 0.0,
            "n_probs": n_wanted or self._n_vocabulary(),
            "cache_prompt": again,
            # What it says next is of no interest, and probabilities are told before the bias. A
            # token that is only part of a character would not be said, and so nothing be told.
            "logit_bias": [[self._plain_token(), _SURELY]],
        }
        try:
            answer = self._server.handle_completions(asked)
        except (RuntimeError, TypeError, ValueError) as error:
            raise ProcessError(f"{system}: llama.cpp refused the request: {error}") from error
        if failure := answer.get("error"):
            raise ProcessError(f"{system}: llama.cpp failed: {failure.get('message', failure)}")
        (place,) = answer["choices"][0]["logprobs"]["content"]
        return {one["id"]: one["logprob"] for one in place["top_logprobs"]}

    def _encode(self, text: str, *, special: bool = False) -> list[int]:
        asked = {"content": text, "add_special": special, "parse_special": special}
        return [int(token) for token in self._told("/tokenize", asked)["tokens"]]

    def _beginning(self) -> Beginning:
        """What this model takes for the beginning of a text."""
        if self._begins is None:
            always = self._encode("", special=True)
            props = self._told("/props")
            named = props.get("bos_token") or props.get("eos_token") or ""
            alone = always or self._encode(named, special=True)[-1:]
            self._begins = Beginning(tuple(always), tuple(alone))
        return self._begins

    def _plain_token(self) -> int:
        """A token whose text is whole."""
        if self._plain is None:
            self._plain = self._encode("a")[-1]
        return self._plain

    def _n_vocabulary(self) -> int:
        (model, *_) = self._told("/v1/models")["data"]
        return int(model["meta"]["n_vocab"])

    def _told(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the server says at one of its own addresses."""
        request = urllib.request.Request(  # noqa: S310 - the server in this process
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            found: dict[str, Any] = json.load(response)
        return found

    def close(self) -> None:
        """Free the model. Waits for the request that is being worked on."""
        self._server = None


def default_threads() -> int:
    """Half of the processors this process may use.

    The threads wait for each other after every layer, so that one which has to share its
    processor holds up all: on a busy machine fewer are several times as fast.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (usable or 1) // 2)


def _start(options: EngineOptions, key: str) -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingExtraError("a local model", "xllamacpp", "cb-local") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(options.path)
    params.model_alias = {options.alias}
    params.n_parallel = options.n_parallel
    params.n_ctx = options.n_ctx * options.n_parallel  # llama.cpp divides it among the requests
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.n_threads
    params.verbosity = _SILENT
    params.warmup = params.ui = params.endpoint_slots = False
    # A prompt that was cached is computed in other batches, and rounding differs with them.
    params.cache_prompt = False
    params.cache_ram_mib = 0
    if options.address is None:
        params.api_keys = [key]
    else:
        host, port = options.address
        params.hostnames, params.port = [host], port
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise EngineError(
            f"llama.cpp cannot start with {options.path} ({options.n_ctx} tokens of context, "
            f"{options.n_parallel} at once)",
            hint="is the file complete, an architecture llama.cpp knows, and small enough for "
            "this machine? A smaller n_ctx needs less memory",
        ) from error


# -- sharing -----------------------------------------------------------------------------------

_engines: dict[EngineOptions, Engine] = {}
_lock = threading.Lock()


def shared_engine(options: EngineOptions) -> Engine:
    """The engine with these options, started when it is first asked for."""
    with _lock:
        if options not in _engines:
            _engines[options] = Engine(options)
        return _engines[options]


@atexit.register
def close_engines() -> None:
    """Free every shared engine. One that is asked for later is started anew."""
    with _lock:
        while _engines:
            _engines.popitem()[1].close()
