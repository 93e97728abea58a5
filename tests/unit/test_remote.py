"""Data files by their addresses, read through fsspec."""

from __future__ import annotations

import io
import json
import sys
from itertools import islice

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from cbcore import evaluate
from cbcore.exceptions import DataError, MissingExtraError, UsageError
from cbcore.files import FileDataset, RemoteFile, is_address
from cbcore.settings.run_file import read_run_file
from cbcore.specs import Spec
from cbcore.store.saved_runs import find_saved

ROWS = [{"id": f"q{i}", "context": f"The number is {i}.", "answer": str(i)} for i in range(5)]
SECRET = "kR7pQ2vX9mZ4tW8s"


@pytest.fixture
def store():
    """A file system that lives in this process."""
    system = MemoryFileSystem()
    yield system
    system.store.clear()


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_every_format_reads_from_an_address(store):
    """As it does from a local file."""
    import pyarrow
    import pyarrow.parquet

    table = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), table)
    lines = ["id,context,answer", *(f"{r['id']},{r['context']},{r['answer']}" for r in ROWS)]
    files = {
        "rows.jsonl": jsonl(ROWS),
        "rows.json": json.dumps(ROWS).encode(),
        "rows.csv": "\n".join(lines).encode(),
        "rows.parquet": table.getvalue(),
    }
    for name, content in files.items():
        store.pipe(f"/bucket/{name}", content)
        assert list(FileDataset(f"memory://bucket/{name}")) == ROWS


def test_a_run_takes_an_address_for_a_dataset(store):
    """Its rows are called like the file, and its record says where that is."""
    store.pipe("/bucket/numbers.jsonl", jsonl(ROWS))
    result = evaluate(["identity | extractive"], "memory://bucket/numbers.jsonl", progress=False)
    assert {row.dataset for row in result.rows} == {"numbers"}
    (record,) = result.config["datasets"]
    assert record["params"] == {"path": "memory://bucket/numbers.jsonl"}


def test_a_local_file_by_its_address(tmp_path):
    """The same library reads it, so what works here works for a bucket."""
    (tmp_path / "rows.jsonl").write_bytes(jsonl(ROWS))
    assert list(FileDataset(f"local://{tmp_path}/rows.jsonl")) == ROWS


def test_no_more_is_read_than_is_asked_for(store):
    """Of thirty megabytes, three rows take the first block or two."""
    taken = []

    class Counted(io.BytesIO):
        def readinto(self, buffer):
            n = super().readinto(buffer)
            taken.append(n)
            return n

    class Counting(MemoryFileSystem):
        protocol = "counting"

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(path.replace("counting:", "memory:"))

        def open(self, path, mode="rb", **options):
            return Counted(super().open(path, mode, **options).getvalue())

    fsspec.register_implementation("counting", Counting, clobber=True)
    long = [{**row, "context": "word " * 6_000} for row in ROWS * 200]
    store.pipe("/bucket/long.jsonl", jsonl(long))
    assert len(list(islice(FileDataset("counting://bucket/long.jsonl"), 3))) == 3
    assert 0 < sum(taken) <= 4 * 2**20 < store.size("/bucket/long.jsonl")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("memory://bucket/none.jsonl", "there is no data file 'memory://bucket/none.jsonl'"),
        ("nobody://bucket/rows.jsonl", "Protocol not known: nobody"),
        ("memory://bucket/rows.txt", "cannot tell how to read a file ending in '.txt'"),
    ],
)
def test_what_cannot_be_read_is_told(store, address, told):
    """With the address, before anything runs."""
    with pytest.raises(UsageError) as caught:
        FileDataset(address)
    assert told in caught.value.message


def test_a_failing_store_is_told_without_its_credentials(monkeypatch):
    """Whatever its library puts into the message."""

    class Refusing(MemoryFileSystem):
        protocol = "refusing"

        def isfile(self, path):
            raise PermissionError(f"key {SECRET} is not known to s3://me:{SECRET}@bucket")

    fsspec.register_implementation("refusing", Refusing, clobber=True)
    with pytest.raises(DataError) as caught:
        FileDataset(f"refusing://me:{SECRET}@bucket/rows.jsonl")
    assert SECRET not in str(caught.value)
    assert "reading refusing://bucket/rows.jsonl failed: PermissionError" in caught.value.message


def test_an_address_is_shown_without_login_and_query():
    """In messages, and in what a result records."""
    file = RemoteFile(f"https://me:{SECRET}@host/data/rows.jsonl?token={SECRET}")
    assert str(file) == repr(file) == "https://host/data/rows.jsonl"
    assert (file.name, file.stem, file.suffix) == ("rows.jsonl", "rows", ".jsonl")


KEY_ID = "AKIAIOSFODNN7EXAMPLE"


@pytest.fixture
def signed(store):
    """A file system whose addresses have a login and a query."""

    class Signed(MemoryFileSystem):
        protocol = "signed"

        @classmethod
        def _strip_protocol(cls, path):
            path = path.rpartition("://")[2].rpartition("@")[2].partition("?")[0]
            return "/" + path.strip("/")

    fsspec.register_implementation("signed", Signed, clobber=True)
    store.pipe("/bucket/rows.jsonl", jsonl(ROWS) + b"{broken")
    return store


@pytest.mark.parametrize(
    "address",
    [
        f"signed://{KEY_ID}:{SECRET}@bucket/rows.jsonl",
        f"signed://bucket/rows.jsonl?X-Amz-Credential={KEY_ID}%2F2026&X-Amz-Signature={SECRET}",
        f"signed://bucket/rows.jsonl?sv=2026-01-01&sig={SECRET}%3D&{KEY_ID}",
    ],
)
def test_nothing_that_a_run_writes_has_the_credentials_of_an_address(signed, tmp_path, address):
    """Neither its result nor its record in the store; a broken row names the file."""
    result = evaluate(
        ["identity | extractive"], address, cache_dir=tmp_path / "store", progress=False
    )
    assert len(result.rows) == len(ROWS) + 1
    saved = find_saved("latest", tmp_path / "store")
    records = [saved.config, saved.environment]
    written = [result.to_json(), json.dumps(records), saved.result().to_json()]
    for text in written:
        assert "bucket/rows.jsonl" in text
        assert SECRET not in text
        assert KEY_ID not in text


def test_what_is_no_address_is_told():
    """Whatever it looks like."""
    with pytest.raises(UsageError, match="is not an address"):
        FileDataset(f"https://[me:{SECRET}@host/rows.jsonl")


def test_without_the_library_it_is_named(monkeypatch):
    """With the extra that brings it."""
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"cbcore\[remote\]"):
        FileDataset("s3://bucket/rows.jsonl")


def test_a_package_that_is_missing_behind_it_is_named():
    """In the words of the library that knows it."""
    if "s3fs" in sys.modules:
        pytest.skip("s3fs is installed here")
    with pytest.raises(UsageError, match="Install s3fs"):
        FileDataset("s3://bucket/rows.jsonl")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("s3://bucket/a/rows.jsonl", "s3://bucket/a/rows.jsonl"),
        ("hf://datasets/me/mine/rows.parquet", "hf://datasets/me/mine/rows.parquet"),
        ("gs://b/rows.csv,context_column=text", "gs://b/rows.csv"),
        (
            "https://h/rows.csv?se=1:2&sig=a%2Fb,context_column=t",
            "https://h/rows.csv?se=1:2&sig=a%2Fb",
        ),
        ("https://h/a.json/rows.jsonl?f=b.json", "https://h/a.json/rows.jsonl?f=b.json"),
    ],
)
def test_a_spec_that_is_an_address_is_a_file(text, path):
    """With its parameters behind it; a name with a config is none."""
    spec = Spec.parse_dataset(text)
    assert (spec.name, spec.config) == ("file", path)
    assert Spec.parse_dataset("mine:x").name == "mine"
    assert not is_address("mine:x")


def test_a_run_file_leaves_addresses_alone(tmp_path):
    """They are relative to nothing."""
    file = tmp_path / "cb.yaml"
    file.write_text("datasets: [s3://bucket/rows.jsonl]")
    assert read_run_file(file) == {"datasets": [Spec("file", "s3://bucket/rows.jsonl")]}
