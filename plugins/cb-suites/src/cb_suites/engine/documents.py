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


_OPENERS = ("[", "{", "- ", "? ")
_MOST_OPENERS = 5_000
_MOST_VALUES = 1_000_000


class Table(dict[Any, Any]):
    """A mapping of a suite file, with the place of each of its keys."""

    n_values = 1

    def __init__(self, values: Mapping[Any, Any], origins: Mapping[Any, Origin]) -> None:
        super().__init__(values)
        self.origins = dict(origins)


class Items(list[Any]):
    """A list of a suite file, with the place of each of its items."""

    origins: tuple[Origin, ...] = ()
    n_values = 1


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
    import yaml

    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise problem(str(path), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise problem(str(path), f"not valid UTF-8 at byte {error.start}") from error
    try:
        data = _construct(text, str(path))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Origin(str(path), mark.line + 1 if mark else None)
        raise problem(place, f"not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise problem(str(path), f"not valid YAML: {error}") from error
    except ValueError as error:  # a date that is none
        raise problem(str(path), f"not valid YAML: {error}") from error
    except RecursionError as error:
        raise problem(str(path), "not valid YAML: nested too deeply") from error
    if not isinstance(data, Table):
        raise problem(str(path), "expected keys such as task: or group:")
    return data


def _construct(text: str, file: str) -> Any:
    # Built without a limit on depth, the C loader crashes on what is nested too deeply.
    n_openers = sum(map(text.count, _OPENERS))
    loader = _loader(in_c=n_openers <= _MOST_OPENERS)(text)
    loader.file = file
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


@functools.cache
def _loader(*, in_c: bool) -> Callable[[str], Any]:
    """A safe loader of our own, made on first use: the C one where PyYAML has it."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if in_c else yaml.SafeLoader
    loader: Any = type("SuiteLoader", (base,), {"file": ""})
    loader.add_constructor("tag:yaml.org,2002:map", _table)
    loader.add_constructor("tag:yaml.org,2002:seq", _items)
    loader.add_constructor("!function", _function)
    loader.add_constructor(None, _unknown_tag)
    made: Callable[[str], Any] = loader
    return made


def _place(loader: Any, node: Any) -> Origin:
    return Origin(loader.file, node.start_mark.line + 1)


def _table(loader: Any, node: Any) -> Table:
    import yaml

    written = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
    loader.flatten_mapping(node)
    values: dict[Any, Any] = {}
    origins: dict[Any, Origin] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | float | bool | None):
            raise _refusal(key_node, "a key must be plain text")
        if key in values and written.count(key_node.value) > 1:
            raise _refusal(key_node, f"{key!r} is given twice")
        values[key] = loader.construct_object(value_node, deep=True)
        origins[key] = _place(loader, key_node)
    table = Table(values, origins)
    table.n_values = _count(values.values(), node)
    return table


def _items(loader: Any, node: Any) -> Items:
    items = Items(loader.construct_object(item, deep=True) for item in node.value)
    items.origins = tuple(_place(loader, item) for item in node.value)
    items.n_values = _count(items, node)
    return items


def _count(values: Iterable[Any], node: Any) -> int:
    """How many values there are, those behind aliases each time they are named."""
    n_values = 1 + sum(getattr(value, "n_values", 1) for value in values)
    if n_values > _MOST_VALUES:
        raise _refusal(node, f"its aliases stand for more than {_MOST_VALUES:,} values")
    return n_values


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
