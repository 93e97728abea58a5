"""Where a distribution came from, as its metadata says."""

from __future__ import annotations

import json

import pytest

from cbcore.plugins.installed import Distribution, Origin, origin_of
from tests.fake_distributions import write_system


def read(info):
    (found,) = Distribution.iter_installed([str(info.parent)])
    return found.origin


HASHED = "cb_one.py,sha256=abc,10\ncb_one-1.0.dist-info/METADATA,sha256=def,20\n"


@pytest.mark.parametrize(
    "more",
    [
        "cb_one-1.0.dist-info/INSTALLER,sha256=x,4\n",
        "cb_one-1.0.dist-info/REQUESTED,sha256=x,4\n",
        "cb_one-1.0.dist-info/direct_url.json,sha256=x,4\n",
        "cb_one-1.0.dist-info/RECORD,,\n",
        "__pycache__/cb_one.cpython-311.pyc,,\n",
        "../../../bin/one,sha256=x,4\n",
    ],
)
def test_the_digest_does_not_depend_on_the_installer(tmp_path, more):
    """The same wheel has the same digest, whoever installed it, wherever."""
    info = write_system(tmp_path, "cb-one", "one")
    (info / "RECORD").write_text(HASHED)
    alone = read(info).record_digest
    (info / "RECORD").write_text(more + HASHED)
    assert read(info).record_digest == alone
    assert alone.startswith("sha256:")


@pytest.mark.parametrize("change", [("abc", "abd"), ("cb_one.py", "cb_two.py")])
def test_the_digest_depends_on_every_file(tmp_path, change):
    """On names and on contents."""
    info = write_system(tmp_path, "cb-one", "one")
    (info / "RECORD").write_text(HASHED)
    before = read(info).record_digest
    (info / "RECORD").write_text(HASHED.replace(*change))
    assert read(info).record_digest != before


def test_a_name_with_a_comma_is_one_name(tmp_path):
    """RECORD quotes it, and doubles quotes that are in it."""
    info = write_system(tmp_path, "cb-one", "one")
    (info / "RECORD").write_text(HASHED)
    before = read(info).record_digest
    (info / "RECORD").write_text(HASHED + '"a,b.py",sha256=x,4\n')
    with_one = read(info).record_digest
    (info / "RECORD").write_text(HASHED + "a,b.py,sha256=x,4\n")
    assert len({before, with_one, read(info).record_digest}) == 3


def test_a_distribution_is_found_by_its_name(tmp_path, monkeypatch):
    """On the import path of this process."""
    info = write_system(tmp_path, "cb-one", "one")
    (info / "RECORD").write_text(HASHED)
    monkeypatch.syspath_prepend(tmp_path)
    origin_of.cache_clear()
    assert origin_of("cb-one").record_digest == read(info).record_digest
    origin_of.cache_clear()


URL = "https://example.org/one"


@pytest.mark.parametrize(
    ("direct", "expected", "text"),
    [
        (
            {"url": URL, "vcs_info": {"vcs": "git", "commit_id": "0123456789abcdef"}},
            {"commit": "0123456789abcdef", "url": URL},
            f"commit 0123456789ab of {URL}",
        ),
        (
            {"url": "file:///a%20b/one", "dir_info": {"editable": True}},
            {"editable": "/a b/one", "url": "file:///a%20b/one"},
            "editable, /a b/one",
        ),
        ({"url": "file:///one", "dir_info": {}}, {"url": "file:///one"}, "file:///one"),
        (
            {"url": "https://me:hunter2@example.org/one", "archive_info": {}},
            {"url": "https://me:***@example.org/one"},
            "https://me:***@example.org/one",
        ),
        ({}, {}, ""),
        ([1], {}, ""),
        ({"url": 3, "vcs_info": 4, "dir_info": 5}, {}, ""),
        ("{", {}, ""),
    ],
)
def test_the_source_an_installer_noted(tmp_path, direct, expected, text):
    """Repository, folder or archive; a login is hidden, nonsense is nothing."""
    info = write_system(tmp_path, "cb-one", "one")
    content = direct if isinstance(direct, str) else json.dumps(direct)
    (info / "direct_url.json").write_text(content)
    origin = read(info)
    assert origin == Origin(record_digest=origin.record_digest, **expected)
    assert str(origin) == text


def test_what_is_not_installed_has_no_origin():
    """No error: provenance is told as far as it is known."""
    assert origin_of("cb-not-there-at-all") == Origin()
