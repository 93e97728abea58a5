"""Garbage is not looked for while a run is put together, and afterwards as before."""

from __future__ import annotations

import contextlib
import gc

import pytest
from click.testing import CliRunner

from cbcore.cli import run
from cbcore.cli._collector import preparing


@pytest.fixture(autouse=True)
def _as_before():
    was_enabled = gc.isenabled()
    yield
    gc.unfreeze()
    (gc.enable if was_enabled else gc.disable)()


def test_the_collector_works_again_when_the_run_is_ready():
    """What a run of hours leaves behind has to go."""
    with preparing() as ready:
        assert not gc.isenabled()
        ready()
        assert gc.isenabled()
    assert gc.isenabled()


def test_the_collector_works_again_when_there_was_no_run():
    """Whatever ended the command before."""
    with pytest.raises(ValueError, match="no such dataset"), preparing():
        raise ValueError("no such dataset")
    assert gc.isenabled()


def test_who_switched_the_collector_off_keeps_it_so():
    """It is a setting of the process, and of whoever runs commands in it."""
    gc.disable()
    with preparing() as ready:
        ready()
    assert not gc.isenabled()


def test_what_a_run_is_made_of_is_set_aside_once():
    """In a process that runs several commands, the next would set aside garbage of the last."""
    gc.unfreeze()
    with preparing() as ready:
        ready()
    set_aside = gc.get_freeze_count()
    made_later = [[] for _ in range(100)]
    with preparing() as ready:
        ready()
    assert set_aside
    assert gc.get_freeze_count() <= set_aside
    assert len(made_later) == 100


@pytest.mark.parametrize("arguments", [["--no-such-flag"], ["--help"], []])
def test_no_garbage_is_looked_for_while_flags_are_read(arguments, monkeypatch):
    """Which imports most of a run; and however reading them ends, the collector works again."""
    enabled = []
    monkeypatch.setattr(run, "preparing", lambda: watched(enabled))
    CliRunner().invoke(run.command, arguments)
    assert enabled == [False, True]


@contextlib.contextmanager
def watched(enabled):
    """As `preparing`, noting the state of the collector inside and after."""
    try:
        with preparing() as ready:
            enabled.append(gc.isenabled())
            yield ready
    finally:
        enabled.append(gc.isenabled())
