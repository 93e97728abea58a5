"""Where the files of a benchmark are: with the package, in a folder of the user's, on the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs

from cbcore.exceptions import DataError, UsageError
from cbcore.hf import HubDataset

SAMPLE = "sample"
"""The config that every benchmark here has: a few conversations that come with this package."""
_SAMPLES = Path(__file__).parent / "samples"


@attrs.frozen(kw_only=True)
class Files:
    """The JSON files of one part of a benchmark.

    `patterns` are tried in order, and the first that finds files in the folder counts. `hub` is
    the dataset's place on the hub, with the one file of this part, where it has one; `homepage`
    is where to get the files otherwise.
    """

    name: str
    patterns: Sequence[str]
    homepage: str
    data_dir: str | Path | None = None
    sample: bool = False
    hub: tuple[str, str] | None = None
    revision: str | None = None

    def paths(self) -> list[Path]:
        """The files, in order. Raises `UsageError` where there are none."""
        if self.sample:
            return self._found(_SAMPLES / self.name)
        path, file = self.hub or ("", "")
        source = HubDataset(
            self.name, path, "test", revision=self.revision, data_dir=self.data_dir, files=file
        )
        folder = source.local_folder()
        if folder is not None:
            return self._found(folder)
        if self.hub is None:
            raise UsageError(
                f"{self.name}: say where its files are",
                hint=f"get them from {self.homepage}, then data_dir=FOLDER; "
                f"{self.name}:sample needs none",
            )
        return [source.file(file)]

    def _found(self, folder: Path) -> list[Path]:
        for pattern in self.patterns:
            if found := sorted(path for path in folder.glob(pattern) if path.is_file()):
                return found
        raise UsageError(
            f"{self.name}: no file {' or '.join(self.patterns)} in {folder}",
            hint=f"get the files from {self.homepage}",
        )

    def documents(self) -> Iterator[tuple[Path, Any]]:
        """What each file holds. Raises `DataError` for one that is no JSON."""
        for path in self.paths():
            try:
                yield path, json.loads(path.read_text(encoding="utf-8-sig"))
            except (ValueError, RecursionError) as error:
                raise DataError(f"{path}: not valid JSON: {error}") from error
            except OSError as error:
                raise DataError(f"{path} cannot be read: {error.strerror}") from error


def entries(path: Path, data: Any, key: str = "") -> list[Any]:
    """The list that a file is, or that it keeps under a key; one object is a list of it."""
    if isinstance(data, Mapping):
        inner = data.get(key)
        return inner if isinstance(inner, list) else [data]
    if not isinstance(data, list):
        raise DataError(f"{path}: expected a list, found {type(data).__name__}")
    return data


def field(record: Mapping[str, Any], name: str, kind: type[Any] | tuple[type[Any], ...]) -> Any:
    """A field that has to be there, of the right kind. Raises `DataError` that names it."""
    if name not in record:
        raise DataError(f"it has no {name!r} (it has {', '.join(map(str, record))})")
    value = record[name]
    if not isinstance(value, kind):
        raise DataError(f"{name!r} is a {type(value).__name__}")
    return value


class JsonBenchmark:
    """A benchmark in JSON files. A subclass names them, and iterates over examples."""

    patterns: ClassVar[tuple[str, ...]] = ("**/*.json",)
    homepage: ClassVar[str]
    configs: tuple[str, ...] = ("default", SAMPLE)

    def __init__(self, config: str = "default", *, data_dir: str | Path | None = None) -> None:
        if config not in self.configs:
            raise ValueError(f"config {config!r} is not one of {', '.join(self.configs)}")
        if config == SAMPLE and data_dir is not None:
            raise ValueError("config 'sample' comes with the package: no data_dir")
        self.config = config
        self.data_dir = data_dir

    def _documents(self, **more: Any) -> Iterator[tuple[Path, Any]]:
        return Files(
            **{
                "name": type(self).__name__.lower(),
                "patterns": self.patterns,
                "homepage": self.homepage,
                "data_dir": self.data_dir,
                "sample": self.config == SAMPLE,
                **more,
            }
        ).documents()
