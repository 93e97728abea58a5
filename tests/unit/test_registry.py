"""Components by name from Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from cbcore.exceptions import ParameterError, UnknownComponentError, UsageError
from cbcore.registry import load_dataset, register_dataset, registry


def numbers() -> Iterator[dict[str, Any]]:
    return ({"id": i, "context": str(i)} for i in itertools.count())


pytestmark = pytest.mark.usefixtures("clean_registry")


@pytest.mark.parametrize("kind", ["dataset", "datasets", "Dataset"])
def test_registered_name_is_found(kind: str) -> None:
    """Under every spelling of the kind and of the name."""
    registry.register(kind, "my-data", numbers)

    assert registry.get("dataset", "my_data").load() is numbers
    assert registry.get(kind, "python/my-data").load() is numbers
    assert [component.name for component in registry.list_registered(kind="dataset")] == ["my-data"]


def test_list_holds_registered_and_installed_names() -> None:
    """Sorted, of one kind."""
    registry.register("tokenizer", "a-tokenizer", object)
    registry.register("metric", "a-metric", object)

    listed = registry.list("tokenizer")

    assert listed == sorted(listed)
    assert {"a-tokenizer", "words"} <= set(listed)
    assert "a-metric" not in listed


@pytest.mark.parametrize("name", ["my-data", "my_data"])
def test_registering_a_name_again_is_refused(name: str) -> None:
    """Nothing is overwritten silently, however the name is spelled."""
    registry.register("dataset", "my-data", numbers)

    with pytest.raises(UsageError, match="already registered") as caught:
        registry.register("dataset", name, list)

    assert "replace=True" in (caught.value.hint or "")
    assert registry.list_registered()[0].target is numbers
    registry.register("dataset", "my-data", list, replace=True)
    assert registry.get("dataset", "my-data").load() is list


def test_unregistering() -> None:
    """The name is free again; a name that is not there is an error."""
    registry.register("dataset", "my-data", numbers)
    registry.unregister("datasets", "my_data")

    with pytest.raises(UnknownComponentError):
        registry.get("dataset", "my-data")
    with pytest.raises(UnknownComponentError):
        registry.unregister("dataset", "my-data")


@pytest.mark.parametrize(
    ("kind", "name", "target", "message"),
    [
        ("dataset", "No Good", list, "'No Good' is not a component name"),
        ("dataset", "", list, "'' is not a component name"),
        ("dataset", "data", [1, 2], "it cannot be called"),
        ("datas", "data", list, "no kind of component called 'datas'"),
    ],
)
def test_what_cannot_be_registered(kind: str, name: str, target: Any, message: str) -> None:
    """Refused at once, with the reason."""
    with pytest.raises(UsageError, match=message):
        registry.register(kind, name, target)


def test_load_dataset_with_n_limits_an_endless_one() -> None:
    """`n` works for loaders that know nothing of it, and pulls no more than it says."""
    pulled = []

    def loader() -> Iterator[dict[str, Any]]:
        for example in numbers():
            pulled.append(example["id"])
            yield example

    registry.register("dataset", "endless-numbers", loader)

    assert [example["id"] for example in load_dataset("endless-numbers", n=3)] == [0, 1, 2]
    assert pulled == [0, 1, 2]


def test_load_dataset_gives_n_to_a_loader_that_takes_it() -> None:
    """Such a loader can fetch less."""
    registry.register("dataset", "counted-numbers", lambda n=None: [{"id": i} for i in range(n)])

    assert len(load_dataset("counted-numbers", n=4)) == 4


def test_load_dataset_gives_n_to_a_loader_that_takes_any_keyword() -> None:
    """`**kwargs` get `n` as everything else, and what comes back is limited all the same."""
    seen: dict[str, Any] = {}

    def loader(**parameters: Any) -> list[dict[str, Any]]:
        seen.update(parameters)
        return [{"id": number} for number in range(9)]

    registry.register("dataset", "any-numbers", loader)

    assert len(list(load_dataset("any-numbers", n=2, split="test"))) == 2
    assert seen == {"n": 2, "split": "test"}


def test_the_same_loader_twice_is_no_clash() -> None:
    """Both ways of registering may be used for one loader, as the two say the same."""
    registry.register("dataset", "my-data", numbers)
    registry.register("dataset", "my-data", numbers)

    assert [example["id"] for example in load_dataset("my-data", n=2)] == [0, 1]
    assert "my-data" in registry.list("dataset")


def test_load_dataset_by_spec() -> None:
    """Config and parameters as in a spec string, or as keywords; an unknown one is an error."""

    def loader(config: str = "all", *, size: int = 1) -> list[dict[str, Any]]:
        return [{"id": config}] * size

    registry.register("dataset", "spec-numbers", loader)

    assert load_dataset("spec-numbers:test,size=2") == [{"id": "test"}] * 2
    assert load_dataset("spec-numbers", size=3) == [{"id": "all"}] * 3
    with pytest.raises(ParameterError, match="has no parameter 'sise'"):
        load_dataset("spec-numbers", sise=3)


def test_metrics_are_registered_as_datasets_are() -> None:
    """And listed among those that are installed."""
    registry.register("metric", "my-metric", dict)

    assert registry.get("metric", "my-metric").load() is dict
    assert "my-metric" in registry.list("metric")


def test_a_dataset_is_registered_by_its_own_function() -> None:
    register_dataset("my-numbers", numbers)
    assert [example["id"] for example in load_dataset("my-numbers", n=2)] == [0, 1]
