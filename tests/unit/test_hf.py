"""Hub datasets: local copies in every layout, the hub's own loader, and a hub out of reach."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pyarrow
import pyarrow.parquet
import pytest

from cbcore.exceptions import MissingExtraError, UsageError
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
        {"distractor_validation.jsonl": "ab"},
        {"qa_distractor_validation_60.jsonl": "ab"},
        {"data/distractor/validation-00000-of-00001.parquet": "ab"},
        {"data/validation-00000-of-00001.parquet": "ab"},
        {"validation.jsonl": "ab"},
        {"validation-00000-of-00001.parquet": "ab"},
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


def load_in_a_process(tmp_path, *datasets):
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
    streamed, cached, no_config, no_split, unreachable = load_in_a_process(
        tmp_path,
        there,
        {**there, "streaming": False},
        {**there, "config": "fullwiki"},
        {**there, "split": "test"},
        {**there, "path": "nobody/absent"},
    )
    assert streamed == cached == [{"id": "a"}, {"id": "b"}, {"id": "c"}]
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
