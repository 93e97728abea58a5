"""Components by name from Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cbcore.exceptions import DuplicateNameError, ParameterError, UnknownComponentError, UsageError
from cbcore.plugins.catalog import Catalog
from cbcore.plugins.installed import read_distributions
from cbcore.plugins.policy import PluginPolicy
from cbcore.registry import Registry, load_dataset, register_dataset, registry
from tests.fake_distributions import write_hooks, write_system


def numbers() -> Iterator[dict[str, Any]]:
    return ({"id": i, "context": str(i)} for i in itertools.count())


@pytest.fixture
def clean() -> Iterator[Registry]:
    """The registry of this process, left as it was found."""
    before = dict(registry._components)
    yield registry
    registry._components.clear()
    registry._components.update(before)


@pytest.fixture
def empty_host() -> Catalog:
    return Catalog([], PluginPolicy())


@pytest.mark.parametrize("kind", ["dataset", "datasets", "Dataset"])
def test_registered_name_is_found(empty_host: Catalog, kind: str) -> None:
    """Under every spelling of the kind and of the name."""
    mine = Registry()
    mine.register(kind, "my-data", numbers)

    assert mine.get("dataset", "my_data", host=empty_host).load() is numbers
    assert mine.get("dataset", "python/my-data", host=empty_host).load() is numbers
    assert mine.list("dataset", host=empty_host) == ["my-data"]


def test_list_holds_registered_and_installed_names(site: Path) -> None:
    """Sorted, of one kind."""
    write_system(site, "cb-one", "b-system")
    mine = Registry()
    mine.register("system", "a-system", object)
    mine.register("metric", "a-metric", object)

    listed = mine.list("system", host=Catalog(read_distributions([str(site)]), PluginPolicy()))

    assert listed == ["a-system", "b-system"]


@pytest.mark.parametrize("name", ["my-data", "my_data"])
def test_registering_a_name_again_is_refused(name: str) -> None:
    """Nothing is overwritten silently, however the name is spelled."""
    mine = Registry()
    mine.register("dataset", "my-data", numbers)

    with pytest.raises(UsageError, match="already registered") as caught:
        mine.register("dataset", name, list)

    assert "replace=True" in (caught.value.hint or "")
    assert mine.registered()[0].target is numbers


def test_replacing_on_purpose(empty_host: Catalog) -> None:
    """Who says so may overwrite."""
    mine = Registry()
    mine.register("dataset", "my-data", numbers)
    mine.register("dataset", "my-data", list, replace=True)

    assert mine.get("dataset", "my-data", host=empty_host).load() is list


def test_unregistering(empty_host: Catalog) -> None:
    """The name is free again; a name that is not there is an error."""
    mine = Registry()
    mine.register("dataset", "my-data", numbers)
    mine.unregister("datasets", "my_data")

    with pytest.raises(UnknownComponentError):
        mine.get("dataset", "my-data", host=empty_host)
    with pytest.raises(UnknownComponentError):
        mine.unregister("dataset", "my-data")


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
        Registry().register(kind, name, target)


def test_name_of_a_plugin_registered_by_hand(site: Path) -> None:
    """The bare name is an error naming both; each full name works."""
    write_system(site, "cb-one", "shared")
    host = Catalog(read_distributions([str(site)]), PluginPolicy())
    mine = Registry()
    mine.register("system", "shared", dict)

    with pytest.raises(DuplicateNameError) as caught:
        mine.get("system", "shared", host=host)

    assert caught.value.owners == ("python", "cb-one")
    assert mine.get("system", "python/shared", host=host).load() is dict
    assert mine.get("system", "cb-one/shared", host=host).plugin == "cb-one"


def test_unknown_name_suggests_what_was_registered(site: Path) -> None:
    """Registered names are suggested too, and a broken plugin is still mentioned."""
    write_hooks(site, "cb-torn", "raise RuntimeError('torn apart')")
    mine = Registry()
    mine.register("dataset", "my-numbers", numbers)

    with pytest.raises(UnknownComponentError) as caught:
        mine.get(
            "dataset", "my-number", host=Catalog(read_distributions([str(site)]), PluginPolicy())
        )

    assert caught.value.near == ("my-numbers",)
    assert "torn apart" in (caught.value.hint or "")


def test_load_dataset_with_n_limits_an_endless_one(clean: Registry) -> None:
    """`n` works for loaders that know nothing of it, and pulls no more than it says."""
    pulled = []

    def loader() -> Iterator[dict[str, Any]]:
        for example in numbers():
            pulled.append(example["id"])
            yield example

    registry.register("dataset", "endless-numbers", loader)

    assert [example["id"] for example in load_dataset("endless-numbers", n=3)] == [0, 1, 2]
    assert pulled == [0, 1, 2]


def test_load_dataset_gives_n_to_a_loader_that_takes_it(clean: Registry) -> None:
    """Such a loader can fetch less."""
    registry.register("dataset", "counted-numbers", lambda n=None: [{"id": i} for i in range(n)])

    assert len(load_dataset("counted-numbers", n=4)) == 4


def test_load_dataset_gives_n_to_a_loader_that_takes_any_keyword(clean: Registry) -> None:
    """`**kwargs` get `n` as everything else, and what comes back is limited all the same."""
    seen: dict[str, Any] = {}

    def loader(**parameters: Any) -> list[dict[str, Any]]:
        seen.update(parameters)
        return [{"id": number} for number in range(9)]

    registry.register("dataset", "any-numbers", loader)

    assert len(list(load_dataset("any-numbers", n=2, split="test"))) == 2
    assert seen == {"n": 2, "split": "test"}


def test_the_same_loader_twice_is_no_clash(clean: Registry) -> None:
    """Both ways of registering may be used for one loader, as the two say the same."""
    clean.register("dataset", "my-data", numbers)
    registry.register("dataset", "my-data", numbers)

    assert [example["id"] for example in load_dataset("my-data", n=2)] == [0, 1]
    assert "my-data" in clean.list("dataset")


def test_load_dataset_by_spec(clean: Registry) -> None:
    """Config and parameters as in a spec string, or as keywords; an unknown one is an error."""

    def loader(config: str = "all", *, size: int = 1) -> list[dict[str, Any]]:
        return [{"id": config}] * size

    registry.register("dataset", "spec-numbers", loader)

    assert load_dataset("spec-numbers:test,size=2") == [{"id": "test"}] * 2
    assert load_dataset("spec-numbers", size=3) == [{"id": "all"}] * 3
    with pytest.raises(ParameterError, match="has no parameter 'sise'"):
        load_dataset("spec-numbers", sise=3)


def test_metrics_are_registered_as_datasets_are(clean: Registry) -> None:
    """And listed among those that are installed."""
    registry.register("metric", "my-metric", dict)

    assert registry.get("metric", "my-metric").load() is dict
    assert "my-metric" in registry.list("metric")


def test_a_dataset_is_registered_by_its_own_function(clean: Registry) -> None:
    register_dataset("my-numbers", numbers)
    assert [example["id"] for example in load_dataset("my-numbers", n=2)] == [0, 1]
