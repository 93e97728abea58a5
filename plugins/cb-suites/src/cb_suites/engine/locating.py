"""Where the documents of a task come from: a dataset by name, a file, the hub, or a class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from cb_suites.engine.class_tasks import ClassDocuments, made_task
from cb_suites.engine.model import TaskConfig
from cbcore.exceptions import ConfigError
from cbcore.files import FILE_SUFFIXES
from cbcore.hf import HubDataset
from cbcore.specs import Spec, parse_dataset
from cbcore.trust import Stranger

LOCAL_FORMATS = ("json", "csv", "parquet")
"""Values of `dataset_path` that mean: the files named in `dataset_kwargs.data_files`."""


_ABOUT_DATA = ("dataset", "dataset_path", "dataset_name", "dataset_kwargs")


def data_stranger(config: TaskConfig) -> Stranger | None:
    """Who says where the documents are, unless that is somebody trusted."""
    return config.stranger(*_ABOUT_DATA)


def dataset_of(config: TaskConfig, split: str | None) -> Any:
    """The dataset of a task: a spec to look up, or documents that are ready to be read.

    Data files are looked for next to the suite file first, then in the working directory, from
    where only a trusted file may take them.
    """
    if config.task_class is not None:
        return ClassDocuments(made_task(config), split)
    if config.dataset is not None:
        return _with_split(config, parse_dataset(config.dataset), split)
    if config.dataset_path is None:
        raise ConfigError(
            str(config.origin), f"task {config.name!r} has no dataset", hint="add dataset: NAME"
        )
    if Path(config.dataset_path).suffix.lower() in FILE_SUFFIXES:
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
    _check_within(config, arguments)
    return HubDataset(**arguments)


def _check_within(config: TaskConfig, arguments: Mapping[str, Any]) -> None:
    """Refuse a stranger's way out of the folders that data may come from."""
    stranger = data_stranger(config)
    if stranger is None:
        return
    if arguments.get("data_dir") is not None:
        stranger.check_path(arguments["data_dir"])
    for key in ("name", "config", "split", "files"):
        text = str(arguments.get(key) or "")
        if text.startswith(("/", "~")) or ".." in Path(text).parts:
            raise stranger.error(f"the data of {config.name!r} is not read: {text!r} leads away")
    if config.dataset_path in LOCAL_FORMATS and arguments.get("files"):
        stranger.check_path(str(arguments["files"]))


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
    """A path as the suite file means it: next to itself, where there is such a file."""
    path = Path(name).expanduser()
    for key in ("dataset", "dataset_path", "dataset_kwargs"):
        said_in = config.origins.get(key, config.origin).file
        if said_in is not None and (Path(said_in).parent / path).exists():
            return Path(said_in).parent / path
    return path


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
