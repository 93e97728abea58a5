"""A loader for every dataset, made when it is asked for from the tables of the plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from cb_datasets import BENCHMARKS
from cbcore.exceptions import DataError
from cbcore.names import canonical, hint
from cbcore.registry import load_dataset

FORMER_NAMES = {
    "apigen_mt": "apigen",
    "bfcl_simple": "bfcl",
    "math_dataset": "math",
    "swe_agent_traces": "swebench-lite",
}
"""Loaders that were called otherwise than their datasets."""

DATASETS = {canonical(name): name for name in ("hotpotqa", *BENCHMARKS)}

_WITH_CONFIG = ("longbench", "bbh", "mmlu", "mgsm")
"""Datasets whose loader took a config before the split, when given by position."""


def loader(name: str) -> Callable[..., list[dict[str, Any]]]:
    """The loader of that name. Raises AttributeError, as it stands for the `__getattr__` of modules.

    It takes `n`, and by keyword what the dataset takes: `config`, `split`, `data_dir`, …
    """
    dataset = DATASETS.get(canonical(FORMER_NAMES.get(name, name)))
    if dataset is None or name.startswith("_"):
        told = hint(name, loader_names(), "", lead="; ")
        raise AttributeError(f"context-bench has no dataset loader {name!r}{told}")

    def load(n: int | None = None, *chosen: str, **parameters: Any) -> list[dict[str, Any]]:
        by_position = ("config", "split") if dataset in _WITH_CONFIG else ("split",)
        given = {**dict(zip(by_position, chosen, strict=False)), **parameters}
        return examples(dataset, n, given)

    load.__name__ = load.__qualname__ = name
    load.__doc__ = f"The first `n` examples of {dataset}, or all."
    return load


def loader_names() -> list[str]:
    """The names of all loaders."""
    return sorted({name.replace("-", "_") for name in DATASETS} | set(FORMER_NAMES))


def examples(dataset: str, n: int | None, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The first `n` examples of a dataset, with every field that those of context-bench had.

    Raises the `DataError` of a row that does not fit: a list has no place for it.
    """
    found = list(islice(load_dataset(dataset, **chosen_as_before(dataset, parameters)), n))
    for example in found:
        if isinstance(example, DataError):
            raise example
    return [_completed(example) for example in found]


def chosen_as_before(dataset: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What parameters of context-bench mean here; those not given as it chose them."""
    if dataset == "hotpotqa":
        return {"config": "fullwiki", **parameters}
    if dataset == "infinitebench" and "split" in parameters:
        return {"config" if key == "split" else key: value for key, value in parameters.items()}
    return dict(parameters)


def _completed(example: Mapping[str, Any]) -> dict[str, Any]:
    completed = dict(example)
    if turns := completed.get("turns"):
        completed["turns"] = [
            {"role": "user", "content": turn} if isinstance(turn, str) else turn for turn in turns
        ]
    completed.setdefault("context", completed.get("question", ""))
    if "choices" in completed and "label" in completed:
        completed.setdefault("correct_letter", completed["label"])
    return completed
