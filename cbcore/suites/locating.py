"""Where the documents of a task come from: a dataset by name, a file, the hub, or a class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from cbcore.components import describe_exception
from cbcore.exceptions import ConfigError, DataError
from cbcore.hf import HubDataset
from cbcore.introspection import signature_of
from cbcore.specs import FILE_SUFFIXES, Spec, parse_dataset
from cbcore.suites.harness import ProcessResults
from cbcore.suites.model import TaskConfig

LOCAL_FORMATS = ("json", "csv", "parquet")
"""Values of `dataset_path` that mean: the files named in `dataset_kwargs.data_files`."""


def dataset_of(config: TaskConfig, split: str | None) -> Any:
    """The dataset of a task: a spec to look up, or documents that are ready to be read.

    Data files are looked for next to the suite file first, then in the working directory.
    """
    if config.task_class is not None:
        return ClassDocuments(config.task_class(**_class_arguments(config)), split)
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
    return HubDataset(
        name=config.dataset_path.rstrip("/").rpartition("/")[2],
        path=config.dataset_path,
        config=config.dataset_name,
        split=split or "test",
        **{**_hub_arguments(config), **local},
    )


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


# -- tasks that are classes --------------------------------------------------------------------

_SPLIT_METHODS = {
    "train": "training_docs",
    "validation": "validation_docs",
    "test": "test_docs",
}


@attrs.frozen
class ClassDocuments:
    """The documents of a task written as a class.

    They come from the method of the split (`training_docs`, `validation_docs`, `test_docs`),
    without a split from the first of test and validation, else from `docs()` or from
    iterating over the task.
    """

    task: Any
    split: str | None = None

    def __iter__(self) -> Iterator[Any]:
        wanted = [_SPLIT_METHODS.get(self.split or "", "")]
        if self.split is None:
            wanted = ["test_docs", "validation_docs"]
        for name in (*wanted, "docs", "__iter__"):
            method = getattr(self.task, name, None)
            documents = method() if callable(method) else None
            if documents is not None:
                return iter(documents)
        raise DataError(
            f"the class {type(self.task).__name__} has no documents for the split {self.split!r}",
            hint="give it a method test_docs(), or docs(), that returns dicts",
        )


def _class_arguments(config: TaskConfig) -> dict[str, Any]:
    signature = signature_of(config.task_class) if config.task_class is not None else None
    takes = signature is not None and "config" in signature.parameters
    return {"config": dict(config.settings)} if takes else {}


def with_class(config: TaskConfig) -> TaskConfig:
    """A class task with the class's own methods in the place of what it does not say itself."""
    if config.task_class is None:
        return config
    try:
        task = config.task_class(**_class_arguments(config))
    except Exception as error:
        reason = f"making the class of task {config.name!r} failed: {describe_exception(error)}"
        raise DataError(f"{config.origin}: {reason}") from error
    own: dict[str, Any] = {
        name: getattr(task, name)
        for name in ("doc_to_text", "doc_to_target", "doc_to_choice")
        if getattr(config, name) is None and callable(getattr(task, name, None))
    }
    if config.evaluators is None and callable(getattr(task, "process_results", None)):
        own["evaluators"] = (ProcessResults(task.process_results),)
    return attrs.evolve(config, task_class=lambda: task, **own)
