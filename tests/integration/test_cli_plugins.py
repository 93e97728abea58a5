"""`cb list-plugins`: where plugins come from, and groups that are misspelled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fake_distributions import (
    Workplace,
    write_distribution,
    write_system,
)


@pytest.mark.parametrize(
    ("direct", "shown"),
    [
        ({"url": "file:///elsewhere/one", "dir_info": {"editable": True}}, "editable, /elsewhere"),
        (
            {"url": "https://example.org/one", "vcs_info": {"commit_id": "c0ffee" * 6}},
            "commit c0ffeec0ffee of https://example.org/one",
        ),
        (None, "{site}"),
    ],
)
def test_where_a_plugin_comes_from(workplace: Workplace, direct: Any, shown: str) -> None:
    """With -v: a folder installed in place, a commit, or where its files are."""
    info = write_system(workplace.site, "cb-one", "one")
    if direct is not None:
        (info / "direct_url.json").write_text(json.dumps(direct))

    (line,) = [
        line
        for line in workplace.cb("list-plugins", "-v").stdout.splitlines()
        if line.startswith("cb-one ")
    ]
    source = workplace.plugins("-v")["cb-one"]["source"]

    assert shown.format(site=workplace.site) in line
    assert list(source) == ["record_digest", "commit", "url", "editable"]
    assert source["url"] == (direct["url"] if direct else None)


def test_a_group_that_is_only_called_cb_is_told(workplace: Workplace) -> None:
    """Somebody meant a plugin, and nothing of it would be used."""
    write_distribution(workplace.site, "cb-hooky", {"cb": {"x": "cb_hooky:E"}}, {"cb_hooky.py": ""})
    (hooky,) = [p for p in workplace.json("list-plugins") if p["name"] == "cb-hooky"]
    assert hooky["status"] == "broken"
    assert hooky["remedy"]
