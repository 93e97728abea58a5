"""Reading plugins from the metadata of installed distributions."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

from cbcore.plugins import installed
from cbcore.plugins.installed import EntryPoint, read_distributions
from tests.fake_distributions import write_distribution, write_hooks, write_system

metadata = installed._metadata()


def read(*path: Path) -> dict[str, installed.Distribution]:
    return {one.name: one for one in read_distributions([str(folder) for folder in path])}


def write_raw(folder: Path, name: str, entry_points: bytes, headers: bytes | None = b"") -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_bytes(entry_points)
    if headers is not None:
        (info / "METADATA").write_bytes(headers or f"Name: {name}\nVersion: 1\n\n".encode())


def test_metadata_is_read_in_full(tmp_path: Path) -> None:
    """Other entry-point groups are left out; the description is not taken for headers."""
    info = write_distribution(
        tmp_path,
        "cb-many",
        {
            "cb.systems": {"a": "m:A"},
            "cb.plugins": {"h": "m.hooks"},
            "console_scripts": {"x": "m:x"},
        },
        version="2.5",
        requires=["attrs", "cbcore>=0.1,<0.2"],
        summary="Many things",
    )
    with (info / "METADATA").open("a") as file:
        file.write("Name: fake\nRequires-Dist: cbcore>=99\n")

    found = read(tmp_path)["cb-many"]

    assert (found.version, found.summary) == ("2.5", "Many things")
    assert found.location == str(tmp_path)
    assert found.core_specifier == ">=0.1,<0.2"
    assert found.entry_points == (
        EntryPoint("cb.systems", "a", "m:A"),
        EntryPoint("cb.plugins", "h", "m.hooks"),
    )
    assert found.problem == ""
    assert found.stamp


def test_reading_imports_nothing(site: Path) -> None:
    write_system(site, "cb-unimported", "never")
    assert "cb-unimported" in [one.name for one in read_distributions()]
    assert "cb_unimported" not in sys.modules


def test_other_distributions_are_left_out(tmp_path: Path) -> None:
    """Also if their entry points cannot be read."""
    write_distribution(tmp_path, "other", {"console_scripts": {"x": "m:x"}})
    write_distribution(tmp_path, "bare")
    write_raw(tmp_path, "torn", b"torn")
    assert read(tmp_path) == {}


@pytest.mark.parametrize(
    ("requirements", "specifier"),
    [
        (["cbcore (>=0.1)"], ">=0.1"),
        (["CBcore[hf] ~= 0.1"], "~= 0.1"),
        (["cbcore"], ""),
        (["attrs>=23"], None),
        (["cbcore>=0.1", "cbcore!=0.1.3"], ">=0.1,!=0.1.3"),
        (["cbcore-suites>=99"], None),
        (["cbcore>=99; extra == 'future'"], None),
        (["cbcore>=99; python_version < '3'", "cbcore>=0.1"], ">=0.1"),
        (["cbcore @ file:///somewhere/cbcore==99"], None),
    ],
)
def test_the_supported_core_is_found_among_the_requirements(
    tmp_path: Path, requirements: list[str], specifier: str | None
) -> None:
    write_distribution(tmp_path, "cb-x", {"cb.systems": {"a": "m:A"}}, requires=requirements)
    assert read(tmp_path)["cb-x"].core_specifier == specifier


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("# note\n; note\n\n[ cb.systems ]\n  a  =  m:A  \n", {"a": "m:A"}),
        ("[cb.systems]\na = m:A [extra, other]", {"a": "m:A"}),
        ("[cb.systems]\r\na = m:A\r\n", {"a": "m:A"}),
        ("[cb.systems]\na=m:A\n[x]\nb=m:B\n[cb.systems]\nc=m:C", {"a": "m:A", "c": "m:C"}),
    ],
)
def test_forms_of_entry_points(tmp_path: Path, text: str, entries: dict[str, str]) -> None:
    write_raw(tmp_path, "cb_x", text.encode())
    found = read(tmp_path)["cb_x"]
    assert {entry.name: entry.value for entry in found.entry_points} == entries
    assert found.problem == ""


@pytest.mark.parametrize(
    ("text", "cause", "entries"),
    [
        (b"this is not a manifest", "line 1", []),
        (b"[cb.systems\nx = m:x", "line 1", ["x"]),
        (b"[cb.systems]\nx = m:x\nbare", "line 3", ["x"]),
        (b"[cb.systems]\nx = \xff\xfe", "UnicodeDecodeError", []),
    ],
)
def test_malformed_entry_points_are_named_and_isolated(
    tmp_path: Path, text: bytes, cause: str, entries: list[str]
) -> None:
    """What can be read is kept, so that its absence can be explained."""
    write_raw(tmp_path, "cb_torn", text)
    write_system(tmp_path, "cb-fine", "fine")

    found = read(tmp_path)

    assert set(found) == {"cb_torn", "cb-fine"}
    assert found["cb_torn"].problem.startswith("its entry_points.txt cannot be read: ")
    assert cause in found["cb_torn"].problem
    assert [entry.name for entry in found["cb_torn"].entry_points] == entries
    assert found["cb-fine"].problem == ""


@pytest.mark.parametrize("headers", [None, b"\n", b"Name: \xff\n\n"])
def test_without_metadata_the_folder_gives_the_name(tmp_path: Path, headers: bytes | None) -> None:
    write_raw(tmp_path, "cb_bare", b"[cb.systems]\na = m:A\n", headers)
    found = read(tmp_path)["cb_bare"]
    assert "METADATA" in found.problem
    assert [entry.name for entry in found.entry_points] == ["a"]


def test_an_archive_on_the_path_is_read(tmp_path: Path) -> None:
    """Nothing is cached for it; a malformed one has a name, too."""
    write_system(tmp_path / "source", "cb-zipped", "zipped")
    write_raw(tmp_path / "source", "cb_torn", b"torn", None)
    archive = tmp_path / "plugins.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for file in (tmp_path / "source").rglob("*"):
            out.write(file, file.relative_to(tmp_path / "source"))

    found = read(archive)

    assert set(found) == {"cb-zipped", "cb_torn"}
    assert (found["cb-zipped"].version, found["cb-zipped"].problem) == ("1.0", "")
    assert found["cb-zipped"].location == str(archive)
    assert found["cb-zipped"].stamp == ""


@pytest.mark.parametrize("entry", ["", "absent", "file.txt", "torn.zip"])
def test_odd_entries_of_the_path_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").write_text("text")
    (tmp_path / "torn.zip").write_bytes(b"PK\x03\x04 torn")
    write_system(tmp_path / "plugins", "cb-fine", "fine")
    path = [str(tmp_path / entry) if entry else "", str(tmp_path / "plugins")]
    assert [one.name for one in read_distributions(path)] == ["cb-fine"]


class RaisingFinder:
    """A finder of another package that cannot list distributions."""

    def find_spec(self, *_: object) -> None:
        return None

    def find_distributions(self, *_: object) -> object:
        raise OSError("the remote index is away")


class OddDistribution(metadata.Distribution):
    """A distribution that is not in a folder."""

    def read_text(self, filename: str) -> str | None:
        return {
            "METADATA": "Name: cb-odd\nVersion: 7\n\n",
            "entry_points.txt": "[cb.systems]\nodd = m:A\n",
        }.get(filename)

    def locate_file(self, path: object) -> Path:
        raise NotImplementedError


class UnreadableDistribution(OddDistribution):
    def read_text(self, filename: str) -> str | None:
        raise RuntimeError("the archive is gone")


class OddFinder(RaisingFinder):
    def find_distributions(self, *_: object) -> list[object]:
        return [UnreadableDistribution(), OddDistribution()]


def test_finders_of_other_packages_are_asked(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that raises hides only its own distributions."""
    write_system(site, "cb-fine", "fine")
    finders = [RaisingFinder(), OddFinder(), *sys.meta_path]
    monkeypatch.setattr(sys, "meta_path", finders)

    found = {one.name: one for one in read_distributions()}

    assert {"cb-fine", "cb-odd"} <= set(found)
    odd = found["cb-odd"]
    assert (odd.version, odd.location, odd.stamp) == ("7", "", "")


def test_a_second_copy_is_listed_and_a_folder_that_is_linked_twice_is_not(tmp_path: Path) -> None:
    """In the order of the path: Python imports the first."""
    write_system(tmp_path / "one", "cb-twice", "twice")
    write_system(tmp_path / "two", "cb-twice", "twice")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    path = [str(tmp_path / folder) for folder in ("two", "one", "one", "link")]
    found = read_distributions(path)
    assert [Path(one.location).name for one in found] == ["two", "one"]


@pytest.mark.parametrize("file", ["METADATA", "entry_points.txt"])
def test_the_stamp_changes_with_the_metadata(tmp_path: Path, file: str) -> None:
    info = write_system(tmp_path, "cb-x", "x")
    before = read(tmp_path)["cb-x"].stamp
    os.utime(info / file, ns=(1, 1))
    assert read(tmp_path)["cb-x"].stamp != before


@pytest.mark.parametrize("change", ["entry.py", "deep/inner.py", "added.py"])
def test_the_stamp_of_an_editable_changes_with_its_code(site: Path, change: str) -> None:
    """Any file of its packages counts, not only those that entry points name."""
    info = write_distribution(
        site,
        "cb-editable",
        {"cb.systems": {"e": "cb_editable.entry:A"}},
        {f"cb_editable/{file}": "" for file in ("__init__.py", "entry.py", "deep/inner.py")},
    )
    (info / "direct_url.json").write_text('{"url":"file:///x","dir_info":{"editable": true}}')
    before = read(site)["cb-editable"].stamp
    assert before == read(site)["cb-editable"].stamp != ""
    (site / "cb_editable" / change).write_text("")
    os.utime(site / "cb_editable" / change, (4_000_000_000, 4_000_000_000))
    assert read(site)["cb-editable"].stamp != before


@pytest.mark.parametrize("target", ["absent_module:A", "", ":A", ".relative:A", "namespace_only:A"])
def test_an_editable_whose_code_cannot_be_found_has_no_stamp(site: Path, target: str) -> None:
    (site / "namespace_only").mkdir()
    info = write_distribution(site, "cb-lost", {"cb.systems": {"l": target}})
    (info / "direct_url.json").write_text('{"dir_info": {"editable": true}}')
    write_hooks(site, "cb-next", "")
    found = read(site)
    assert found["cb-lost"].stamp == ""
    assert "cb-next" in found
