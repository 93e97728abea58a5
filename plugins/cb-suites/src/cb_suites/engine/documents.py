"""Reading suite files: YAML in which every key knows its line, and nothing is executed.

The one tag allowed is `!function module.attribute`; reading it makes a `FunctionReference`,
which is looked up later, and only where that is allowed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import attrs

from cb_suites.bounded.yaml import NotReadableError, construct, read_text, safe_loader
from cb_suites.engine.model import Origin
from cbcore.exceptions import ConfigError


@attrs.frozen
class FunctionReference:
    """`!function module.attribute`, as written, with the place that says so.

    It stands for the function where nothing may be run, so that it cannot be called itself.
    """

    text: str
    origin: Origin

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(f"{self} was only looked for, not loaded")

    def __str__(self) -> str:
        return f"!function {self.text}"


def functions_in(value: Any) -> list[FunctionReference]:
    """The function references in a value, at any depth."""
    if isinstance(value, FunctionReference):
        return [value]
    items: Iterable[Any] = value.values() if isinstance(value, Mapping) else ()
    items = value if isinstance(value, list | tuple) else items
    return [found for item in items for found in functions_in(item)]


class Table(dict[Any, Any]):
    """A mapping of a suite file, with the place of each of its keys."""

    def __init__(self, values: Mapping[Any, Any], origins: Mapping[Any, Origin]) -> None:
        super().__init__(values)
        self.origins = dict(origins)


class Items(list[Any]):
    """A list of a suite file, with the place of each of its items."""

    origins: tuple[Origin, ...] = ()


def problem(origin: Origin | str, reason: str, hint: str | None = None) -> ConfigError:
    """The error for something wrong at a place."""
    return ConfigError(str(origin), reason, hint=hint)


def origin_of(container: Any, key: Any, default: Origin) -> Origin:
    """Where a key of a table, or an item of a list, stands; `default` for data from Python."""
    place: Origin = default
    if isinstance(container, Table):
        place = container.origins.get(key, default)
    elif isinstance(container, Items) and key < len(container.origins):
        place = container.origins[key]
    return place


def read_document(path: Path) -> Table:
    """The mapping a suite file holds. Raises ConfigError with the line of what is wrong."""
    try:
        text = read_text(path)
        data = construct(text, functools.partial(_loaded, str(path)))
    except NotReadableError as error:
        raise problem(Origin(str(path), error.line), error.reason) from error
    if not isinstance(data, Table):
        raise problem(str(path), "expected keys such as task: or group:")
    return data


def _loaded(file: str, text: str) -> Any:
    loader = _loader()(text)
    loader.file = file
    return loader


@functools.cache
def _loader() -> Callable[[str], Any]:
    """A safe loader of our own, made on first use."""
    loader: Any = type("SuiteLoader", (safe_loader(),), {"file": ""})
    loader.add_constructor("tag:yaml.org,2002:map", _table)
    loader.add_constructor("tag:yaml.org,2002:seq", _items)
    loader.add_constructor("!function", _function)
    loader.add_constructor(None, _unknown_tag)
    made: Callable[[str], Any] = loader
    return made


def _place(loader: Any, node: Any) -> Origin:
    return Origin(loader.file, node.start_mark.line + 1)


def _table(loader: Any, node: Any) -> Table:
    loader.flatten_mapping(node)
    values: dict[Any, Any] = {}
    origins: dict[Any, Origin] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | float | bool | None):
            raise _refusal(key_node, "a key must be plain text")
        values[key] = loader.construct_object(value_node, deep=True)
        origins[key] = _place(loader, key_node)
    return Table(values, origins)


def _items(loader: Any, node: Any) -> Items:
    items = Items(loader.construct_object(item, deep=True) for item in node.value)
    items.origins = tuple(_place(loader, item) for item in node.value)
    return items


def _function(loader: Any, node: Any) -> FunctionReference:
    import yaml

    if not isinstance(node, yaml.ScalarNode) or not node.value:
        raise _refusal(node, "!function takes module.attribute")
    return FunctionReference(node.value, _place(loader, node))


def _unknown_tag(_: Any, node: Any) -> Any:
    raise _refusal(node, f"the tag {node.tag!r} is not allowed; only !function is")


def _refusal(node: Any, reason: str) -> Exception:
    import yaml

    return yaml.constructor.ConstructorError(None, None, reason, node.start_mark)
