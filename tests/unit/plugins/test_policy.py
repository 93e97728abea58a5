"""Which plugins may be used: flags, environment and `[tool.cb]`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.exceptions import ConfigError, PluginLoadError, UsageError
from cbcore.plugins import Catalog
from cbcore.plugins.policy import PluginPolicy, check_names, read_policy, tool_table

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9._-]{0,10}[a-z0-9])?", fullmatch=True)


def spelled_otherwise(name: str) -> str:
    return name.replace("-", "_").replace(".", "_").upper()


def from_table(folder: Path, text: str) -> PluginPolicy:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return read_policy(environ={}, folder=folder)


def test_nothing_said_means_everything_allowed(tmp_path: Path) -> None:
    """No file, no variable, no flag: no restriction."""
    assert read_policy(environ={}, folder=tmp_path) == PluginPolicy()


@given(names=st.lists(NAMES, max_size=5), separator=st.sampled_from([",", " ", ", ", " ,\n"]))
def test_three_ways_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], separator: str
) -> None:
    """Flags, environment and `[tool.cb]` are read alike, whatever the spelling of names."""
    folder = tmp_path_factory.mktemp("table")
    odd = [spelled_otherwise(name) for name in names]
    environ = {"CB_DISABLE_PLUGINS": separator.join(odd), "CB_REQUIRE_PLUGINS": separator.join(odd)}
    quoted = ", ".join(f'"{name}"' for name in names)
    table = f"[tool.cb]\ndisable_plugins = [{quoted}]\nrequire_plugins = [{quoted}]\n"

    by_flag = read_policy(disable=names, require=odd, environ={}, folder=folder)
    by_environment = read_policy(environ=environ, folder=folder)

    assert by_flag == by_environment == from_table(folder, table)


@given(name=NAMES)
def test_refusal_does_not_depend_on_spelling(name: str) -> None:
    """A disabled name is refused however the distribution spells it."""
    policy = read_policy(disable=[name], environ={}, folder=Path("/nowhere"))
    refused = policy.find_refusal(spelled_otherwise(name))

    assert (refused is None) is (name == "cbcore")


def test_disabling_and_requiring_add_up(tmp_path: Path) -> None:
    """What one place says is not forgotten because another speaks too."""
    (tmp_path / "pyproject.toml").write_text('[tool.cb]\ndisable_plugins = ["c"]\n')

    policy = read_policy(disable=["a"], environ={"CB_DISABLE_PLUGINS": "b"}, folder=tmp_path)

    assert policy.disable == {"a", "b", "c"}


def test_the_allow_list_nearest_to_the_command_counts(tmp_path: Path) -> None:
    """Flag before environment before file."""
    (tmp_path / "pyproject.toml").write_text('[tool.cb]\nonly_plugins = ["file"]\n')
    environ = {"CB_ONLY_PLUGINS": "variable"}

    assert read_policy(only=["flag"], environ=environ, folder=tmp_path).only == {"flag"}
    assert read_policy(environ=environ, folder=tmp_path).only == {"variable"}
    assert read_policy(environ={}, folder=tmp_path).only == {"file"}


def test_an_empty_allow_list_allows_none(tmp_path: Path) -> None:
    """It is a list, not the absence of one; the core stays."""
    policy = from_table(tmp_path, "[tool.cb]\nonly_plugins = []\n")

    assert policy.find_refusal("cb-metrics") is not None
    assert policy.find_refusal("cbcore") is None


@pytest.mark.parametrize(
    ("value", "strict"),
    [("", False), ("0", False), ("false", False), ("1", True), ("TRUE", True)],
)
def test_strict_by_environment(tmp_path: Path, value: str, strict: bool) -> None:
    """1 and true, 0 and false, or nothing."""
    policy = read_policy(environ={"CB_STRICT_PLUGINS": value}, folder=tmp_path)

    assert policy.strict is strict


def test_strict_by_an_unknown_word(tmp_path: Path) -> None:
    """A word that is neither yes nor no is an error, not a guess."""
    with pytest.raises(ConfigError, match="CB_STRICT_PLUGINS: 'maybe'"):
        read_policy(environ={"CB_STRICT_PLUGINS": "maybe"}, folder=tmp_path)


def test_strict_by_flag_and_by_table(tmp_path: Path) -> None:
    """Either is enough."""
    assert read_policy(strict=True, environ={}, folder=tmp_path).strict
    assert from_table(tmp_path, "[tool.cb]\nstrict_plugins = true\n").strict


@pytest.mark.parametrize(
    "text",
    [
        "[tool.cb]\ndisable_plugins = ['a']",
        "[ tool . cb ]\ndisable_plugins = ['a']",
        '[tool."cb"]\ndisable_plugins = ["a"]',
        "[tool]\ncb.disable_plugins = ['a']",
        "[tool]\ncb = {disable_plugins = ['a']}",
        "tool.cb.disable_plugins = ['a']",
    ],
)
def test_every_way_to_write_the_table(tmp_path: Path, text: str) -> None:
    """TOML has several spellings of one table; none is passed over silently."""
    assert from_table(tmp_path, text).disable == {"a"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[tool.other]\ndisable_plugins = ['a']",
        "[tool.cbx]\nx = 1",
        "# cb = 1\n[tool]\nx = 1",
    ],
)
def test_files_that_say_nothing_of_cb(tmp_path: Path, text: str) -> None:
    """Neither a table of another tool nor a comment is a switch."""
    assert from_table(tmp_path, text) == PluginPolicy()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[tool.cb]\ndisable_plugin = []", "unknown key 'disable_plugin'", "disable_plugins"),
        ("[tool.cb]\nzzz = 1", "unknown key 'zzz'", "known keys"),
        ("[tool.cb]\ndisable_plugins = 'a'", "must be a list of names, not 'a'", None),
        ("[tool.cb]\nonly_plugins = [1]", "must be a list of names", None),
        ("[tool.cb]\nstrict_plugins = 1", "must be true or false", None),
        ("[tool.cb]\nstrict_plugins = ", "not valid TOML", None),
        ("[[tool.cb]]\nstrict_plugins = true", "must be a table", None),
        ("[tool]\ncb = 3", "must be a table", None),
    ],
)
def test_table_that_cannot_be_used(
    tmp_path: Path, text: str, message: str, hint: str | None
) -> None:
    """The error names the file, what is wrong, and the near match."""
    with pytest.raises(ConfigError) as caught:
        from_table(tmp_path, text)

    assert str(tmp_path / "pyproject.toml") in caught.value.message
    assert message in caught.value.message
    assert (hint or "") in (caught.value.hint or "")


def test_bytes_that_are_no_utf8_do_not_hide_the_table(tmp_path: Path) -> None:
    """A stray byte in a comment must not switch a plugin on again."""
    (tmp_path / "pyproject.toml").write_bytes(b"# \xff\n[tool.cb]\ndisable_plugins = ['a']\n")

    assert read_policy(environ={}, folder=tmp_path).disable == {"a"}


INSTALLED = {"cb-metrics": ["mean_score", "hooks"], "cbcore": ["progress", "table"]}


@pytest.mark.parametrize(
    ("policy", "error", "hint"),
    [
        (
            {"disable": "cb-metric"},
            "Cannot disable the plugin 'cb-metric'",
            "did you mean cb-metrics?",
        ),
        ({"only": "cb-metric"}, "Cannot allow the plugin 'cb-metric'", "did you mean cb-metrics?"),
        ({"disable": "cbcore"}, "Cannot disable cbcore", "such as --no-plugin cbcore/progress"),
        ({"disable": "cbcore/chart"}, "Cannot disable the plugin 'cbcore/chart'", ""),
        ({"disable": "cbcore/progres"}, "Cannot disable", "did you mean cbcore/progress?"),
        ({"only": "cbcore/progress"}, "Cannot allow the plugin 'cbcore/progress'", ""),
    ],
)
def test_a_name_that_matches_nothing_is_refused(policy, error, hint):
    """A misspelled switch must not be silent; the core itself cannot be disabled."""
    policy = PluginPolicy(**{verb: frozenset({name}) for verb, name in policy.items()})
    with pytest.raises(UsageError, match=error) as caught:
        check_names(policy, INSTALLED)
    assert caught.value.exit_code == 2
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", ["cbcore/progress", "cb-metrics/mean-score", "cb-metrics"])
def test_a_plugin_or_one_part_of_it_can_be_disabled(name):
    """Parts are hook modules and components, of the core too."""
    check_names(PluginPolicy(disable=frozenset({name})), INSTALLED)


def test_required_name_that_is_not_installed() -> None:
    """That is a missing plugin, with the way to get it. Commands are found without it."""
    catalog = Catalog([], PluginPolicy(require=frozenset({"cb-absent"})))
    assert catalog.components("command") == []
    with pytest.raises(PluginLoadError, match="required but not installed") as caught:
        catalog.components("lock")

    assert caught.value.exit_code == 3
    assert caught.value.hint == "pip install cb-absent"


def test_a_table_within_is_left_to_the_command_it_belongs_to(tmp_path):
    """`[tool.cb.gate]` is no switch of plugins, and does not hide a misspelt one."""
    table = "[tool.cb]\nstrict_plugins = true\n[tool.cb.gate]\nmin = {f1 = 0.6}\n"
    assert from_table(tmp_path, table).strict
    assert tool_table(tmp_path)["gate"] == {"min": {"f1": 0.6}}
    with pytest.raises(ConfigError, match="unknown key 'strict_plugin'"):
        from_table(tmp_path, table.replace("strict_plugins", "strict_plugin"))
    assert tool_table(tmp_path / "nowhere") == {}
