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

_RELATIVE = ("./", "../", ".\\", "..\\")
_PY = "py:"
_FOLDERS = ("cache_dir",)


def from_folder(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run file in that folder, with their paths as they are from here."""
    if folder == Path():
        return dict(settings)
    return {key: _setting(folder, key, value) for key, value in settings.items()}


def _setting(folder: Path, key: str, value: Any) -> Any:
    if isinstance(value, Secret):  # from the environment, which knows nothing of the file
        return value
    if key == "outputs":
        many = isinstance(value, list)
        return [_output(folder, one) for one in value] if many else _output(folder, value)
    if key in _FOLDERS and isinstance(value, str):
        return _joined(folder, value)
    return _anything(folder, value)


def _anything(folder: Path, value: Any) -> Any:
    if isinstance(value, Spec):
        return _spec(folder, value)
    if isinstance(value, list):
        return [_anything(folder, item) for item in value]
    if isinstance(value, Mapping):
        return {key: _anything(folder, item) for key, item in value.items()}
    return _text(folder, value)


def _spec(folder: Path, spec: Spec) -> Spec:
    config = spec.config
    if isinstance(config, Secret):
        pass
    elif spec.name == "py" and config is not None:
        config = _own_code(folder, config)
    elif spec.name == "file" and config is not None:
        config = _joined(folder, config)
    else:
        config = _text(folder, config)
    return attrs.evolve(spec, config=config, params=_anything(folder, dict(spec.params)))


def _own_code(folder: Path, path: str) -> str:
    """`./file.py:Name` from here; the name of an installed module stays what it is."""
    file, dot, rest = path.partition(".py:")
    return f"{_joined(folder, f'{file}.py')}:{rest}" if dot else path


def _text(folder: Path, value: Any) -> Any:
    if not isinstance(value, str) or isinstance(value, Secret):
        return value
    if value.startswith(_PY):
        return _PY + _own_code(folder, value.removeprefix(_PY))
    return _joined(folder, value) if value.startswith(_RELATIVE) else value


def _output(folder: Path, text: str) -> str:
    """`FORMAT=FILE`, or a file that tells its format by its ending."""
    if "=" not in text and ":" not in text and Path(text).suffix:
        return _joined(folder, text)
    _, file = specs.parse_output(text)
    return text if not file else text[: -len(file)] + _joined(folder, file)


def _joined(folder: Path, path: str) -> str:
    place = Path(path).expanduser()
    if place.is_absolute() or is_address(path):
        return path
    joined = os.path.normpath(folder / place)
    # Told from the name of a module, or of a component, by its beginning.
    is_plain = not Path(joined).is_absolute() and not joined.startswith("..")
    return f".{os.sep}{joined}" if is_plain and Path(joined).suffix == ".py" else joined
