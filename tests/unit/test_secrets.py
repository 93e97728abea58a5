"""Secrets: which names and texts are taken for one, and that none is ever shown."""

from __future__ import annotations

import base64
import collections
import copy
import html
import json
import pickle
from urllib.parse import quote, quote_plus

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.exceptions import UsageError
from cbcore.json_data import CUT, MAX_DEPTH
from cbcore.secrets import (
    HIDDEN,
    Secret,
    can_be_replaced,
    forget_all,
    hide,
    is_secret_name,
    names_secret,
    notice,
    notice_arguments,
    notice_environment,
    redact,
    redact_value,
    remember,
)
from tests.tables import check_each


@check_each(
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
        "passphrase",
        "session_token",
        "bearer",
        "pwd",
        "cookie",
        "Set-Cookie",
        "signing_key",
        "api_keys",
        "secrets",
        "webhook_url",
        *("accessToken", "authToken", "bearerToken", "clientSecret", "userPassword", "apiKey"),
        *("APIKey", "AccountKey", "SharedAccessKey", "x-functions-key", "sas_token", "passcode"),
        *("PGPASSWORD", "dbpassword", "passwords"),
        *("jwt", "JWT", "MASTERKEY", "X-Amz-Credential", "x_auth"),
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
        "author",
        "n_tokens",
        "pad_token",
        "cwd",
        "path",
        *("maxTokens", "promptTokens", "tokenCount", "passage", "passages", "bypass", "compass"),
        *("signal", "design", "signature_length", "pass_rate", "pass_at_1", "cost_of_pass"),
        *("sessionId", "keywordCount", "apiKeyEnv"),
    ],
)
def test_names_that_only_resemble_one_are_not_secret(name):
    """Parameters that explain a result must stay visible."""
    assert not is_secret_name(name)


@check_each(
    "name",
    [
        *("key", "keys", "auth", "tokens", "pat", "Key", "pass", "mail_pass", "pw", "bind_pw"),
        *("sig", "urlSig", "signature", "X-Amz-Signature", "openai_key", "slackToken"),
        *("DB_PASS", "DBPASS", "SMTP_PASS", "SSHPASS", "LDAP_BINDPW", "GITLAB_PAT"),
    ],
)
@check_each(
    ("value", "is_secret"),
    [
        ("hunter2", True),
        ("CANARY", True),
        ("quite-a-secret", True),
        ("A", False),
        ("question", False),
        ("choices.text", False),
        ("groundTruth", False),
        ("Kerberos", False),
        ("token_f1", False),
        ("f1_score", False),
        ("exact_match_at_10", False),
        ("<|endoftext|>", False),
        ("two words", False),
        (12345678, False),
        (None, False),
    ],
)
def test_names_of_secrets_and_other_things_are_judged_by_the_value(name, value, is_secret):
    """A column, a mode or a number explains a result, and stays."""
    assert names_secret(name, value) == is_secret
    assert redact_value(name, value) == (HIDDEN if is_secret else value)


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
    assert redact_value(name, value) == shown


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
        ([Closed(api_key="hunter2")], ["<Closed>"]),
    ],
)
def test_what_is_no_plain_data_is_searched_too(value, shown):
    """Its text may hold what its name does not tell; what cannot be searched is not shown."""
    assert redact_value("", value) == shown


def test_what_has_no_end_is_cut_off():
    """Nested deeply, or in itself by several ways, which would take for ever."""
    deep, loop = [], {"api_key": "hunter2"}
    for _ in range(100_000):
        deep = [deep]
    loop["again"] = [loop, loop]
    assert repr(redact_value("", deep)).count("[") == MAX_DEPTH
    assert redact_value("", loop) == {"api_key": HIDDEN, "again": [CUT, CUT]}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdef123456", f"Authorization: Bearer {HIDDEN}"),
        ("bearer abc.def-123~456", f"bearer {HIDDEN}"),
        ("https://me:hunter2@host/path", f"https://me:{HIDDEN}@host/path"),
        ("postgres+ssl://u:p@h", f"postgres+ssl://u:{HIDDEN}@h"),
        ("https://x0123456789abcdef@host", f"https://{HIDDEN}@host"),
        ("bad key sk-abcdefghijkl0123 given", f"bad key {HIDDEN} given"),
        ("sk-proj-abcdefghijkl_0123", HIDDEN),
        ("hf_abcdefghijklmnop", HIDDEN),
        ("gsk_abcdefghijklmnop", HIDDEN),
        ("GET /v1?api_key=hunter2&n=1", f"GET /v1?api_key={HIDDEN}&n=1"),
        ("db: Server=h;Password=hunter2;X=1", f"db: Server=h;Password={HIDDEN};X=1"),
        ("{'X-Api-Key': 'hunter2', 'n': 1}", f"{{'X-Api-Key': '{HIDDEN}', 'n': 1}}"),
        ('{"password": "hunter2"}', f'{{"password": "{HIDDEN}"}}'),
        ("Authorization: Basic aHVudGVyMg==", f"Authorization: Basic {HIDDEN}"),
        ("X-Auth-Token: hunter2", f"X-Auth-Token: {HIDDEN}"),
        ("https://h/x?n=1&sig=aB3%2Fx9%3D&v=2", f"https://h/x?n=1&sig={HIDDEN}&v=2"),
        (
            "https://h/x?X-Amz-Credential=AK7%2Fs3&X-Amz-Signature=abc0123",
            f"https://h/x?X-Amz-Credential={HIDDEN}&X-Amz-Signature={HIDDEN}",
        ),
        ("https://h/x?clientSecret=hunter2", f"https://h/x?clientSecret={HIDDEN}"),
        ("AccountName=a;AccountKey=aB3x9==;E=x", f"AccountName=a;AccountKey={HIDDEN};E=x"),
        ("Endpoint=sb://x/;SharedAccessKey=aB3x9=", f"Endpoint=sb://x/;SharedAccessKey={HIDDEN}"),
        ("https://0123456789abcdef@o1.sentry.example/2", f"https://{HIDDEN}@o1.sentry.example/2"),
        ("openai:http://h,api_key=hunter2,n=1", f"openai:http://h,api_key={HIDDEN},n=1"),
        ("openai:api_key='two words',n=1", f"openai:api_key='{HIDDEN}',n=1"),
        ("openai:api_key='not-cl0sed", f"openai:api_key='{HIDDEN}"),
        ("--proxy=http://h/v1?key=s3cret-1", f"--proxy=http://h/v1?key={HIDDEN}"),
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
        "ssh://git@host.org/x",
        "the bearer of news",
        "sk-short",
        "task-abcdefghijklmnop",
        "ratio 1:2 @ noon",
        "Access(api_key=None, max_tokens=512)",
        "api_key=${MODEL_KEY}",
        "the author=Ada, keyword=x",
        "?key=question",
        "the signature=question, n_pass=12, design=x, passage=second",
        "{'key': 'question', 'tokens': 12}",
        "Authorization: required",
    ],
)
def test_ordinary_text_is_left_alone(text):
    """Redaction must not damage what explains an error."""
    assert redact(text) == text


SECRETS = st.text(min_size=6, max_size=20).filter(lambda s: "*" not in s and can_be_replaced(s))


# -- values that are known -------------------------------------------------------------------------


@given(SECRETS, st.text(max_size=5), st.text(max_size=5))
def test_a_value_is_known_in_every_form(value, before, after):
    """As it is, and as addresses, JSON, Python, HTML and base64 write it."""
    forget_all()
    remember(value)
    core = base64.b64encode(value.encode()[: len(value.encode()) // 3 * 3]).decode()
    for form in (
        value,
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        json.dumps(value)[1:-1],
        json.dumps(json.dumps(value))[3:-3],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        html.escape(value),
    ):
        assert form not in hide(f"{before} {form} {after}"), form
    for user in ("abc", "abcd", "abcde"):
        login = base64.b64encode(f"{user}:{value}".encode()).decode()
        assert core[4:-4] not in hide(login) or len(core) < 12


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        ("Bearer abc-123-def", "token abc-123-def", f"token {HIDDEN}"),
        ("https://me:hunt3r2@h/v1", "login hunt3r2", f"login {HIDDEN}"),
        ("https://h/v1?sig=1&key=qu3ry-key", "key qu3ry-key", f"key {HIDDEN}"),
        ("Server=db;Password=c0nnect;X=1", "with c0nnect", f"with {HIDDEN}"),
        ("Basic bWU6aHVudDNyMg==", "login bWU6aHVudDNyMg", f"login {HIDDEN}"),
        ("sid=s3ssion-1; theme=dark", "got s3ssion-1", f"got {HIDDEN}"),
        ("per%2Fcent-1", "is per/cent-1", f"is {HIDDEN}"),
        ("Answer the question; use the context.", "the question", "the question"),
    ],
)
def test_parts_of_a_value_are_known_too(value, text, shown):
    """What of it can turn up alone; not every word of a longer text."""
    remember(value)
    assert hide(text) == shown


@pytest.mark.parametrize(
    "value", ["", "abcde", "true", "12345678", "-1.5e10", "aaaaaaaa", "******", __file__]
)
def test_what_cannot_be_told_from_other_text_is_left_alone(value):
    """Short values, numbers, repeated characters, paths: to blot them out would ruin all else."""
    remember(value)
    assert not can_be_replaced(value)
    assert hide(f"is {value} or") == f"is {value} or"


def test_a_long_number_can_be_a_secret():
    """From twelve digits on it is hardly anything else."""
    remember("123456789012")
    assert hide("pin 123456789012") == f"pin {HIDDEN}"


def test_a_longer_value_goes_before_one_that_is_a_part_of_it():
    """Else its end would be left."""
    remember("abc-123")
    remember("abc-123-and-more")
    assert hide("abc-123-and-more, abc-123") == f"{HIDDEN}, {HIDDEN}"


def test_a_secret_is_known_when_it_is_made():
    """By whatever plugin; of a text with secrets in it, only these, where they can be told."""
    Secret("hunter2", "${KEY}")
    Secret("http://h?key=s3cret-1", "http://h?key=${K}", parts=["s3cret-1"])
    Secret("pin-1234-here", "pin-${PIN}-here", parts=["1234"])
    text = hide("hunter2 http://h?key=s3cret-1 pin-1234-here")
    assert text == f"{HIDDEN} http://h?key={HIDDEN} {HIDDEN}"


@pytest.mark.parametrize(
    ("name", "value", "known"),
    [
        ("OPENAI_API_KEY", "s3cret-1", True),
        ("MODEL_KEY", "s3cret-1", True),
        ("GITHUB_TOKEN", "s3cret-1", True),
        ("DB_PASSWORD", "s3cret-1", True),
        ("DATABASE_URL", "postgres://me:s3cret-1@db/x", True),
        *((name, "s3cret-1", True) for name in ("PGPASSWORD", "SSHPASS", "LDAP_BINDPW", "JWT")),
        ("STORAGE", "AccountName=a;AccountKey=s3cret-1", True),
        ("FEED", "https://h/x?n=1&sig=s3cret-1", True),
        ("SENTRY_DSN", "https://s3cret-1-0123@o1.sentry.example/2", True),
        ("PROXY_BYPASS", "s3cret-1", False),
        ("COMPASS", "s3cret-1", False),
        ("DB_PASSWORD", "postgres", False),
        ("DATABASE_URL", "postgres://postgres:postgres@db/postgres", False),
        ("DB_PASS", "s3cret-1", True),
        ("SLACK_TOKEN", "s3cret-1", True),
        ("OLDPWD", "/home/s3cret-1", False),
        ("SSH_AUTH_SOCK", "/tmp/s3cret-1", False),
        ("MAX_TOKENS", "s3cret-1", False),
        ("API_KEY_ENV", "s3cret-1", False),
        ("HOME", "/home/s3cret-1", False),
    ],
)
def test_variables_that_are_named_like_keys_are_known(monkeypatch, name, value, known):
    """And logins in addresses; neither a word nor what a shell sets."""
    monkeypatch.setenv(name, value)
    notice_environment()
    told = value.rpartition("/")[2] if "s3cret-1" not in value else "s3cret-1"
    told = "s3cret-1-0123" if told + "-0123" in value else told
    assert (hide(f"is {told}") == f"is {HIDDEN}") == known


@pytest.mark.parametrize(
    "arguments",
    [
        ["--token", "s3cret-1"],
        ["--asking-token", "s3cret-1"],
        ["--api-key=s3cret-1"],
        ["--judge-api-key-env", "NAMED_BY_A_FLAG"],
        ["-s", "x:a=1,api_key='s3cret-1',oops"],
        ["-s", "x:api_key=s3cret-1 | y"],
        ["-s", 'x:headers=\'{"X-Api-Key": "s3cret-1"}\''],
        ["-s", "x:headers={'Authorization': 'Bearer s3cret-1'}"],
        ["--proxy", "http://me:s3cret-1@h/v1"],
        ["--proxy", "http://h/v1?x=1&api_key=s3cret-1&y=2"],
        ["--proxy", "http://h/v1?key=s3cret-1"],
        ["--proxy", "http://h/v1?sig=s3cret-1"],
        ["-s", "x:clientSecret=s3cret-1"],
    ],
)
def test_secrets_of_a_command_line_are_known(monkeypatch, arguments):
    """Behind flags, in specs, in headers and in addresses."""
    monkeypatch.setenv("NAMED_BY_A_FLAG", "s3cret-1")
    notice_arguments(arguments)
    assert hide("is s3cret-1") == f"is {HIDDEN}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--budget-tokens", "500000"],
        ["--max-tokens", "unl1mited"],
        ["--keyword", "unl1mited"],
        ["-s", "x:author=unl1mited,monkey=unl1mited,n_tokens=unl1mited"],
        ["-s", "x:api_key=${unl1mited}"],
        ["-s", "x:key=question,auth=basic"],
    ],
)
def test_other_parameters_are_no_secrets(arguments):
    """However much their names look like one."""
    notice_arguments(arguments)
    assert hide("unl1mited") == "unl1mited"


def test_what_stands_in_itself_is_noticed_once():
    """An object may refer to itself, and a corpus may be long."""
    loop = {"password": "s3cret-1"}
    loop["again"] = [loop] * 3
    notice({"x": loop, "texts": ["word"] * 100_000})
    assert hide("s3cret-1") == HIDDEN


def test_a_secret_is_a_string_that_does_not_repr():
    """It works as the string it is, while tracebacks, logs and containers show its source."""
    secret = Secret("hunter2", "${KEY}")
    assert secret == "hunter2"
    assert f"Bearer {secret}" == "Bearer hunter2"
    assert repr(secret) == "'${KEY}'"
    assert "hunter2" not in repr({"k": [secret]})
    assert repr(Secret("hunter2")) == repr(HIDDEN)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_secret_is_a_secret(duplicate):
    """Copies do not turn it into a plain string."""
    copied = duplicate(Secret("hunter2", "${KEY}"))
    assert (type(copied), str(copied), copied.source) == (Secret, "hunter2", "${KEY}")


def test_a_pickled_secret_is_the_name_of_its_variable(monkeypatch):
    """The value is that of the environment where it is loaded."""
    monkeypatch.setenv("MY_KEY", "sk-of-this-machine-1")
    pickled = pickle.dumps(Secret("user:sk-of-the-run-1", "user:${MY_KEY}"))
    assert b"of-the-run" not in pickled
    loaded = pickle.loads(pickled)
    assert (type(loaded), str(loaded)) == (Secret, "user:sk-of-this-machine-1")
    assert loaded.source == "user:${MY_KEY}"
    assert hide("it said sk-of-this-machine-1") == "it said ***"
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(UsageError, match="variable 'MY_KEY' is not set"):
        pickle.loads(pickled)


def test_a_secret_that_comes_from_no_variable_cannot_be_pickled():
    with pytest.raises(TypeError, match="does not come from an environment variable"):
        pickle.dumps(Secret("hunter2"))
