"""Untrusted files give values: what would run, reach or read something is the user's to say."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_suites.engine.untrusted import UntrustedSource
from cbcore.binding import FileName, Trusted, bind, by_field, check_parameters, make
from cbcore.exceptions import ConfigError
from cbcore.introspection import format_type, parameters_of
from cbcore.specs import Spec


@attrs.frozen(kw_only=True)
class Access:
    key_name: Trusted[str | None] = None


_ACCESS = Access()


class Everything:
    """Has a parameter of every kind."""

    @by_field
    def __init__(
        self,
        text: str = "",
        number: int = 0,
        texts: Sequence[str] = (),
        function: Callable[[str], Any] | None = None,
        functions: Sequence[Callable[[str], Any]] = (),
        text_or_function: str | Callable[[str], Any] = "",
        marked: Trusted[str | None] = None,
        marked_within: Trusted[str] | None = None,
        anything: Any = None,
        untyped=None,
        folder: str | Path | None = None,
        file_path: str = "",
        rubric: FileName[str] = "",
        answer_column: Any = None,
        api_key: str | None = None,
        api_key_env: str | None = None,
        base_url: str | None = None,
        judge_url: str | None = None,
        endpoint: str | None = None,
        command: Sequence[str] = (),
        python: str | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        access: Access = _ACCESS,
        **more: Any,
    ) -> None:
        self.given = {name: value for name, value in locals().items() if value}


@pytest.fixture
def source(tmp_path):
    """A file that may take files from one folder."""
    (tmp_path / "own").mkdir()
    return UntrustedSource("suite.yaml:3", (tmp_path / "own",), hint="add --trust own")


def bind_untrusted(source, spec, target):
    """Bind a spec after the check of its parameters."""
    check_parameters(spec, target, source.check)
    return bind(spec, target)


VALUES: list[tuple[str, Any, Any]] = [
    ("text", "os:system", "os:system"),
    ("text", "http://example.org/v1", "http://example.org/v1"),
    ("number", "12", 12),
    ("texts", "[os:system, b]", ["os:system", "b"]),
    ("text_or_function", "contexts.0", "contexts.0"),
    ("function", None, None),
    ("marked", None, None),
    ("api_key_env", None, None),
    ("anything", "some text", "some text"),
    ("anything", ["a", {"b": "c"}], ["a", {"b": "c"}]),
    ("rubric", "better", "better"),
    ("rubric", "judge\0this", "judge\0this"),
    ("rubric", "Judge this: {response}", "Judge this: {response}"),
    ("answer_column", "meta:answer", "meta:answer"),
    ("further", "a.b", "a.b"),
    ("text", "${HOME}", "${HOME}"),
]


@pytest.mark.parametrize(("name", "value", "bound"), VALUES, ids=lambda v: repr(v)[:30])
def test_values_are_taken_from_a_stranger(source, name, value, bound):
    """As they would be from the user, but that no text stands for a function."""
    found = bind_untrusted(source, Spec("it", params={name: value}), Everything)
    assert found.arguments[name] == bound


PROGRAMS: list[tuple[str, Any, str]] = [
    ("function", "os:system", "would import 'os:system'"),
    ("functions", "[os:system]", "would import '[os:system]'"),
    ("text_or_function", "os:system", "may name a program"),
    ("marked", "x", "is for the user to set"),
    ("marked_within", "x", "is for the user to set"),
    ("key_name", "HOME", "is for the user to set"),
    ("anything", "os:system", "may name a program or an address"),
    ("anything", "py:./mine.py:f", "may name a program or an address"),
    ("anything", {"a": ["https://example.org"]}, "may name a program or an address"),
    ("untyped", "http://example.org", "may name a program or an address"),
    ("further", "package.module:name", "may name a program or an address"),
    ("answer_column", "py:os:system", "may name a program"),
    ("answer_column", ["py:os:system"], "may name a program"),
    ("api_key", "x", "is for the user to set"),
    ("api_key_env", "HOME", "is for the user to set"),
    ("base_url", "http://example.org", "is for the user to set"),
    ("judge_url", "http://example.org", "is for the user to set"),
    ("endpoint", "example.org", "is for the user to set"),
    ("command", "[rm]", "is for the user to set"),
    ("python", "/tmp/evil.sh", "is for the user to set"),
    ("headers", {"X-Forward": "example.org"}, "is for the user to set"),
    ("folder", "/etc", "leads out of the folders named"),
    ("folder", Path("/etc"), "leads out of the folders named"),
    ("file_path", "/etc/hostname", "leads out of the folders named"),
    ("file_path", "/nothing/here", "leads out of the folders named"),
    ("rubric", "/etc/passwd", "leads out of the folders named"),
]


@pytest.mark.parametrize(("name", "value", "says"), PROGRAMS, ids=lambda v: repr(v)[:30])
def test_programs_are_refused_with_the_place_and_the_remedy(source, name, value, says):
    """The user may set the same parameter to the same value."""
    spec = Spec("it", params={name: value})
    with pytest.raises(ConfigError, match=re.escape(says)) as caught:
        bind_untrusted(source, spec, Everything)
    assert (caught.value.source, caught.value.hint) == ("suite.yaml:3", "add --trust own")
    bind(spec, Everything)


def test_the_first_parameter_is_guarded_when_it_is_given_as_config(source):
    """`name:value` is the same as `name:first=value`."""

    def judge(base_url: str) -> str:
        return base_url

    with pytest.raises(ConfigError, match="'base_url' is for the user"):
        bind_untrusted(source, Spec("judge", "http://example.org"), judge)


def test_a_factory_that_shows_no_signature_gets_no_programs(source):
    """What it would make of a text, nobody knows."""
    with pytest.raises(ConfigError, match="may name a program"):
        bind_untrusted(source, Spec("dict", params={"a": "os:system"}), dict)


def test_of_a_spec_that_is_partly_the_users_the_rest_is_free(source):
    """A suite adds columns to an evaluator that the user named."""
    partly = attrs.evolve(source, parameters={"answer_column"})
    users = {"base_url": "http://localhost", "function": "os:getcwd"}
    found = bind_untrusted(partly, Spec("it", params={**users, "answer_column": "a"}), Everything)
    assert found.arguments["function"] is os.getcwd
    with pytest.raises(ConfigError, match="answer_column"):
        bind_untrusted(partly, Spec("it", params={"answer_column": "py:os:system"}), Everything)


def test_files_of_ones_own_folder_may_be_named(source, tmp_path):
    """Also through a link that stays within it."""
    (tmp_path / "own/data.csv").write_text("a\n1\n")
    (tmp_path / "own/link.csv").symlink_to("data.csv")
    for path in ("own", "own/data.csv", "own/link.csv", "own/not-there.csv", "own/../own/data.csv"):
        source.check_path(tmp_path / path)


@pytest.mark.parametrize(
    "way", ["../secret", "link", "folder/secret", "deep", "deep/far", "loop", "hop"]
)
def test_no_way_leads_out_of_the_folder(source, tmp_path, way):
    """By dots, by a link, through a linked folder, or by a link in a folder that is named."""
    (tmp_path / "secret").write_text("s")
    own = tmp_path / "own"
    (own / "link").symlink_to(tmp_path / "secret")
    (own / "folder").symlink_to(tmp_path)
    (own / "deep/far").mkdir(parents=True)
    (own / "deep/far/link").symlink_to("../../../secret")
    (own / "loop").mkdir()
    (own / "loop/out").symlink_to("/")
    (own / "hop").mkdir()
    (own / "hop/on").symlink_to("../deep")
    with pytest.raises(ConfigError, match="leads out"):
        source.check_path(own / way)


def test_a_chain_of_file_systems_is_an_address(source, tmp_path):
    """Libraries that read `a::b` read `b`, wherever `a` lies."""
    with pytest.raises(ConfigError, match="address"):
        source.check_path(f"{tmp_path}/own/filecache::/etc/passwd")


@given(st.sampled_from(["path", "data_dir", "a"]) | st.text(max_size=9), st.text(max_size=30))
def test_no_text_makes_the_check_fail_otherwise(name, value):
    """Whatever is written, it is taken, or refused in order."""
    with contextlib.suppress(ConfigError):
        assert UntrustedSource("here").check("it", name, value, Any) is None


def test_a_mark_is_not_shown_to_readers():
    """`cb info` shows the type."""
    shown = {p.name: format_type(p.annotation) for p in parameters_of(Everything)}
    assert (shown["marked"], shown["rubric"], shown["key_name"]) == (
        "str | None",
        "str",
        "str | None",
    )


def test_a_marked_parameter_is_converted_as_its_type():
    """For the user it is a parameter like any other."""

    def made(limit: Trusted[int] = 1, name: Trusted[str | None] = None) -> tuple[Any, Any]:
        return limit, name

    assert make(Spec("it", params={"limit": "3", "name": "none"}), made) == (3, None)


def test_an_untrusted_file_names_no_address(source):
    """With the user's credentials or without."""
    for address in ("s3://bucket/rows.jsonl", "memory://x/rows.jsonl"):
        with pytest.raises(ConfigError, match="it is an address"):
            source.check("file", "path", address, str)
