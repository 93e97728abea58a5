"""Requests to a local stub: through `cb` and its system `openai`, and by aiohttp alone."""

from __future__ import annotations

import asyncio
from typing import Any

import workload

CONTEXT = "Paris is the capital of France and lies on the Seine. " * 18  # about 1 KB
QUESTION = "Which city is the capital of France?"
WARM_UP = 300


def _examples(n: int) -> list[dict[str, Any]]:
    # No two alike, so that token counts are not remembered from one to the next.
    return [{"id": i, "context": f"{i}. {CONTEXT}", "question": QUESTION} for i in range(n)]


def ours(n: int, in_flight: int, port: int) -> dict[str, Any]:
    from cb_openai import OpenAI
    from cbcore import evaluate

    def run(examples: list[dict[str, Any]]) -> Any:
        system = OpenAI(f"http://127.0.0.1:{port}", "gpt-4o-mini", api_key="none", max_retries=12)
        return evaluate(
            [system], examples, evaluators=[], metrics=[], progress=False, max_workers=in_flight
        )

    run(_examples(WARM_UP))
    examples = _examples(n)
    result, taken = workload.measured(lambda: run(examples))
    if any(row.response != "Paris" for row in result.rows):
        raise RuntimeError("some rows have no answer")
    return {**taken, "rows": len(result.rows)}


def raw(n: int, in_flight: int, port: int) -> dict[str, Any]:
    import aiohttp

    url = f"http://127.0.0.1:{port}/v1/chat/completions"

    async def ask(session: aiohttp.ClientSession, example: dict[str, Any]) -> str:
        text = f"{example['context']}\n\n{example['question']}"
        body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}]}
        async with session.post(url, json=body) as response:
            reply = await response.json()
        return str(reply["choices"][0]["message"]["content"])

    async def run(examples: list[dict[str, Any]]) -> list[str]:
        answers: list[str] = []
        left = iter(examples)
        connector = aiohttp.TCPConnector(limit=in_flight)
        headers = {"Authorization": "Bearer none"}
        async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

            async def work() -> None:
                for example in left:
                    answers.append(await ask(session, example))  # noqa: PERF401 - shared by all

            await asyncio.gather(*(work() for _ in range(in_flight)))
        return answers

    asyncio.run(run(_examples(WARM_UP)))
    examples = _examples(n)
    answers, taken = workload.measured(lambda: asyncio.run(run(examples)))
    if answers != ["Paris"] * n:
        raise RuntimeError("some requests have no answer")
    return {**taken, "rows": n}


if __name__ == "__main__":
    workload.answer({"ours": ours, "raw": raw})
