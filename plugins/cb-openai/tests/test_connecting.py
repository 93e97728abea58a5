"""When no connection can be made: whose fault it is, and what is done about it."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys

import pytest

from cb_openai import ChatClient, TransportError
from cb_openai.errors import Outcome
from cb_openai.pacing import AdaptiveLimit

CERTIFICATE = (
    "MIIBgDCCASWgAwIBAgIUOZAhH5mxqNEFksefKk3tmlPZR00wCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxo"
    "b3N0MCAXDTI2MTExNjE3Mjc0NFoYDzIxMjYxMDIzMTcyNzQ0WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcq"
    "hkjOPQIBBggqhkjOPQMBBwNCAAQLvVmrFO4PWZAwy4AUMMPNqp2DBdpBzNhhbUM9+XmFPoZd2FX4vZMAZiQo7MCX"
    "DdmLwjOCY+5qdYgOPq7wZ0s/o1MwUTAdBgNVHQ4EFgQUsPSlgyj1TdNulH22jxRHqMBRvvUwHwYDVR0jBBgwFoAU"
    "sPSlgyj1TdNulH22jxRHqMBRvvUwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEA/HCMZQbVeV04"
    "h2+EaWuYE0QHuy/gqthMqICKVeP+FxUCIQCdJYd8Ni+y6+JfjGdXyrUZgiDO/mE0fHeDmkJ20qKtxw=="
)
KEY = (
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgtPKxPhjuOGekM6BLs31daZx5v0FhPW2NyPA9y1U1"
    "YBOhRANCAAQLvVmrFO4PWZAwy4AUMMPNqp2DBdpBzNhhbUM9+XmFPoZd2FX4vZMAZiQo7MCXDdmLwjOCY+5qdYgO"
    "Pq7wZ0s/"
)
"""Made for these tests, signed by itself, for the host localhost."""


def pem(kind, body):
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n"


@pytest.fixture
def encrypted(tmp_path):
    """What a server needs to speak https with a certificate that nobody has issued."""
    file = tmp_path / "server.pem"
    file.write_text(pem("CERTIFICATE", CERTIFICATE) + pem("PRIVATE KEY", KEY))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def failure_at(context):
    """What a client says of a server that speaks https so, or only http."""

    async def hang_up(reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def ask():
        server = await asyncio.start_server(hang_up, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        async with server, ChatClient(f"https://127.0.0.1:{port}", "m", max_retries=0) as client:
            with pytest.raises(TransportError) as caught:
                await client.chat([{"role": "user", "content": "Hello?"}])
        return caught.value

    return asyncio.run(ask())


def test_a_certificate_that_is_not_trusted_is_told_as_what_it_is(encrypted):
    """Not as an operation that is not permitted, which is what the number of the error means."""
    error = failure_at(encrypted)
    assert error.outcome is Outcome.UNREACHABLE
    assert "its certificate is not trusted: self-signed certificate" in error.message
    assert "SSL_CERT_FILE" in error.hint


def test_an_endpoint_that_speaks_no_https_is_told_as_that():
    """The address begins with https, and the server does not understand it."""
    error = failure_at(None)
    assert error.outcome is Outcome.UNREACHABLE
    assert "no encrypted connection could be made" in error.message
    assert "only http" in error.hint


MANY = """
import json, resource, sys
from cb_openai import OpenAI
from cbcore import evaluate

limit = int(sys.argv[2])
system = OpenAI(sys.argv[1], "gpt-4o", backoff_s=0.01)
examples = [{"id": i, "context": "Paris is in France."} for i in range(300)]
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
result = evaluate([system], examples, [], [], max_workers=200, progress=False)
print(json.dumps([row.error for row in result.rows]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files are limited elsewhere")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_process_that_is_out_of_files_goes_on_with_fewer_requests(server, host):
    """It is not the endpoint's fault: no row fails, and what to do is said once."""
    url = server.url(delay=0.02).replace("127.0.0.1", host)
    done = subprocess.run(
        [sys.executable, "-c", MANY, url, "64"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [None] * 300
    assert done.stderr.count("lower --concurrency, or raise ulimit -n") == 1
    assert "could open no more files" in done.stderr


def test_room_that_is_not_there_lowers_the_limit_for_good():
    """Successes do not raise it again, and those that were under way lower it once."""
    limit = AdaptiveLimit(64)
    entered = [limit.enter_now() for _ in range(40)]
    for one in entered:
        limit.lower(one)
    assert (limit.most, limit.current) == (20, 20)
    for _ in range(100):
        limit.succeeded(limit.enter_now())
        limit.leave()
    assert (limit.most, limit.current) == (20, 20)
    limit.under_way = 1
    limit.lower(limit.enter_now())
    limit.under_way = 0
    limit.lower(limit.enter_now())
    assert limit.most == 1
