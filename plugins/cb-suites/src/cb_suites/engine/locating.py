"""Where the documents of a task come from: a dataset by name, a file, the hub, or a class."""

from __future__ import annotations

import glob
import importlib.util
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from cb_suites.engine.class_tasks import ClassDocuments, made_task
from cb_suites.engine.model import TaskConfig
from cbcore.exceptions import ConfigError
from cbcore.files import FileDataset
from cbcore.hf import HubDataset
from cbcore.specs import Spec

LOCAL_FORMATS = ("json", "csv", "parquet")
"""Values of `dataset_path` that mean: the files named in `dataset_kwargs.data_files`."""

BUILDERS = (*LOCAL_FORMATS, "text")
"""Builders of the `datasets` library that an untrusted suite file may name. Others run code."""

_HUB_NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*")
_HARMLESS = frozenset({"data_files", "data_dir", "revision", "column_names", "header", "names"})
_HARMLESS |= frozenset({"delimiter", "sep", "field", "encoding", "skiprows", "quoting"})
_HARMLESS |= frozenset({"streaming", "files"})
"""Arguments for loading that say what to read and how, and nothing else."""

WITHOUT_EFFECT = frozenset({"trust_remote_code", "download_mode", "verification_mode"})
"""Arguments for loading that suite files of the harness give and that are left out."""

ABOUT_DATA = ("dataset", "dataset_path", "dataset_name", "dataset_kwargs")
"""The keys that say where the documents of a task are."""


def dataset_of(config: TaskConfig, split: str | None) -> Any:
    """The dataset of a task: a spec to look up, or documents that are ready to be read.

    Data files are looked for next to the suite file first, then in the working directory, from
    where only a trusted file may take them.
    """
    if config.task_class is not None:
        return ClassDocuments(made_task(config), split)
    if config.dataset is not None:
        return _with_split(config, Spec.parse_dataset(config.dataset), split)
    if config.dataset_path is None:
        raise ConfigError(
            str(config.origin), f"task {config.name!r} has no dataset", hint="add dataset: NAME"
        )
    check_source(config, split)
    if Path(config.dataset_path).suffix.lower() in FileDataset.suffixes:
        return _file(config, config.dataset_path)
    if config.dataset_path in LOCAL_FORMATS and "data_files" in config.dataset_kwargs:
        return _file(config, _data_file(config, split))
    folder = _beside(config, config.dataset_path)
    local = {"data_dir": folder} if folder.is_dir() else {}
    arguments = {
        "name": config.dataset_path.rstrip("/").rpartition("/")[2],
        "path": config.dataset_path,
        "config": config.dataset_name,
        "split": split or "test",
        **_hub_arguments(config),
        **local,
    }
    source = config.find_untrusted(*ABOUT_DATA)
    if source is not None and arguments.get("data_dir") is not None:
        source.check_path(arguments["data_dir"])
    return HubDataset(**arguments)


def check_source(config: TaskConfig, split: str | None, *, by_library: bool = False) -> None:
    """Refuse data that is neither in the folder of an untrusted suite file nor on the hub.

    `by_library` means that the `datasets` library looks for the files, by rules of its own.
    """
    source, path = config.find_untrusted(*ABOUT_DATA), config.dataset_path
    if source is None or path is None:
        return

    def refusal(reason: str) -> ConfigError:
        return source.error(f"the data of {config.name!r} is not read: {reason}")

    kwargs = {k: v for k, v in config.dataset_kwargs.items() if k not in WITHOUT_EFFECT}
    unknown = next((key for key in kwargs if key not in _HARMLESS), None)
    if unknown is not None:
        raise refusal(f"it gives {unknown!r}")
    within = [config.dataset_name, split, kwargs.get("revision"), kwargs.get("files")]
    opened = [kwargs.get("data_dir"), kwargs.get("data_files")]
    try:
        texts, opened_texts = list(_texts(within)), list(_texts(opened))
    except ValueError as error:
        raise refusal(str(error)) from error
    is_file = not by_library and Path(path).suffix.lower() in FileDataset.suffixes
    is_local = path in BUILDERS or is_file
    for text in texts if is_local else [*texts, *opened_texts]:
        if text.startswith(("/", "~")) or ".." in Path(text).parts or "\\" in text:
            raise refusal(f"{text!r} leads away")
    for text in [*texts, *opened_texts]:
        if "://" in text or "::" in text:
            raise refusal(f"{text!r} leads away: it is an address")
    needed = {"data_dir", "data_files"} if by_library or path in LOCAL_FORMATS else {"data_dir"}
    if path in BUILDERS and not needed & kwargs.keys():
        raise refusal(f"{path} needs {' or '.join(sorted(needed))}")
    here = [place for place in (_beside(config, path), Path(path)) if os.path.lexists(place)]
    if not is_local and not here and not _is_hub_name(path):
        raise refusal(f"{path!r} is neither a folder here nor a dataset of the hub")
    if not is_local and here and by_library:
        raise refusal(f"{path!r} is a folder, which is read without {', '.join(kwargs)}")
    for place in _local_places(config) if is_local else here:
        source.check_path(place)


def _is_hub_name(path: str) -> bool:
    """Whether the library looks for a name on the hub: it is not one of its own builders."""
    if _HUB_NAME.fullmatch(path) is None:
        return False
    library = importlib.util.find_spec("datasets")
    if "/" in path or library is None:
        return True
    folders = [
        Path(place, "packaged_modules") for place in library.submodule_search_locations or ()
    ]
    builders = {entry.stem.lower() for folder in folders for entry in folder.glob("*")}
    return "csv" in builders and path.lower() not in builders  # else they are kept elsewhere


def local_arguments(config: TaskConfig) -> dict[str, Any]:
    """`data_dir` and `data_files` of a task that reads local files, next to its suite file."""
    kwargs = config.dataset_kwargs
    found: dict[str, Any] = {}
    if isinstance(kwargs.get("data_dir"), str):
        found["data_dir"] = str(_beside(config, kwargs["data_dir"]))
    if "data_files" in kwargs:
        found["data_files"] = _place(config, kwargs["data_files"], found.get("data_dir"))
    return found


def _place(config: TaskConfig, files: Any, folder: str | None) -> Any:
    if isinstance(files, Mapping):
        return {
            key: value if key == "split" else _place(config, value, folder)
            for key, value in files.items()
        }
    if isinstance(files, list | tuple):
        return [_place(config, value, folder) for value in files]
    if not isinstance(files, str) or "://" in files:
        return files
    return str(_beside(config, files) if folder is None else Path(folder, files))


def _local_places(config: TaskConfig) -> Iterator[Path]:
    """What a task opens on this machine: files, folders and, for a pattern, where it searches."""
    for text in _texts(list(local_arguments(config).values())):
        fixed = list(itertools.takewhile(lambda part: not glob.has_magic(part), Path(text).parts))
        yield Path(*fixed)


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value, at any depth. Raises ValueError for a value of another type."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)
    elif value is not None:
        raise ValueError(f"{value!r} is not text")


def _with_split(config: TaskConfig, spec: Spec, split: str | None) -> Spec:
    if spec.name == "file":
        return _file(config, spec.config or "")
    if config.dataset_name is not None and spec.config is None:
        spec = attrs.evolve(spec, config=config.dataset_name)
    params = {**config.dataset_kwargs, **spec.params}
    if split is not None and ("split" not in spec.params or split != config.split):
        params["split"] = split
    return attrs.evolve(spec, params=params)


def _file(config: TaskConfig, name: str) -> Spec:
    return Spec("file", config=str(_beside(config, name)))


def _beside(config: TaskConfig, name: str) -> Path:
    """A path or pattern as the suite file means it: next to itself, where there is such a file."""
    try:
        path = Path(name).expanduser()
    except RuntimeError:  # the home of a user who does not exist
        path = Path(name)
    for key in ("dataset", "dataset_path", "dataset_kwargs"):
        said_in = config.origins.get(key, config.origin).file
        if said_in is not None and _is_in(Path(said_in).parent, path):
            return Path(said_in).parent / path
    return path


def _is_in(folder: Path, path: Path) -> bool:
    if (folder / path).exists():
        return True
    pattern = str(path)
    is_inside = not path.is_absolute() and ".." not in path.parts
    return is_inside and glob.has_magic(pattern) and _matches(pattern, folder)


def _matches(pattern: str, folder: Path) -> bool:
    return any(glob.iglob(pattern, root_dir=folder))  # noqa: PTH207 - pathlib refuses some


def _data_file(config: TaskConfig, split: str | None) -> str:
    files = config.dataset_kwargs["data_files"]
    if isinstance(files, Mapping):
        wanted = split or "test"
        if wanted not in files:
            raise ConfigError(
                str(config.origin),
                f"data_files of {config.name!r} has no split {wanted!r}",
                hint=f"it has {', '.join(map(str, files))}",
            )
        files = files[wanted]
    if isinstance(files, list) and len(files) == 1:
        files = files[0]
    if not isinstance(files, str):
        raise ConfigError(str(config.origin), f"data_files of {config.name!r} names one file")
    return files


def _hub_arguments(config: TaskConfig) -> dict[str, Any]:
    taken = {field.name for field in attrs.fields(HubDataset)} - {"name", "path", "split", "config"}
    return {key: value for key, value in config.dataset_kwargs.items() if key in taken}
