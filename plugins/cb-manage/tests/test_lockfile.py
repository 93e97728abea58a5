"""`cb-plugins.lock`: written, read back, and compared with what is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_manage.lockfile import (
    Difference,
    find_differences,
    read_lock,
    require_locked,
    write_lock,
)
from cbcore.exceptions import ConfigError
from cbcore.plugins import Plugin, State

names = st.from_regex(r"[a-z0-9](-?[a-z0-9]){0,8}", fullmatch=True)
versions = st.from_regex(r"[0-9]+(\.[0-9]+){0,2}((a|b|rc|\.post|\.dev)[0-9])?", fullmatch=True)


@given(st.dictionaries(names, versions))
def test_what_is_written_is_read_back(tmp_path_factory, locked):
    """Whatever the plugins are."""
    path = tmp_path_factory.mktemp("lock") / "cb-plugins.lock"
    write_lock(path, locked)
    assert read_lock(path) == locked


def test_the_lock_is_plain_text_without_places(tmp_path):
    """Sorted, one line each: a change shows as the lines that changed."""
    path = tmp_path / "cb-plugins.lock"
    write_lock(path, {"cbcore": "0.1.0", "cb-b": "2.0", "cb-a": "1.0"})
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert lines == [
        "format = 1",
        "",
        "[plugins]",
        'cb-a = "1.0"',
        'cb-b = "2.0"',
        'cbcore = "0.1.0"',
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense", "is not a lock"),
        (b"\xff\xfe", "is not a lock"),
        ("", "has format None"),
        ("format = 2\n[plugins]\n", "has format 2"),
        ("format = 1\n", "must be a table"),
        ("format = 1\nplugins = 3\n", "must be a table"),
        ("format = 1\n[plugins]\ncb-a = 1\n", "cb-a = 1 is no name and version"),
        ('format = 1\n[plugins]\ncb-a = ""\n', "no name and version"),
        ('format = 1\n[plugins]\ncb-a = "1.0 --index-url x"\n', "no name and version"),
        ('format = 1\n[plugins]\ncb-a = "1.0; x"\n', "no name and version"),
        ('format = 1\n[plugins]\n"--target" = "1.0"\n', "no name and version"),
    ],
)
def test_what_is_no_lock_is_refused(tmp_path, text, reason):
    """Nothing in it reaches the installer unless it is a name or a version."""
    path = tmp_path / "cb-plugins.lock"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        read_lock(path)
    assert reason in caught.value.reason
    assert caught.value.source == str(path)


@pytest.mark.parametrize("place", ["missing.lock", "."])
def test_a_lock_that_cannot_be_read(tmp_path, place):
    """It is not there, or it is a folder."""
    with pytest.raises(ConfigError):
        read_lock(tmp_path / place)


def test_a_lock_that_cannot_be_written(tmp_path):
    """The place is named."""
    with pytest.raises(ConfigError, match="cannot be written"):
        write_lock(Path(tmp_path), {})


LOCKED = {"cb-a": "1.0", "cbcore": "0.1.0"}


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        ([("cb-a", "1.0", "ok")], []),
        ([("CB_A", "1.0", "not loaded yet")], []),
        ([("cb-a", "1.1", "ok")], [("cb-a", "1.0", "1.1")]),
        ([("cb-a", "1.0", "ok"), ("cb-b", "2", "ok")], [("cb-b", None, "2")]),
        ([], [("cb-a", "1.0", None)]),
        ([("cb-a", "1.0", "broken")], [("cb-a", "1.0", None)]),
        ([("cb-a", "1.0", "incompatible")], [("cb-a", "1.0", None)]),
        ([("cb-a", "1.0", "disabled")], []),
        ([("cb-a", "1.0", "ok"), ("cb-b", "2", "disabled")], []),
        ([("cb-a", "1.0", "ok"), ("cb-a", "2", "shadowed")], []),
    ],
)
def test_differences_between_lock_and_environment(plugins, expected):
    """Other versions, too many and too few; what is switched off for this command is neither."""
    core = Plugin(name="cbcore", version="0.1.0")
    made = [Plugin(name=n, version=v, state=State(s)) for n, v, s in plugins]
    assert find_differences(LOCKED, [core, *made]) == [Difference(*e) for e in expected]


def test_a_run_is_refused_with_everything_that_differs(tmp_path):
    """One message names all, and what to do."""
    path = tmp_path / "cb-plugins.lock"
    write_lock(path, {"cb-a": "1.0", "cb-b": "1.0"})
    plugins = [Plugin(name="cb-a", version="2.0"), Plugin(name="cb-c", version="3.0")]
    with pytest.raises(ConfigError) as caught:
        require_locked(plugins, path)
    assert "cb-a is 2.0, locked is 1.0" in caught.value.reason
    assert "cb-b 1.0 is not installed" in caught.value.reason
    assert "cb-c 3.0 is not in the lock" in caught.value.reason
    assert "cb plugins sync" in caught.value.hint
