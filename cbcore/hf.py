"""Rows of public datasets: from the Hugging Face hub, or from local copies of its files.

Where a machine cannot reach the hub, a folder with the same files stands in for it:
`data_dir=` names the dataset's own folder, the environment variable `CB_DATA_DIR` a folder
with one sub-folder per dataset. Files are found by config and split, as the hub lays them
out (`distractor/validation-00000-of-00002.parquet`) or plainly (`distractor_validation.jsonl`,
`qa_validation.jsonl`).
"""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import zipfile
from collections.abc import Iterator
from operator import length_hint
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs

from cbcore.boundary import contained
from cbcore.exceptions import DataError, UsageError
from cbcore.files import FILE_SUFFIXES, FileDataset, Row, import_extra, read_json_lines

__all__ = ("HubDataset",)

DATA_DIR_VARIABLE = "CB_DATA_DIR"


@attrs.frozen
class HubDataset:
    """One split of a hub dataset, iterated lazily and as often as wanted.

    `name` is the folder looked for in `CB_DATA_DIR`, `path` the repository on the hub (or a
    local folder laid out like one). `files` says where in the repository the rows are when its
    layout does not: a pattern of Parquet files, a `.jsonl` or `.json` file, or such a file
    within an archive (`rows.zip/validation.jsonl`). A file that is not Parquet is downloaded
    whole and read as it is: the hub library would give all its rows the same nested fields. In
    the place of what is no row, in a local or an archived file, stands a `DataError` that names it.
    """

    name: str
    path: str
    split: str
    config: str | None = None
    revision: str | None = None
    data_dir: str | Path | None = None
    streaming: bool = True
    files: str | None = None

    def __iter__(self) -> Iterator[Row]:
        folder = self.local_folder()
        return self._from_folder(folder) if folder else self._from_hub()

    def __length_hint__(self) -> int:
        """The number of rows of a local copy, if its files tell."""
        with contained():  # reading the files reports what is wrong with them
            folder = self.local_folder()
            files = self._local_files(folder) if folder is not None else []
            known = [length_hint(FileDataset(str(path)), -1) for path in files]
            if known and min(known) >= 0:
                return sum(known)
        return NotImplemented  # type: ignore[no-any-return]

    def file(self, path: str) -> Path:
        """A file of the repository: the local copy of it, or downloaded and kept by the hub's cache.

        Raises `UsageError` when the local folder lacks it, `DataError` when the hub does.
        """
        folder = self.local_folder()
        if folder is None:
            return self._download(path)
        found = _find_file(folder, path)
        if found is None:
            raise UsageError(f"{self.name}: no file {path!r} in {folder}")
        return found

    def local_folder(self) -> Path | None:
        """The folder that stands in for the hub, or None."""
        if self.data_dir is not None:
            folder = Path(self.data_dir).expanduser()
            if not folder.is_dir():
                raise UsageError(f"{self.name}: data_dir {str(folder)!r} is not a folder")
            return folder
        root = os.environ.get(DATA_DIR_VARIABLE)
        if not root:
            return None
        folder = Path(root).expanduser() / self.name
        if not folder.is_dir():
            raise UsageError(
                f"{DATA_DIR_VARIABLE} is {root!r}, but it has no folder {self.name!r}",
                hint=f"put the files there, or unset {DATA_DIR_VARIABLE} to use the hub",
            )
        return folder

    def _local_files(self, folder: Path) -> list[Path]:
        """The files of this config and split below a folder, in order."""
        name, split = glob.escape(self.name), glob.escape(self.split)
        config = glob.escape(self.config or "default")
        patterns = [
            f"{config}/{split}",
            f"{config}/{split}-*-of-*",
            f"{config}/{split}/[0-9]*",
            f"{config}_{split}",
            f"*{config}_{split}*",
            f"data/{config}/{split}-*-of-*",
            f"data/{split}-*-of-*",
            split,
            f"{split}-*-of-*",
            f"{name}_{split}",
            f"{name}_{split}_[0-9]*",
            f"{name}_{config}",
            f"{name}_{config}_[0-9]*",
        ]
        # A split of a strange name must not lead to files beside the folder.
        within = (p for p in patterns if ".." not in Path(p).parts and not Path(p).is_absolute())
        for pattern in within:
            for suffix in FILE_SUFFIXES:  # one format only: two are two copies of the same rows
                found = [p for p in sorted(folder.glob(pattern + suffix)) if p.is_file()]
                if found:
                    return found
        return []

    def _from_folder(self, folder: Path) -> Iterator[Row]:
        files = self._local_files(folder)
        if not files and self.files is not None:
            archive, member = _split_archive(self.files)
            if member and _find_file(folder, archive):
                yield from self._rows_of_file()
                return
            unpacked = _find_file(folder, member) if member else None
            files = [unpacked] if unpacked else sorted(folder.glob(self.files))
        if not files:
            config = self.config or "default"
            raise UsageError(
                f"{self.name}: no file for config {config!r}, split {self.split!r} in {folder}",
                hint=f"expected for example {folder / config / self.split}.jsonl",
            )
        for path in files:
            yield from FileDataset(str(path)).rows()

    def _rows_of_file(self) -> Iterator[Row]:
        archive, member = _split_archive(self.files or "")
        path = self.file(archive)
        if not member:
            yield from FileDataset(str(path)).rows()
            return
        try:
            with zipfile.ZipFile(path) as opened, opened.open(member) as lines:
                yield from read_json_lines(lines, f"{path}, {member}")
        except (KeyError, zipfile.BadZipFile) as error:
            raise DataError(f"{path}: cannot read {member!r}: {error}") from error

    def _from_hub(self) -> Iterator[Row]:
        if self.files is not None and not self.files.endswith(".parquet"):
            yield from self._rows_of_file()
            return
        datasets = import_extra("datasets", f"loading {self.path}", "hf")
        try:
            with _offline_without_network():
                rows = datasets.load_dataset(
                    self.path,
                    None if self.files else self.config,
                    data_files={self.split: self.files} if self.files else None,
                    split=self.split,
                    revision=self.revision,
                    streaming=self.streaming,
                )
            yield from rows
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            where = f"{self.path} ({self.config or 'default'}, {self.split})"
            raise _unreachable(where, error) from error

    def _download(self, path: str) -> Path:
        huggingface_hub = import_extra("huggingface_hub", f"loading {self.path}", "hf")
        try:
            with _offline_without_network():
                found = huggingface_hub.hf_hub_download(
                    self.path, path, repo_type="dataset", revision=self.revision
                )
            return Path(found)
        except (OSError, ValueError) as error:
            raise _unreachable(f"{path} of {self.path}", error) from error


def _unreachable(what: str, error: Exception) -> DataError:
    offline = (
        f"on a machine without network, set {DATA_DIR_VARIABLE} or data_dir= "
        "to a folder with its files"
    )
    return DataError(
        f"cannot load {what} from the hub: {type(error).__name__}: {error}",
        hint=offline if isinstance(error, OSError) else None,
    )


def _split_archive(path: str) -> tuple[str, str]:
    """An archive and its member: `a.zip/b.jsonl` is `b.jsonl` in `a.zip`."""
    head, found, member = path.partition(".zip/")
    return (f"{head}.zip", member) if found else (path, "")


def _find_file(folder: Path, path: str) -> Path | None:
    """A file of a local copy: at its path in the repository, or loose in the folder."""
    places = (folder / path, folder / Path(path).name)
    return next((place for place in places if place.is_file()), None)


@contextlib.contextmanager
def _offline_without_network() -> Iterator[None]:
    """Let the hub's libraries use their cache only if the host of the hub is unknown.

    They would try again for half a minute, with a warning each time.
    """
    import socket
    from urllib.request import getproxies

    from huggingface_hub import constants

    modules: list[Any] = [constants, *filter(None, [sys.modules.get("datasets.config")])]
    before = [module.HF_HUB_OFFLINE for module in modules]
    try:
        if not {"http", "https", "all"} & getproxies().keys():
            socket.getaddrinfo(urlsplit(constants.ENDPOINT).hostname, None)
    except OSError:
        for module in modules:
            module.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for module, was_offline in zip(modules, before, strict=True):
            module.HF_HUB_OFFLINE = was_offline
