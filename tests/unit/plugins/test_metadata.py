"""Finding plugins by their metadata alone."""

from __future__ import annotations

import ast
import os
import re
import sys
import zipfile
from pathlib import Path

import pytest

import cbcore
from cbcore.plugins import Catalog, PluginPolicy
from cbcore.plugins._library import metadata
from cbcore.plugins.installed import EntryPoint
from tests.fake_distributions import write_distribution, write_hooks, write_system


def names(path: Path) -> list[str]:
    return [distribution.name for distribution in read_distributions([str(path)])]


def raw_distribution(folder: Path, name: str, entry_points: bytes, metadata: bytes | None) -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_bytes(entry_points)
    if metadata is not None:
        (info / "METADATA").write_bytes(metadata)


def test_manifest_is_read_in_full(tmp_path: Path) -> None:
    """Name, version, summary, place, supported core and entries come from the metadata."""
    write_distribution(
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

    (found,) = read_distributions([str(tmp_path)])

    assert (found.name, found.version, found.summary) == ("cb-many", "2.5", "Many things")
    assert found.location == str(tmp_path)
    assert found.core_specifier == ">=0.1,<0.2"
    assert found.declared == (
        EntryPoint("cb.systems", "a", "m:A"),
        EntryPoint("cb.plugins", "h", "m.hooks"),
    )
    assert found.problem == ""
    assert found.stamp


def test_nothing_is_imported(site: Path) -> None:
    """Scanning does not import the modules that entries name."""
    write_system(site, "cb-unimported", "never")

    assert "cb-unimported" in [distribution.name for distribution in read_distributions()]
    assert "cb_unimported" not in sys.modules


def test_distributions_without_our_groups_are_left_out(tmp_path: Path) -> None:
    """Other packages are none of our business."""
    write_distribution(tmp_path, "other", {"console_scripts": {"x": "m:x"}})
    write_distribution(tmp_path, "bare")

    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("groups", "misspelt"),
    [
        (["cb.dataset"], "cb.dataset"),
        (["console_scripts", "cb_systems"], "cb_systems"),
        (["cb.dataset", "cb.systems"], ""),
        (["cb"], "cb"),
        (["cb.qqqq"], None),
        (["cbor.plugins"], None),
    ],
)
def test_a_distribution_that_means_to_be_a_plugin_is_told(
    tmp_path: Path, groups: list[str], misspelt: str | None
) -> None:
    """One whose groups are all misspelt would else be noticed by nobody."""
    write_distribution(tmp_path, "cb-odd", {group: {"x": "cb_odd:X"} for group in groups})

    plugins = Catalog(read_distributions([str(tmp_path)]), PluginPolicy()).plugins
    told = [re.findall("group '(.+)' is not one", plugin.reason) for plugin in plugins]
    assert told == ([] if misspelt is None else [[misspelt] if misspelt else []])


@pytest.mark.parametrize(
    ("requirements", "specifier"),
    [
        (["cbcore>=0.1,<0.2"], ">=0.1,<0.2"),
        (["cbcore (>=0.1)"], ">=0.1"),
        (["CBcore[hf] ~= 0.1"], "~= 0.1"),
        (["cbcore"], ""),
        (["attrs>=23"], None),
        ([], None),
        (["cbcore>=0.1", "cbcore!=0.1.3"], ">=0.1,!=0.1.3"),
        (["cbcore-suites>=99"], None),
        (["cbcore_suites>=99"], None),
        (["cbcore.suites>=99"], None),
        (["cbcore>=99; extra == 'future'"], None),
        (['cbcore>=99; extra=="future"'], None),
        (["cbcore>=99; python_version < '3'", "cbcore>=0.1"], ">=0.1"),
        (["cbcore @ file:///somewhere/cbcore==99"], None),
    ],
)
def test_supported_core(tmp_path: Path, requirements: list[str], specifier: str | None) -> None:
    """The core's own requirement is found among all, and mistaken for no other."""
    write_distribution(tmp_path, "cb-x", {"cb.systems": {"a": "m:A"}}, requires=requirements)

    assert read_distributions([str(tmp_path)])[0].core_specifier == specifier


@pytest.mark.parametrize(
    ("manifest", "entries"),
    [
        ("[cb.systems]\na=m:A", [("a", "m:A")]),
        ("# note\n; note\n\n[ cb.systems ]\n  a  =  m:A  \n", [("a", "m:A")]),
        ("[cb.systems]\na = m:A [extra, other]", [("a", "m:A")]),
        ("[cb.systems]\r\na = m:A\r\n", [("a", "m:A")]),
        (
            "[cb.systems]\na = m:A\n[x]\nb = m:B\n[cb.systems]\nc = m:C",
            [("a", "m:A"), ("c", "m:C")],
        ),
    ],
)
def test_forms_of_a_manifest(tmp_path: Path, manifest: str, entries: list[tuple[str, str]]) -> None:
    """Comments, blanks, extras, line ends and repeated sections are understood."""
    raw_distribution(tmp_path, "cb_x", manifest.encode(), b"Name: cb-x\nVersion: 1\n\n")

    (found,) = read_distributions([str(tmp_path)])

    assert [(entry.name, entry.value) for entry in found.declared] == entries
    assert found.problem == ""


@pytest.mark.parametrize(
    ("manifest", "cause"),
    [
        (b"this is not a manifest", "line 1"),
        (b"[console_scripts\nx = m:x", "line 1"),
        (b"[console_scripts]\nx = m:x\nbare", "line 3"),
        (b"[console_scripts]\nx = \xff\xfe", "UnicodeDecodeError"),
    ],
)
def test_malformed_manifest_of_another_package(tmp_path: Path, manifest: bytes, cause: str) -> None:
    """It is reported for what it is, and hides nothing else."""
    raw_distribution(tmp_path, "aaa_other", manifest, b"Name: aaa-other\nVersion: 3\n\n")
    write_system(tmp_path, "cb-fine", "fine")

    found = {
        distribution.name: distribution for distribution in read_distributions([str(tmp_path)])
    }

    assert set(found) == {"aaa-other", "cb-fine"}
    assert cause in found["aaa-other"].problem
    assert "entry_points.txt" in found["aaa-other"].problem
    assert found["aaa-other"].declared == ()
    assert found["cb-fine"].problem == ""


def test_malformed_line_keeps_what_else_is_offered(tmp_path: Path) -> None:
    """Who asks for a component of a half-readable manifest can be told why it is withheld."""
    raw_distribution(
        tmp_path, "cb_half", b"[cb.systems]\na = m:A\nbare\n", b"Name: cb-half\nVersion: 1\n\n"
    )

    (found,) = read_distributions([str(tmp_path)])

    assert "line 3" in found.problem
    assert [entry.name for entry in found.declared] == ["a"]


def test_manifest_that_is_no_text_keeps_what_it_offers(tmp_path: Path) -> None:
    """Who asks for it is told why it cannot be had."""
    manifest = b"[cb.systems]\none = m:One\n# caf\xe9\n"
    raw_distribution(tmp_path, "x", manifest, b"Name: x\nVersion: 1\n\n")

    (plugin,) = Catalog(read_distributions([str(tmp_path)]), PluginPolicy()).plugins

    assert (plugin.state, [c.name for c in plugin.components]) == ("broken", ["one"])
    assert "UnicodeDecodeError" in plugin.reason


@pytest.mark.parametrize(("name", "state"), [("cb_x", "broken"), ("stranger", "unreadable")])
def test_manifest_without_end_is_not_read(tmp_path: Path, name: str, state: str) -> None:
    """Every start reads all manifests. One that is too large is told, and read no further."""
    raw_distribution(tmp_path, name, b"", f"Name: {name}\nVersion: 1\n\n".encode())
    file = tmp_path / f"{name}-1.0.dist-info" / "entry_points.txt"
    with file.open("wb") as manifest:
        manifest.truncate(2**40)  # sparse: nothing is on the disk, and nobody could read it all

    (plugin,) = Catalog(read_distributions([str(tmp_path)]), PluginPolicy()).plugins

    assert plugin.state == state
    assert "larger than 8 MB" in plugin.reason


def test_manifest_of_fifty_thousand_entries_is_read(tmp_path: Path) -> None:
    """A plugin may be large."""
    entries = {f"system-{number}": "m:System" for number in range(50_000)}
    write_distribution(tmp_path, "cb-large", {"cb.systems": entries})

    (distribution,) = read_distributions([str(tmp_path)])

    assert len(distribution.declared) == 50_000


@pytest.mark.parametrize("metadata", [None, b"", b"Name: \xff\n\n"])
def test_metadata_that_cannot_be_read(tmp_path: Path, metadata: bytes | None) -> None:
    """The distribution is listed under the name of its folder, with the problem."""
    raw_distribution(tmp_path, "cb_bare", b"[cb.systems]\na = m:A\n", metadata)

    (found,) = read_distributions([str(tmp_path)])

    assert found.name == "cb_bare"
    assert "METADATA" in found.problem
    assert [entry.name for entry in found.declared] == ["a"]


def test_description_is_not_taken_for_headers(tmp_path: Path) -> None:
    """Only the block above the first empty line counts."""
    metadata = b"Name: cb-x\nVersion: 1\n\nRequires-Dist: cbcore>=99\nName: fake\n"
    raw_distribution(tmp_path, "cb_x", b"[cb.systems]\na = m:A\n", metadata)

    (found,) = read_distributions([str(tmp_path)])

    assert (found.name, found.core_specifier) == ("cb-x", None)


def test_egg_info(tmp_path: Path) -> None:
    """The older form of metadata works, requirements included."""
    info = tmp_path / "cb_old.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Name: cb-old\nVersion: 0.9\n\n")
    (info / "entry_points.txt").write_text("[cb.systems]\na = m:A\n")
    (info / "requires.txt").write_text("attrs\ncbcore>=99\n\n[extra]\ncbcore>=100\n")

    (found,) = read_distributions([str(tmp_path)])

    assert (found.name, found.version, found.core_specifier) == ("cb-old", "0.9", ">=99")
    assert found.problem == ""


def test_egg_info_without_metadata_is_named_by_its_folder(tmp_path: Path) -> None:
    """The suffix is no part of the name."""
    info = tmp_path / "cb_old.egg-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[cb.systems]\na = m:A\n")

    assert names(tmp_path) == ["cb_old"]


def test_archive_on_the_path(tmp_path: Path) -> None:
    """A distribution inside a zip file is found, and looked at anew each time."""
    write_system(tmp_path / "source", "cb-zipped", "zipped")
    archive = tmp_path / "plugins.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for file in (tmp_path / "source").rglob("*"):
            out.write(file, file.relative_to(tmp_path / "source"))

    (found,) = read_distributions([str(archive)])

    assert (found.name, found.version, found.problem) == ("cb-zipped", "1.0", "")
    assert found.location == str(archive)
    assert found.stamp == ""


def test_archive_with_a_malformed_manifest_has_a_name(tmp_path: Path) -> None:
    """Also what is wrong inside an archive is attributed."""
    archive = tmp_path / "plugins.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("cb_torn-1.0.dist-info/entry_points.txt", "torn")

    assert names(archive) == ["cb_torn"]


@pytest.mark.parametrize("entry", ["", "absent", "file.txt", "torn.zip"])
def test_odd_entries_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """What is missing, no folder or no archive on the import path is passed over."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").write_text("text")
    (tmp_path / "torn.zip").write_bytes(b"PK\x03\x04 torn")
    plugins = tmp_path / "plugins"
    write_system(plugins, "cb-fine", "fine")

    path = [str(tmp_path / entry) if entry else "", str(plugins)]

    assert [distribution.name for distribution in read_distributions(path)] == ["cb-fine"]


class RaisingFinder:
    """A finder of somebody else's that cannot list distributions."""

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
    def find_distributions(self, *_: object) -> list[metadata.Distribution]:
        return [UnreadableDistribution(), OddDistribution()]


def test_finder_that_raises_hides_only_its_own(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributions of the finders after it are still found."""
    write_system(site, "cb-fine", "fine")
    monkeypatch.setattr(sys, "meta_path", [RaisingFinder(), *sys.meta_path])

    assert "cb-fine" in [distribution.name for distribution in read_distributions()]


def test_finder_of_another_kind(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributions that live in no folder work too; an unreadable one is only reported."""
    monkeypatch.setattr(sys, "meta_path", [OddFinder(), *sys.meta_path])

    unreadable, odd = read_distributions()[:2]

    assert (odd.name, odd.version, odd.location, odd.stamp) == ("cb-odd", "7", "", "")
    assert "the archive is gone" in unreadable.problem


def test_two_copies_are_both_listed_in_the_order_of_the_path(tmp_path: Path) -> None:
    """The first is the one Python imports."""
    write_system(tmp_path / "one", "cb-twice", "twice")
    write_system(tmp_path / "two", "cb-twice", "twice")

    found = read_distributions([str(tmp_path / "two"), str(tmp_path / "one")])

    assert [Path(distribution.location).name for distribution in found] == ["two", "one"]


def test_the_same_folder_twice_is_one(tmp_path: Path) -> None:
    """Also when a link leads to it."""
    write_system(tmp_path / "one", "cb-once", "once")
    (tmp_path / "link").symlink_to(tmp_path / "one")

    path = [str(tmp_path / "one"), str(tmp_path / "one"), str(tmp_path / "link")]

    assert len(read_distributions(path)) == 1


@pytest.mark.parametrize("file", ["METADATA", "entry_points.txt"])
def test_stamp_changes_with_the_metadata(tmp_path: Path, file: str) -> None:
    """A reinstalled distribution is told from the one before."""
    info = write_system(tmp_path, "cb-x", "x")
    before = read_distributions([str(tmp_path)])[0].stamp

    os.utime(info / file, ns=(1, 1))

    assert read_distributions([str(tmp_path)])[0].stamp != before


@pytest.mark.parametrize(
    "direct_url",
    ['{"dir_info": {"editable": true}}', '{"url":"file:///x","dir_info":{"editable":true}}'],
)
@pytest.mark.parametrize("change", ["entry module", "inner module", "new module"])
def test_stamp_of_an_editable_changes_with_its_code(
    site: Path, direct_url: str, change: str
) -> None:
    """Any file of its packages counts, not only those that entry points name."""
    info = write_distribution(
        site,
        "cb-editable",
        {"cb.systems": {"e": "cb_editable.entry:A"}},
        {
            "cb_editable/__init__.py": "",
            "cb_editable/entry.py": "",
            "cb_editable/deep/inner.py": "",
        },
    )
    (info / "direct_url.json").write_text(direct_url)
    before = read_distributions([str(site)])[0].stamp
    assert before
    assert before == read_distributions([str(site)])[0].stamp

    later = (4_000_000_000, 4_000_000_000)
    if change == "entry module":
        os.utime(site / "cb_editable/entry.py", later)
    elif change == "inner module":
        os.utime(site / "cb_editable/deep/inner.py", later)
    else:
        (site / "cb_editable/added.py").write_text("")

    assert read_distributions([str(site)])[0].stamp != before


@pytest.mark.parametrize("target", ["absent_module:A", "", ":A", ".relative:A", "namespace_only:A"])
def test_editable_whose_code_cannot_be_found_has_no_stamp(site: Path, target: str) -> None:
    """It is looked at anew each time; scanning goes on."""
    (site / "namespace_only").mkdir()
    info = write_distribution(site, "cb-lost", {"cb.systems": {"l": target}})
    (info / "direct_url.json").write_text('{"dir_info": {"editable": true}}')
    write_hooks(site, "cb-next", "")

    found = {distribution.name: distribution for distribution in read_distributions([str(site)])}

    assert found["cb-lost"].stamp == ""
    assert "cb-next" in found


def test_metadata_library_is_imported_in_one_place() -> None:
    """Every Python reads plugins through the same library, chosen in one module."""
    root = Path(cbcore.__file__).parent

    importing = {path.name for path in root.rglob("*.py") if imports_metadata(path)}

    assert importing == {"_library.py"}


def imports_metadata(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text())):
        module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        if isinstance(node, ast.Import | ast.ImportFrom):
            full = {f"{module}.{alias.name}".strip(".") for alias in node.names} | {module}
            if full & {"importlib.metadata", "importlib_metadata"}:
                return True
    return False
