"""Secrets: which names and texts are taken for one, and that none is ever shown."""

from __future__ import annotations

import collections
import copy
import pickle

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.plain._values import CUT, MAX_DEPTH
from cbcore.secrets import (
    HIDDEN,
    Secret,
    can_be_blotted,
    is_secret_name,
    redact,
    redact_assignments,
    secret_values,
    visible,
)


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apikey",
        "API_KEY",
        "openai_api_key",
        "api-key",
        "X-Api-Key",
        "access_key",
        "secret_key",
        "private_key",
        "token",
        "auth_token",
        "access_token",
        "hf_token",
        "bearer_token",
        "secret",
        "client_secret",
        "password",
        "db_password",
        "passwd",
        "Authorization",
        "credential",
        "credentials",
    ],
)
def test_names_of_secrets_are_known(name):
    """A parameter of this name is never written down."""
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "key",
        "keyword",
        "max_tokens",
        "tokens",
        "tokenizer",
        "token_budget",
        "score_key",
        "api_key_env",
        "secretary",
        "password_length",
        "monkey",
    ],
)
def test_names_that_only_resemble_one_are_not_secret(name):
    """Parameters that explain a result must stay visible."""
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("api_key", "hunter2", HIDDEN),
        ("api_key", 12345678, HIDDEN),
        ("api_key", b"hunter2", HIDDEN),
        ("api_key", "", ""),
        ("api_key", None, None),
        ("api_key", ["one", "two"], [HIDDEN, HIDDEN]),
        ("credentials", {"user": "me", "pin": 1234}, HIDDEN),
        ("api_key_env", "OPENAI_API_KEY", "OPENAI_API_KEY"),
        ("model", "gpt-4", "gpt-4"),
        ("max_tokens", 512, 512),
        ("headers", {"Authorization": "x", "n": 1}, {"Authorization": HIDDEN, "n": 1}),
        ("nested", [{"password": "x"}, "y"], [{"password": HIDDEN}, "y"]),
        ("anything", Secret("hunter2", "${KEY}"), "${KEY}"),
        ("anything", [Secret("hunter2", "${KEY}")], ["${KEY}"]),
        ("anything", {"k": Secret("hunter2", "${KEY}")}, {"k": "${KEY}"}),
        ("anything", Secret("", "${EMPTY}"), "${EMPTY}"),
    ],
)
def test_what_may_be_written_down(name, value, shown):
    """Secrets are replaced by their source or hidden, at any depth and of any type."""
    assert visible(name, value) == shown


class Talkative:
    def __str__(self):
        return "made with sk-0123456789abcdef"


class Closed(collections.UserDict):
    def items(self):
        raise ValueError


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (numpy.array([1, 2]), [1, 2]),
        ({"api_key": numpy.array([1, 2])}, {"api_key": HIDDEN}),
        (Talkative(), f"made with {HIDDEN}"),
        ({Secret("hunter2", "${KEY}"), "a"}, ["${KEY}", "a"]),
        ([Closed(api_key="hunter2")], [f"{Closed}"]),
    ],
)
def test_what_is_no_plain_data_is_searched_too(value, shown):
    """Its text may hold what its name does not tell; what cannot be searched is not shown."""
    assert visible("", value) == shown


def test_what_has_no_end_is_cut_off():
    """Nested deeply, or in itself by several ways, which would take for ever."""
    deep, loop = [], {"api_key": "hunter2"}
    for _ in range(100_000):
        deep = [deep]
    loop["again"] = [loop, loop]
    assert repr(visible("", deep)).count("[") == MAX_DEPTH
    assert visible("", loop) == {"api_key": HIDDEN, "again": [CUT, CUT]}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdef123456", f"Authorization: Bearer {HIDDEN}"),
        ("bearer abc.def-123~456", f"bearer {HIDDEN}"),
        ("https://me:hunter2@host/path", f"https://me:{HIDDEN}@host/path"),
        ("postgres+ssl://u:p@h", f"postgres+ssl://u:{HIDDEN}@h"),
        ("bad key sk-abcdefghijkl0123 given", f"bad key {HIDDEN} given"),
        ("sk-proj-abcdefghijkl_0123", HIDDEN),
        ("hf_abcdefghijklmnop", HIDDEN),
        ("gsk_abcdefghijklmnop", HIDDEN),
    ],
)
def test_credentials_in_a_text_are_redacted(text, shown):
    """Bearer tokens, logins in addresses and well-known kinds of keys."""
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://localhost:7878/v1",
        "mail me@host.org",
        "the bearer of news",
        "sk-short",
        "task-abcdefghijklmnop",
        "ratio 1:2 @ noon",
    ],
)
def test_ordinary_text_is_left_alone(text):
    """Redaction must not damage what explains an error."""
    assert redact(text) == text


def test_known_secret_values_are_removed_from_a_text():
    """A value in use is removed wherever it turns up, unless it is too short to be one."""
    assert redact("refused hunter2 (hunter2)", ["hunter2"]) == f"refused {HIDDEN} ({HIDDEN})"
    assert redact("a cat", ["cat"]) == "a cat"


SECRETS = st.text(min_size=6, max_size=20).filter(lambda s: "*" not in s and can_be_blotted(s))


@given(SECRETS, st.text(), st.text())
def test_no_known_value_survives(value, before, after):
    """Whatever surrounds it."""
    assert value not in redact(before + value + after, [value])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("openai:http://h,api_key=hunter2,n=1", f"openai:http://h,api_key={HIDDEN},n=1"),
        ("a:password=x | b:api-key=y", f"a:password={HIDDEN} | b:api-key={HIDDEN}"),
        ("openai:api_key='two words',n=1", f"openai:api_key={HIDDEN},n=1"),
        ("openai:api_key=two words | b", f"openai:api_key={HIDDEN} | b"),
        ("truncate:max_tokens=512", "truncate:max_tokens=512"),
        ("openai:https://me:hunter2@h", f"openai:https://me:{HIDDEN}@h"),
    ],
)
def test_a_command_line_is_recorded_without_its_secrets(text, shown):
    """Parameters named like secrets lose their values, whole; the others stay."""
    assert redact_assignments(text) == shown


def test_a_secret_is_a_string_that_does_not_repr():
    """It works as the string it is, while tracebacks, logs and containers show its source."""
    secret = Secret("hunter2", "${KEY}")
    assert secret == "hunter2"
    assert f"Bearer {secret}" == "Bearer hunter2"
    assert repr(secret) == "'${KEY}'"
    assert "hunter2" not in repr({"k": [secret]})
    assert repr(Secret("hunter2")) == repr(HIDDEN)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_a_copy_of_a_secret_is_a_secret(duplicate):
    """Copies and processes do not turn it into a plain string."""
    copied = duplicate(Secret("hunter2", "${KEY}"))
    assert (type(copied), str(copied), copied.source) == (Secret, "hunter2", "${KEY}")


def test_the_secret_values_of_parameters_are_collected():
    """By type and by name, also inside mappings; as plain strings, ready to be searched for."""
    found = secret_values(
        {
            "key": Secret("from-env", "${KEY}"),
            "password": "typed out",
            "model": "gpt-4",
            "headers": {"Authorization": "inner one", "n": 1},
            "keys": [Secret("listed", "${KEYS}")],
        }
    )
    assert found == {"from-env", "typed out", "inner one", "listed"}
    assert {type(value) for value in found} == {str}
