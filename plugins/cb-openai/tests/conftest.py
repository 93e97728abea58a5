"""The endpoint that all tests talk to: a real server in another process."""

from __future__ import annotations

import asyncio

import pytest

from cb_openai import ChatClient
from cb_openai.testing import FaultServer


@pytest.fixture(scope="session")
def server():
    """A server that misbehaves as its URL says."""
    with FaultServer() as running:
        yield running


@pytest.fixture
def ask(monkeypatch):
    """Ask an endpoint once, with short waits; returns the reply or raises."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def ask_once(url, text="Hello?", *, options=None, **parameters):
        async def call():
            parameters.setdefault("backoff_s", 0.001)
            async with ChatClient(url, "a-model", **parameters) as client:
                return await client.chat([{"role": "user", "content": text}], **(options or {}))

        return asyncio.run(call())

    return ask_once
