"""Data that only the `datasets` library can load: from files of a repository, or by address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from cb_suites.engine.locating import (
    BUILDERS,
    LOCAL_FORMATS,
    WITHOUT_EFFECT,
    check_source,
    local_arguments,
)
from cb_suites.engine.model import TaskConfig
from cbcore.exceptions import ConfigError, DataError, MissingExtraError
from cbcore.hf import HubDataset

_HUB = "hf://datasets/"
_OF_OURS = frozenset({"revision", "streaming", "files"})


def library_dataset(config: TaskConfig, split: str | None) -> LibraryDataset | None:
    """The dataset of a task whose `dataset_kwargs` only the library understands; else None."""
    kwargs = {k: v for k, v in config.dataset_kwargs.items() if k not in WITHOUT_EFFECT}
    if config.dataset_path is None or not kwargs.keys() - _OF_OURS:
        return None
    is_local = config.dataset_path in LOCAL_FORMATS
    if is_local and kwargs.keys() <= {"data_files"} and _is_read_here(kwargs["data_files"]):
        return None
    check_source(config, split, by_library=True)
    if config.dataset_path in BUILDERS:
        kwargs |= local_arguments(config)
    return LibraryDataset(config.dataset_path, config.dataset_name, split or "test", kwargs)


def _is_read_here(files: Any) -> bool:
    """Whether there is one local file for each split, which needs no library."""
    each = files.values() if isinstance(files, Mapping) else [files]
    return all(isinstance(file, str) and "://" not in file for file in each)


@attrs.frozen
class LibraryDataset:
    """One split of what `datasets.load_dataset` loads; in a local folder, where one stands in."""

    path: str
    config: str | None
    split: str
    arguments: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]

    def __iter__(self) -> Iterator[Any]:
        try:
            import datasets
        except ImportError as error:
            raise MissingExtraError(f"loading {self.path}", "datasets", "cbcore[hf]") from error
        path, config, arguments = self.path, self.config, dict(self.arguments)
        if path in BUILDERS:
            if "data_files" in arguments:
                arguments["data_files"] = _local_copies(arguments["data_files"])
        else:
            folder = HubDataset(name=self.name, path=path, split=self.split).local_folder()
            if folder is not None:
                path, config = str(folder), None
        try:
            found = datasets.load_dataset(path, config, **arguments)
        except (OSError, ValueError, TypeError, datasets.exceptions.DatasetsError) as error:
            raise DataError(f"{self.path} cannot be loaded: {error}") from error
        if self.split not in found:
            raise ConfigError(
                self.path, f"there is no split {self.split!r}", hint=f"it has {', '.join(found)}"
            )
        return iter(found[self.split])


def _local_copies(files: Any) -> Any:
    """Data files, those of the hub by their copies where a folder stands in for it."""
    if isinstance(files, Mapping):
        return {key: _local_copies(value) for key, value in files.items()}
    if isinstance(files, list | tuple):
        return [_local_copies(value) for value in files]
    if not isinstance(files, str) or not files.startswith(_HUB):
        return files
    owner, _, rest = files.removeprefix(_HUB).partition("/")
    name, _, within = rest.partition("/")
    repository = HubDataset(name=name, path=f"{owner}/{name}", split="")
    return files if repository.local_folder() is None else str(repository.file(within))
