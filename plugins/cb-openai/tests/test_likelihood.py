"""Likelihoods of an endpoint, asked for in both ways, from a server of our own."""

from __future__ import annotations

import asyncio
import re

import pytest
from aiohttp import web

from cb_openai import OpenAI
from cb_openai.errors import EndpointError
from cb_openai.testing import FaultServer

REQUESTS = [("The cat is", " on the mat"), ("The cat is ", "away")]


def _tokens(prompt):
    """Words with the white space before them; a word is as unlikely as it is long."""
    found = [(m.start(), m.group()) for m in re.finditer(r"\s*\S+", prompt)]
    return found, [None, *(-float(len(text)) for _, text in found[1:])]


async def _answer(request):
    body = await request.json()
    prompt = body["prompt"]
    found, logprobs = _tokens(prompt)
    choice = {"text": "x", "finish_reason": "length"}
    if body.get("echo"):
        tops = [None, *({text: value} for (_, text), value in zip(found, logprobs, strict=True))][
            1:
        ]
        choice["logprobs"] = {
            "tokens": [*(text for _, text in found), "x"],
            "token_logprobs": [*logprobs, -1.0],
            "text_offset": [*(offset for offset, _ in found), len(prompt)],
            "top_logprobs": [None, *tops[1:], {"x": -1.0}],
        }
    elif "prompt_logprobs" in body:
        choice["prompt_logprobs"] = [None] + [
            {
                "7": {"logprob": value, "rank": 2, "decoded_token": text},
                "8": {"logprob": -0.1, "rank": 1, "decoded_token": "zebra"},
            }
            for (_, text), value in zip(found[1:], logprobs[1:], strict=True)
        ]
    usage = {"prompt_tokens": len(found), "completion_tokens": 1}
    return web.json_response({"model": "m", "choices": [choice], "usage": usage})


def asked(way, answer=_answer, requests=REQUESTS, **parameters):
    async def ask():
        app = web.Application()
        app.router.add_post("/v1/completions", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        address = f"http://127.0.0.1:{port}"
        system = OpenAI(address, "m", likelihood=way, max_retries=0, **parameters)
        try:
            output = await system.aprocess({"loglikelihood_requests": requests})
            return [tuple(one) for one in output["loglikelihoods"]]
        finally:
            await system.aclose()
            await runner.cleanup()

    return asyncio.run(ask())


@pytest.mark.parametrize(("way", "greedy"), [("echo", True), ("prompt_logprobs", False)])
def test_the_tokens_behind_the_context_count(way, greedy):
    """Three words of 3, 4 and 4 characters; and one of 5 whose space stood in the context."""
    assert asked(way) == [(-11.0, greedy), (-5.0, greedy)]


def test_an_endpoint_that_tells_nothing_of_prompts_is_told():
    """Instead of a number."""

    async def nothing(request):
        return web.json_response({"choices": [{"text": "x", "finish_reason": "stop"}]})

    with pytest.raises(EndpointError, match="does not offer that"):
        asked("echo", nothing)


def test_likelihoods_are_given_only_where_that_is_asked_for():
    """An endpoint of chats has none, so that choices are read from its text."""
    with FaultServer(text="B") as server:
        system = OpenAI(server.url(), "m")
        output = system.process({"question": "A or B?", "loglikelihood_requests": REQUESTS})
    assert output["response"] == "B"
    with pytest.raises(ValueError, match="it must be one of echo, prompt_logprobs"):
        OpenAI("http://127.0.0.1:9", "m", likelihood="guess")


# -- the beginning of a text, and tokens on both sides of a context's end --------------------------


def _told(tokens, offsets, values):
    """An endpoint that tells the same of every prompt that begins so."""

    async def answer(request):
        prompt = (await request.json())["prompt"]
        assert "".join(tokens).endswith(prompt)
        texts, places, told = tokens, offsets, values
        logprobs = {"tokens": texts, "text_offset": places, "token_logprobs": told}
        choice = {"text": "", "finish_reason": "length", "logprobs": logprobs}
        return web.json_response({"model": "m", "choices": [choice]})

    return answer


@pytest.mark.parametrize("offsets", [[0, 0, 3], [0, 3, 6]])
def test_the_mark_before_a_text_is_none_of_its_tokens(offsets):
    """Whether a server counts its characters or not: the first word of a text has a likelihood."""
    told = _told(["<s>", "The", " cat"], offsets, [None, -1.0, -2.0])
    assert asked("echo", told, [("", "The cat")])[0][0] == -3.0
    assert asked("echo", told, [("The", " cat")])[0][0] == -2.0


def test_a_text_whose_first_token_has_no_likelihood_is_told():
    """A sum without it would be another number, and nobody would see that."""
    told = _told(["The", " cat"], [0, 3], [None, -2.0])
    with pytest.raises(EndpointError, match="likelihood_begin"):
        asked("echo", told, [("", "The cat")])


def test_a_mark_can_be_given_for_an_endpoint_that_puts_none():
    """It is sent before a text that has no context, and not counted."""
    told = _told(["<s>", "The", " cat"], [0, 3, 6], [None, -1.0, -2.0])
    assert asked("echo", told, [("", "The cat")], likelihood_begin="<s>")[0][0] == -3.0


def test_without_a_mark_the_first_token_is_missing_in_the_other_way_too():
    """`prompt_logprobs` has nothing at the first place, be it a mark or a word."""
    with pytest.raises(EndpointError, match="likelihood_begin"):
        asked("prompt_logprobs", _answer, [("", "The cat")])


def test_a_token_on_both_sides_is_skipped_as_the_context_alone_has_it():
    """The context `ab` is two tokens, so two are skipped, though the second says more with `c`."""

    async def answer(request):
        prompt = (await request.json())["prompt"]
        known = {"abcd": (["a", "bc", "d"], [0, 1, 3]), "ab": (["a", "b"], [0, 1])}
        texts, offsets = known[prompt]
        logprobs = {
            "tokens": texts,
            "text_offset": offsets,
            "token_logprobs": [None, -5.0, -7.0][: len(texts)],
        }
        choice = {"text": "", "finish_reason": "length", "logprobs": logprobs}
        return web.json_response({"model": "m", "choices": [choice]})

    assert asked("echo", answer, [("ab", "cd")])[0][0] == -7.0


def paid(**pricing):
    """The output for likelihoods from a server."""

    async def run():
        app = web.Application()
        app.router.add_post("/v1/completions", _answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        system = OpenAI(address, "m", likelihood="echo", max_retries=0, api_key_env=None, **pricing)
        try:
            return await system.aprocess({"loglikelihood_requests": REQUESTS})
        finally:
            await system.aclose()
            await runner.cleanup()

    return asyncio.run(run())


def test_what_likelihoods_cost_is_told():
    """Two prompts of six and four words, and a token of reply each; dollars where prices are."""
    output = paid(price_in=1.0, price_out=100.0)
    assert output["metadata"]["cost_usd"] == pytest.approx((6 + 4 + 2 * 100) / 1e6)
    assert output["usage"] == [
        {"prompt_tokens": 6, "completion_tokens": 1},
        {"prompt_tokens": 4, "completion_tokens": 1},
    ]
    (request,) = output["requests"]
    assert request["cost_usd"] == output["metadata"]["cost_usd"]
    assert request["usage"] == {"prompt_tokens": 10, "completion_tokens": 2}


def test_what_likelihoods_cost_is_unknown_without_a_price():
    """The tokens are known all the same."""
    output = paid()
    assert "cost_usd" not in output["metadata"]
    assert [sum(usage.values()) for usage in output["usage"]] == [7, 5]
