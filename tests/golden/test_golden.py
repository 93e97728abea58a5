"""Commands as a user types them give the rows, summaries and numbers of calls that were recorded.

If a change is intended, record it again (`python -m tests.golden.record NAME`) and add the line that
it prints, with the reason, to intended_changes.md.
"""

from __future__ import annotations

import pytest

from tests.golden.commands import GOLDEN
from tests.golden.reader import differences
from tests.golden.record import RECORDED, load, plain, play


@pytest.fixture(scope="session")
def plugin_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("golden-cache")


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)
def test_command_gives_what_was_recorded(golden, tmp_path, plugin_cache):
    new = plain(play(golden, tmp_path, plugin_cache))
    found = [
        f"{' / '.join(path)}: {old} → {now}" for path, old, now in differences(load(golden), new)
    ]
    assert not found, "\n".join(found[:40])


def test_each_recording_belongs_to_a_command():
    assert {path.stem for path in RECORDED.iterdir()} == {golden.name for golden in GOLDEN}
