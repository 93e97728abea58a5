"""Paths in a run file, which are relative to the file, made relative to where `cb` was started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from cbcore import specs
from cbcore.files import is_address
from cbcore.secrets import Secret
from cbcore.specs import Spec


def move_paths(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run file in that folder, with their paths as they are from here."""
    if folder == Path():
        return dict(settings)
    moved: dict[str, Any] = _move(folder, settings)
    cache = settings.get("cache_dir")
    if isinstance(cache, str):
        moved["cache_dir"] = _move_path(folder, cache)
    outputs = settings.get("outputs")
    if isinstance(outputs, list):
        moved["outputs"] = [_move_output(folder, output) for output in outputs]
    elif outputs is not None:
        moved["outputs"] = _move_output(folder, outputs)
    return moved


def _move(folder: Path, value: Any) -> Any:
    if isinstance(value, Secret):  # from the environment, not from the file
        return value
    if isinstance(value, Spec):
        config = _move(folder, value.config)
        if value.config is not None:
            if value.name == "py":
                config = _move_code(folder, value.config)
            elif value.name == "file":
                config = _move_path(folder, value.config)
        return attrs.evolve(value, config=config, params=_move(folder, value.params))
    if isinstance(value, list):
        return [_move(folder, item) for item in value]
    if isinstance(value, Mapping):
        return {key: _move(folder, item) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    if value.startswith("py:"):
        path = _move_code(folder, value.removeprefix("py:"))
        return f"py:{path}"
    if value.startswith(("./", "../", ".\\", "..\\")):
        return _move_path(folder, value)
    return value


def _move_code(folder: Path, path: str) -> str:
    """`./file.py:Name` from here; the name of an installed module stays what it is."""
    file, dot, name = path.partition(".py:")
    if not dot:
        return path
    moved = _move_path(folder, f"{file}.py")
    return f"{moved}:{name}"


def _move_output(folder: Path, text: str) -> str:
    """`FORMAT=FILE`, or a file that gives the format by its suffix."""
    if "=" not in text and ":" not in text and Path(text).suffix:
        return _move_path(folder, text)
    _, file = specs.parse_output(text)
    if not file:
        return text
    return text.removesuffix(file) + _move_path(folder, file)


def _move_path(folder: Path, path: str) -> str:
    place = Path(path).expanduser()
    if isinstance(path, Secret) or place.is_absolute() or is_address(path):
        return path
    joined = os.path.normpath(folder / place)
    # The beginning tells a file from the name of a module or of a component.
    if Path(joined).suffix != ".py" or Path(joined).is_absolute() or joined.startswith(".."):
        return joined
    return f".{os.sep}{joined}"
