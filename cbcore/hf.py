"""Rows of public datasets: from the Hugging Face hub, or from local copies of its files.

Where a machine cannot reach the hub, a folder with the same files stands in for it:
`data_dir=` names the dataset's own folder, the environment variable `CB_DATA_DIR` a folder
with one sub-folder per dataset. Files are found by config and split, as the hub lays them
out (`distractor/validation-00000-of-00002.parquet`) or plainly (`distractor_validation.jsonl`).
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from cbcore.exceptions import DataError, MissingExtraError, UsageError
from cbcore.files import FileDataset
from cbcore.specs import FILE_SUFFIXES

DATA_DIR_VARIABLE = "CB_DATA_DIR"


@attrs.frozen
class HubDataset:
    """One split of a hub dataset, iterated lazily and as often as wanted.

    `name` is the folder looked for in `CB_DATA_DIR`, `path` the repository on the hub (or a
    local folder laid out like one).
    """

    name: str
    path: str
    split: str
    config: str | None = None
    revision: str | None = None
    data_dir: str | Path | None = None
    streaming: bool = True

    def __iter__(self) -> Iterator[dict[str, Any]]:
        folder = self._local_folder()
        return self._from_folder(folder) if folder else self._from_hub()

    def _local_folder(self) -> Path | None:
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

    def local_files(self, folder: Path) -> list[Path]:
        """The files of this config and split below a folder, in order."""
        config, split = glob.escape(self.config or "default"), glob.escape(self.split)
        patterns = [
            f"{config}/{split}",
            f"{config}/{split}-*-of-*",
            f"{config}_{split}",
            f"*{config}_{split}*",
            f"data/{config}/{split}-*-of-*",
            f"data/{split}-*-of-*",
            split,
            f"{split}-*-of-*",
        ]
        for pattern in patterns:
            for suffix in FILE_SUFFIXES:  # one format only: two are two copies of the same rows
                found = [p for p in sorted(folder.glob(pattern + suffix)) if p.is_file()]
                if found:
                    return found
        return []

    def _from_folder(self, folder: Path) -> Iterator[dict[str, Any]]:
        files = self.local_files(folder)
        if not files:
            config = self.config or "default"
            raise UsageError(
                f"{self.name}: no file for config {config!r}, split {self.split!r} in {folder}",
                hint=f"expected for example {folder / config / self.split}.jsonl",
            )
        for path in files:
            yield from FileDataset(str(path)).rows()

    def _from_hub(self) -> Iterator[dict[str, Any]]:
        try:
            import datasets
        except ImportError as error:
            raise MissingExtraError(f"loading {self.path}", "datasets", "cbcore[hf]") from error
        try:
            rows = datasets.load_dataset(
                self.path,
                self.config,
                split=self.split,
                revision=self.revision,
                streaming=self.streaming,
            )
            yield from rows
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            where = f"{self.path} ({self.config or 'default'}, {self.split})"
            hint = None
            if isinstance(error, OSError):
                hint = (
                    f"on a machine without network, set {DATA_DIR_VARIABLE} or data_dir= "
                    "to a folder with its files"
                )
            raise DataError(
                f"cannot load {where} from the hub: {type(error).__name__}: {error}", hint=hint
            ) from error
