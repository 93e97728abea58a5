"""Hub datasets: local copies in every layout, the hub's own loader, and a hub out of reach."""

from __future__ import annotations

import json
import operator
import os
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow
import pyarrow.parquet
import pytest

from cbcore import hf
from cbcore.exceptions import DataError, MissingExtraError, UsageError
from cbcore.hf import DATA_DIR_VARIABLE, HubDataset


@pytest.fixture(autouse=True)
def _no_data_dir(monkeypatch):
    monkeypatch.delenv(DATA_DIR_VARIABLE, raising=False)


def put(folder, files):
    """Write files with the given ids, one row each; the suffix decides the format."""
    for name, ids in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"id": i} for i in ids]
        if path.suffix == ".parquet":
            schema = pyarrow.schema([("id", pyarrow.string())])
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema), path)
        elif path.suffix == ".csv":
            path.write_text("\n".join(["id", *ids]))
        elif path.suffix == ".json":
            path.write_text(json.dumps(rows))
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def ids(dataset):
    return [row["id"] for row in dataset]


def hub(**changes):
    settings = {"name": "qa", "path": "nobody/qa", "split": "validation", "config": "distractor"}
    return HubDataset(**{**settings, **changes})


@pytest.mark.parametrize(
    "files",
    [
        {"distractor/validation.jsonl": "ab"},
        {"distractor/validation.json": "ab"},
        {"distractor/validation.csv": "ab"},
        {"distractor/validation.parquet": "ab"},
        {
            "distractor/validation-00001-of-00002.parquet": "b",
            "distractor/validation-00000-of-00002.parquet": "a",
        },
        {"distractor/validation/0000.parquet": "a", "distractor/validation/0001.parquet": "b"},
        {"distractor_validation.jsonl": "ab"},
        {"qa_distractor_validation_60.jsonl": "ab"},
        {"data/distractor/validation-00000-of-00001.parquet": "ab"},
        {"data/validation-00000-of-00001.parquet": "ab"},
        {"validation.jsonl": "ab"},
        {"validation-00000-of-00001.parquet": "ab"},
        {"qa_validation.jsonl": "ab"},
        {"qa_validation_60.jsonl": "ab"},
        {"qa_distractor.jsonl": "ab"},
        {"qa_distractor_60.jsonl": "ab"},
    ],
    ids=min,
)
def test_local_copies_are_found_in_every_layout(tmp_path, files):
    """As the hub lays files out, or plainly; shards in order; other splits and configs left out."""
    put(tmp_path, files)
    put(tmp_path, {"distractor/train.jsonl": "x", "fullwiki/validation.jsonl": "y", "README": "z"})
    assert ids(hub(data_dir=tmp_path)) == ["a", "b"]


def test_files_of_the_config_come_before_files_of_none(tmp_path):
    """The more exact name wins, and files are not read twice."""
    put(tmp_path, {"validation.jsonl": "x", "distractor/validation.jsonl": "a"})
    assert ids(hub(data_dir=tmp_path)) == ["a"]


def test_one_format_is_read_where_there_are_two(tmp_path):
    """Two formats of one split are two copies of the same rows."""
    put(tmp_path, {"distractor/validation.parquet": "ab", "distractor/validation.jsonl": "ab"})
    assert ids(hub(data_dir=tmp_path)) == ["a", "b"]


def test_a_config_with_special_characters_is_taken_literally(tmp_path):
    """Names are no patterns."""
    put(tmp_path, {"a1/validation.jsonl": "x", "a[1]/validation.jsonl": "a"})
    assert ids(hub(data_dir=tmp_path, config="a[1]")) == ["a"]


def test_a_dataset_without_a_config_is_default(tmp_path):
    """The folder is called as on the hub."""
    put(tmp_path, {"default/validation.jsonl": "a"})
    assert ids(hub(data_dir=str(tmp_path), config=None)) == ["a"]


def test_an_empty_shard_is_no_fault(tmp_path):
    """The hub writes them; the dataset is the sum of its shards."""
    put(
        tmp_path,
        {
            "distractor/validation-00000-of-00002.parquet": "",
            "distractor/validation-00001-of-00002.parquet": "a",
        },
    )
    assert ids(hub(data_dir=tmp_path)) == ["a"]


def test_the_data_folder_of_the_machine_has_one_folder_per_dataset(tmp_path, monkeypatch):
    """`CB_DATA_DIR` serves every dataset; `data_dir` is stronger."""
    put(tmp_path, {"qa/distractor/validation.jsonl": "a", "own/validation.jsonl": "b"})
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path))
    assert ids(hub()) == ["a"]
    assert ids(hub(data_dir=tmp_path / "own")) == ["b"]


def test_a_local_dataset_can_be_iterated_again(tmp_path):
    """Each system of a run reads it anew."""
    put(tmp_path, {"validation.jsonl": "ab"})
    dataset = hub(data_dir=tmp_path)
    assert ids(dataset) == ids(dataset) == ["a", "b"]


def test_a_file_named_after_a_longer_config_is_another_one(tmp_path):
    """A number may follow the config's name, which counts the rows; a word may not."""
    put(tmp_path, {"qa_distractor_hard.jsonl": "x"})
    with pytest.raises(UsageError, match="no file for config 'distractor'"):
        ids(hub(data_dir=tmp_path))


def zipped(path, member, lines):
    """An archive with one file of JSON lines in it."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ("distractor/validation/*.parquet", "distractor/validation/0000.parquet"),
        ("rows/distractor.jsonl", "rows/distractor.jsonl"),
    ],
)
def test_files_say_where_the_rows_are(tmp_path, files, where):
    """For repositories that are laid out in their own way."""
    put(tmp_path, {where: "ab"})
    assert ids(hub(data_dir=tmp_path, files=files)) == ["a", "b"]


def test_rows_are_read_from_an_archive(tmp_path):
    """Line by line; empty lines are none. Names of the usual kind come first."""
    zipped(tmp_path / "rows.zip", "in/validation.jsonl", ['{"id": "a"}', "", '{"id": "b"}'])
    files = "far/rows.zip/in/validation.jsonl"
    assert ids(hub(data_dir=tmp_path, files=files)) == ["a", "b"]
    put(tmp_path, {"validation.jsonl": "c"})
    assert ids(hub(data_dir=tmp_path, files=files)) == ["c"]


def test_an_archive_that_does_not_hold_the_rows(tmp_path):
    """The archive and the file in it are named."""
    zipped(tmp_path / "rows.zip", "rows.jsonl", ["{}"])
    with pytest.raises(DataError, match=r"rows\.zip: cannot read 'other\.jsonl'"):
        ids(hub(data_dir=tmp_path, files="rows.zip/other.jsonl"))


@pytest.mark.parametrize(
    ("line", "message"),
    [("{bad", "line 2: not valid JSON"), ("[1]", "line 2: expected an object")],
)
def test_a_line_of_an_archive_that_is_no_row(tmp_path, line, message):
    """It is named in its place, and the lines behind it are read."""
    zipped(tmp_path / "rows.zip", "rows.jsonl", ['{"id": "a"}', line, '{"id": "b"}'])
    first, error, last = hub(data_dir=tmp_path, files="rows.zip/rows.jsonl")
    assert (first["id"], last["id"]) == ("a", "b")
    assert isinstance(error, DataError)
    assert f"rows.zip, rows.jsonl, {message}" in error.message


def test_a_line_of_a_local_file_that_is_no_row(tmp_path):
    """It is named in its place as well, and does not end the dataset."""
    (tmp_path / "validation.jsonl").write_text('{"id": "a"}\n{bad\n{"id": "b"}\n')
    first, error, last = hub(data_dir=tmp_path)
    assert (first["id"], last["id"]) == ("a", "b")
    assert isinstance(error, DataError)
    assert "validation.jsonl, line 2: not valid JSON" in error.message


@pytest.mark.parametrize("name", ["data/rows.jsonl", "rows.jsonl"])
def test_an_archive_that_was_unpacked(tmp_path, name):
    """The file it held is found where it lies in the archive, or loose in the folder."""
    put(tmp_path, {name: "ab"})
    assert ids(hub(data_dir=tmp_path, files="all.zip/data/rows.jsonl")) == ["a", "b"]


def test_a_file_of_a_local_copy(tmp_path):
    """By its path in the repository, or lying loose in the folder."""
    put(tmp_path, {"books/one.jsonl": "a", "two.jsonl": "b"})
    assert hub(data_dir=tmp_path).file("books/one.jsonl") == tmp_path / "books" / "one.jsonl"
    assert hub(data_dir=tmp_path).file("books/two.jsonl") == tmp_path / "two.jsonl"
    with pytest.raises(UsageError, match=r"no file 'books/three\.jsonl' in "):
        hub(data_dir=tmp_path).file("books/three.jsonl")


def test_local_files_are_read_lazily(tmp_path):
    """A later shard is opened only when the rows before it are used up."""
    put(tmp_path, {"distractor/validation-00000-of-00002.jsonl": "a"})
    (tmp_path / "distractor/validation-00001-of-00002.jsonl").write_text("{bad")
    assert next(iter(hub(data_dir=tmp_path))) == {"id": "a"}


def test_a_data_dir_that_is_no_folder_is_an_error(tmp_path):
    """It never falls back to the network."""
    with pytest.raises(UsageError, match=r"qa: data_dir '.*absent' is not a folder"):
        iter(hub(data_dir=tmp_path / "absent"))


def test_a_dataset_missing_from_the_data_folder_is_an_error(tmp_path, monkeypatch):
    """The message names variable, value and folder, and the hint both ways out."""
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(tmp_path))
    with pytest.raises(UsageError, match=r"CB_DATA_DIR is '.*', but it has no folder 'qa'") as e:
        iter(hub())
    assert "unset CB_DATA_DIR" in e.value.hint


def test_a_missing_file_is_an_error_that_says_what_was_looked_for(tmp_path):
    """Config and split, and an example of a name that would be found."""
    put(tmp_path, {"distractor/train.jsonl": "x"})
    with pytest.raises(UsageError, match="no file for config 'distractor', split 'validat") as e:
        list(hub(data_dir=tmp_path))
    assert str(tmp_path / "distractor" / "validation.jsonl") in e.value.hint


def test_without_the_hub_library_the_extra_to_install_is_named(monkeypatch):
    """It is needed only by those who load from the hub."""
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match="loading nobody/qa needs the package 'datasets'"):
        list(hub())


def load_in_a_process(tmp_path, *datasets, **variables):
    """Iterate datasets where the hub library is new, offline and keeps its files to itself.

    Each comes back as its rows, or as the type, message and hint of the error.
    """
    code = """if True:
        import json, sys
        from cbcore.exceptions import CBError
        from cbcore.hf import HubDataset
        def load(settings):
            try:
                return list(HubDataset(**settings))
            except CBError as error:
                return [type(error).__name__, error.message, error.hint]
        print(json.dumps([load(settings) for settings in json.loads(sys.argv[1])]))
    """
    environment = {
        **os.environ,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_OFFLINE": "1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        **variables,
    }
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(datasets)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_hub_library_loads_the_rows_or_says_why_not(tmp_path):
    """A folder laid out like a hub repository, streamed and not; a wrong config, a wrong split,
    and a repository that cannot be reached."""
    repository = tmp_path / "repository"
    put(
        repository,
        {
            "distractor/validation-00000-of-00002.parquet": "ab",
            "distractor/validation-00001-of-00002.parquet": "c",
        },
    )
    (repository / "README.md").write_text(
        "---\nconfigs:\n- config_name: distractor\n  data_files:\n"
        "  - split: validation\n    path: distractor/validation-*\n---\n"
    )
    there = {"name": "qa", "path": str(repository), "split": "validation", "config": "distractor"}
    by_pattern = {**there, "config": "any", "files": "distractor/validation-*.parquet"}
    streamed, cached, by_files, no_config, no_split, unreachable = load_in_a_process(
        tmp_path,
        there,
        {**there, "streaming": False},
        by_pattern,
        {**there, "config": "fullwiki"},
        {**there, "split": "test"},
        {**there, "path": "nobody/absent"},
    )
    assert streamed == cached == by_files == [{"id": "a"}, {"id": "b"}, {"id": "c"}]
    for kind, message, _ in (no_config, no_split, unreachable):
        assert kind == "DataError"
        assert message.startswith("cannot load ")
    assert "(fullwiki, validation)" in no_config[1]
    assert "distractor" in no_config[1]
    assert "(distractor, test)" in no_split[1]
    assert "validation" in no_split[1]
    assert no_config[2] is no_split[2] is None
    assert "nobody/absent (distractor, validation) from the hub" in unreachable[1]
    assert "CB_DATA_DIR" in unreachable[2]
    assert "data_dir" in unreachable[2]


class _Hub(BaseHTTPRequestHandler):
    """As much of the hub as a download of one file needs."""

    files: dict[str, bytes]

    def do_HEAD(self):
        self._answer(body=False)

    def do_GET(self):
        self._answer(body=True)

    def _answer(self, *, body):
        content = self.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("ETag", '"one"')
        if content is None:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if body:
            self.wfile.write(content or b"")

    def log_message(self, *_):
        pass


def test_a_file_is_downloaded_from_the_hub(tmp_path):
    """A real server: an archive of rows, at a revision; and a file that is not there."""
    zipped(tmp_path / "rows.zip", "validation.jsonl", ['{"id": {"any": 1}}', '{"id": "b"}'])
    place = "/datasets/nobody/qa/resolve/v1/rows.zip"
    handler = type("Hub", (_Hub,), {"files": {place: (tmp_path / "rows.zip").read_bytes()}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    there = {"name": "qa", "path": "nobody/qa", "split": "validation", "revision": "v1"}
    try:
        rows, missing = load_in_a_process(
            tmp_path,
            {**there, "files": "rows.zip/validation.jsonl"},
            {**there, "files": "absent.jsonl"},
            HF_ENDPOINT=f"http://127.0.0.1:{server.server_port}",
            HF_HUB_OFFLINE="0",
            HF_HUB_DISABLE_XET="1",
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert rows == [{"id": {"any": 1}}, {"id": "b"}]
    assert missing[0] == "DataError"
    assert missing[1].startswith("cannot load absent.jsonl of nobody/qa from the hub: ")


def test_without_the_hub_library_a_file_cannot_be_had(monkeypatch):
    """The same extra brings it."""
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match="needs the package 'huggingface_hub'"):
        hub().file("rows.jsonl")


@pytest.mark.parametrize("split", ["../secret", "../data/../secret", "{}/secret"])
def test_no_split_or_config_leads_out_of_the_folder(tmp_path, split):
    """However it is spelt; a file there is not of this dataset."""
    (tmp_path / "data/x").mkdir(parents=True)
    (tmp_path / "secret.jsonl").write_text('{"a": 1}\n')
    named = split.format(tmp_path)
    for names in ({"split": named}, {"split": "secret", "config": f"{named}/.."}):
        dataset = HubDataset(**{"name": "x", "path": "x", **names, "data_dir": tmp_path / "data"})
        assert dataset._local_files(tmp_path / "data") == []


def test_how_many_rows_a_local_copy_has_is_told(tmp_path):
    """A run shows a total by it; what is at the hub, or damaged, does not tell."""
    (tmp_path / "default").mkdir()
    (tmp_path / "default" / "test.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    local = HubDataset(name="x", path="nobody/x", split="test", data_dir=tmp_path)
    assert operator.length_hint(local, -1) == 2
    for elsewhere in (tmp_path / "none", tmp_path):
        lacking = HubDataset(name="x", path="nobody/x", split="train", data_dir=elsewhere)
        assert operator.length_hint(lacking, -1) == -1


def test_a_hub_that_cannot_be_found_is_not_waited_for(monkeypatch):
    """Its libraries look into their cache only, and are then as they were."""
    constants = pytest.importorskip("huggingface_hub.constants")
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for endpoint, offline in (("https://nowhere.invalid", True), ("http://127.0.0.1", False)):
        monkeypatch.setattr(constants, "ENDPOINT", endpoint)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        with hf._offline_without_network():
            assert constants.HF_HUB_OFFLINE is offline
        assert constants.HF_HUB_OFFLINE is False
