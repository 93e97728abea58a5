"""Reports get to their place whole, or not at all."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from cbcore.cli.reports import replace_file


def test_a_file_is_replaced_when_all_is_written(tmp_path):
    """Until then the old one is there; afterwards nothing else is."""
    path = tmp_path / "r.json"
    path.write_text("old")
    with replace_file(path) as place:
        place.write_text("new")
        assert path.read_text() == "old"
        assert (place.parent, place.suffix) == (path.parent, ".json")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("before", ["old", None])
@pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt(), SystemExit(0)])
def test_a_failure_leaves_what_was_there(tmp_path, before, error):
    """Neither half a file, nor an empty one, nor anything beside it."""
    path = tmp_path / "r.json"
    if before is not None:
        path.write_text(before)

    def write_half():
        with replace_file(path) as place:
            place.write_text("half")
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert [file.read_text() for file in tmp_path.iterdir()] == ([before] if before else [])


def test_nothing_written_is_a_failure_and_an_empty_text_is_not(tmp_path):
    """A report of no rows may well be empty; one that nobody wrote is none."""
    path = tmp_path / "r.txt"
    path.write_text("old")
    with pytest.raises(OSError, match="No such file"), replace_file(path):
        pass
    assert path.read_text() == "old"
    with replace_file(path) as place:
        place.write_text("")
    assert path.read_text() == ""


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_permissions_are_those_of_the_old_file(tmp_path, mode):
    """And those of a new file are the usual ones."""
    path, usual = tmp_path / "r.json", tmp_path / "usual"
    path.touch()
    usual.touch()
    path.chmod(mode)
    for file in (path, tmp_path / "new"):
        with replace_file(file) as place:
            place.write_text("x")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_links_stay_links(tmp_path):
    """What they lead to is written."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with replace_file(link) as place:
        place.write_text("by the link")
    assert (link.is_symlink(), target.read_text()) == (True, "by the link")


def test_devices_and_pipes_are_written_directly(tmp_path):
    """A full one says so."""
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    with replace_file(pipe) as place:
        place.write_text("through the pipe")
    reader.join()
    assert got == ["through the pipe"]
    with (
        pytest.raises(OSError, match="No space left"),
        replace_file(type(pipe)("/dev/full")) as place,
    ):
        place.write_text("x")
