"""Values that somebody else recorded name no program, file or address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cbcore.assembly.builder import Builder
from cbcore.assembly.remaking import check_untrusted
from cbcore.binding import FileName, Trusted, check_parameters
from cbcore.columns import Column
from cbcore.exceptions import ParameterError
from cbcore.plugins.catalog import Catalog, PluginPolicy
from cbcore.specs import Spec


def component(
    text: str = "",
    texts: Sequence[str] = (),
    anything: Any = None,
    marked: Trusted[str | None] = None,
    rubric: FileName[str] = "",
    folder: str | Path | None = None,
    judge: Callable[[str], Any] | None = None,
    answer_column: Column | None = None,
    api_key_env: str = "",
    command: Sequence[str] = (),
) -> None:
    """Has a parameter of every kind."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", "py:./evil.py:f"),
        ("text", "os:abort"),
        ("text", "./a folder/evil.py:f"),
        ("text", "http://127.0.0.1"),
        ("text", "filecache::/etc/passwd"),
        ("text", "/etc/passwd"),
        ("text", "../secret"),
        ("text", "a/../../secret"),
        ("text", "~/secret"),
        ("texts", ["a", "/etc/passwd"]),
        ("anything", {"a": [{"b": "os:abort"}]}),
        ("unknown", "/etc/passwd"),
        ("marked", "x"),
        ("rubric", "better"),
        ("folder", "here"),
        ("judge", "abort"),
        ("answer_column", "py:os:abort"),
        ("api_key_env", "HOME"),
        ("command", ["rm"]),
    ],
    ids=str,
)
def test_a_recorded_value_that_reaches_out_is_refused(name, value):
    """By its text, or by the mark, type or name of its parameter."""
    with pytest.raises(ParameterError, match=f"only the user may set '{name}'") as caught:
        check_parameters(Spec("it", params={name: value}), component, check_untrusted)
    assert caught.value.hint == "--trust allows it"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", "openai/gpt-4"),
        ("text", "group::task"),
        ("text", "Question: what?"),
        ("texts", ["f1", "exact_match"]),
        ("anything", 3),
        ("marked", None),
        ("answer_column", "meta.answer"),
    ],
    ids=str,
)
def test_a_recorded_value_is_taken(name, value):
    """It stands for itself."""
    check_parameters(Spec("it", params={name: value}), component, check_untrusted)


def test_own_code_is_refused_before_it_is_imported(tmp_path):
    """The check gets its path; the config of a component counts as its first parameter."""
    (tmp_path / "evil.py").write_text("raise SystemExit('it ran')")
    builder = Builder(Catalog([], PluginPolicy()), check=check_untrusted)
    with pytest.raises(ParameterError, match="only the user may set 'config'"):
        builder.build("dataset", f"py:{tmp_path}/evil.py:rows")
    with pytest.raises(ParameterError, match="only the user may set 'text'"):
        check_parameters(Spec("it", "/etc/passwd"), component, check_untrusted)
