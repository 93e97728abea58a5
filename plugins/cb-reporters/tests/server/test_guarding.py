"""Who may ask."""

from __future__ import annotations

import pytest

from cb_reporters.server.serving import Guard

GUARD = Guard(4242, "token")


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"Host": "127.0.0.1:4242"}, True),
        ({"Host": "LocalHost:4242"}, True),
        ({"Host": "127.0.0.1:4242", "Origin": "http://127.0.0.1:4242"}, True),
        ({"Host": "127.0.0.1:4242", "Sec-Fetch-Site": "same-origin"}, True),
        (
            {
                "Host": "127.0.0.1:4242",
                "Sec-Fetch-Site": "cross-site",
                "Sec-Fetch-Mode": "navigate",
            },
            True,
        ),
        ({}, False),
        ({"Host": "127.0.0.1"}, False),
        ({"Host": "127.0.0.1:80"}, False),
        ({"Host": "evil.example:4242"}, False),
        ({"Host": "127.0.0.1.evil.example:4242"}, False),
        ({"Host": "127.0.0.1:4242", "Origin": "http://evil.example"}, False),
        ({"Host": "127.0.0.1:4242", "Origin": "https://127.0.0.1:4242"}, False),
        ({"Host": "127.0.0.1:4242", "Origin": "http://127.0.0.1:1"}, False),
        ({"Host": "127.0.0.1:4242", "Origin": "null"}, False),
        (
            {"Host": "127.0.0.1:4242", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
            False,
        ),
        ({"Host": "127.0.0.1:4242", "Sec-Fetch-Site": "same-site"}, False),
    ],
)
def test_a_request_has_to_be_addressed_here_and_to_come_from_here(headers, allowed):
    """A name that was made to point to loopback, and a page of another origin, get nothing."""
    assert (GUARD.refusal(headers) is None) is allowed


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/token/", ""),
        ("/token/run/x/", "run/x/"),
        ("/token", None),
        ("/", None),
        ("", None),
        ("/Token/", None),
        ("/tokenx/", None),
        ("//token/", None),
        ("/é/", None),
    ],
)
def test_nothing_is_found_without_the_token(path, inside):
    """Not even that there would be something."""
    assert GUARD.inside(path) == inside


def test_tokens_differ_and_are_long():
    """They cannot be guessed."""
    assert Guard(1).token != Guard(1).token
    assert len(Guard(1).token) >= 32


def test_a_server_refuses_what_the_guard_does(site, ask):
    """With a line of text that says nothing of what is there."""
    assert ask(site, Host="evil.example").status == 403
    assert ask(site, Origin="http://evil.example").status == 403
    assert ask(site, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors").status == 403
    bare = site.rsplit("/", 2)[0] + "/"
    for path in ("", "wrong/", "run/one/"):
        reply = ask(bare, path)
        assert reply.status == 404
        assert "one" not in reply.text.replace("one.json", "")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "NONSENSE"])
def test_it_is_only_read(site, method, ask):
    """No other method does anything."""
    reply = ask(site, method=method)
    assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD")


def test_answers_are_kept_by_nobody_and_framed_by_nobody(site, ask):
    """Browsers are told so."""
    for path in ("", "run/nothing/", "compare"):
        headers = ask(site, path).headers
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


def test_a_head_has_no_body(site, ask):
    """As the protocol wants it; the connection stays usable."""
    reply = ask(site, method="HEAD")
    assert (reply.status, reply.text) == (200, "")
    assert int(reply.headers["Content-Length"]) > 0
