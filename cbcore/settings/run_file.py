"""Run files: a benchmark written down as YAML, the same as the flags of `cb run`.

    systems:
      - py:./mine.py:shorten | py:./mine.py:answer
      - py:./mine.py:Client: {url: "http://localhost:8000", api_key: "${API_KEY}"}
    datasets: [questions.jsonl]
    max_examples: 50

Paths are relative to the file: those of data files, of own code (`py:./mine.py:Name`), of
reports, of `cache_dir`, and every value of a parameter that begins with `./` or `../`.
The paths of a run file from a plugin, which `cb run NAME` finds, start at the current folder.
`!function module.name` is a function of a module next to the file. `${NAME}` is replaced by
the environment variable; what it held is treated as a secret.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

from cbcore.exceptions import (
    ConfigError,
    PluginContractError,
    UnknownComponentError,
    UsageError,
)
from cbcore.files import is_address
from cbcore.names import hint, is_valid
from cbcore.secrets import expand_variables, notice, redact_value
from cbcore.settings.options import Setting, options_of, parse_spec, resolve_words
from cbcore.settings.run_settings import RunSettings
from cbcore.specs import Spec, parse_output
from cbcore.usercode import import_attribute

if TYPE_CHECKING:
    from cbcore.plugins import Catalog

__all__ = ("RunFile",)

_FUNCTION = re.compile(r"(?P<module>[A-Za-z_]\w*)[.:](?P<name>[A-Za-z_][\w.]*)")


@attrs.frozen
class RunFile:
    """A run file of a plugin, in the entry-point group `cb.run_files`.

    `help` is one line for `cb list run-files`.
    """

    path: Path
    help: str


def read_run_file(
    path: str | Path,
    *,
    plugin_keys: Mapping[str, str] = MappingProxyType({}),
    folder: Path | None = None,
) -> dict[str, Any]:
    """The settings of a run file, checked, by the names of their fields.

    `plugin_keys` are the keys of plugins' options by the words that mean them; their values are
    checked when the run is composed. Paths start at `folder`, by default the folder of the file.
    """
    path = _find_in_folder(Path(path))
    data = _load(path)
    if not isinstance(data, dict):
        raise ConfigError(str(path), "expected keys such as systems: and datasets:")
    notice(data)
    reader = _Reader(str(path), path.parent if folder is None else folder)
    by_key = run_file_options()
    known = {word: option for key, option in by_key.items() for word in (key, *option.words)}
    settings: dict[str, Any] = {}
    for key, value in data.items():
        if key in known:
            settings[key] = reader.read_setting(key, value, known[key])
        elif key in plugin_keys:
            settings[key] = reader.read_value(value)
        else:
            keys = dict.fromkeys([*by_key, *plugin_keys.values()])
            suggestion = hint(str(key), keys, f"known keys: {', '.join(keys)}")
            raise ConfigError(str(path), f"unknown key {key!r}", hint=suggestion)
    meant = {**plugin_keys, **{word: option.name for word, option in known.items()}}
    return resolve_words(settings, meant, functools.partial(ConfigError, str(path)))


def run_file_options() -> dict[str, Setting]:
    """The options that a run file may set, by their keys; lists of components come first."""
    keys = {o.key: o for o in options_of(RunSettings).values() if o.key is not None}
    return dict(sorted(keys.items(), key=lambda one: not (one[1].type is object and one[1].many)))


def find_run_file(text: str, catalog: Catalog) -> tuple[Path, Path | None]:
    """The run file of a path, or of a name that a plugin offers; then the folder of its paths."""
    path = Path(text)
    if path.suffix or path.exists() or not is_valid(text):
        return path, None
    try:
        component = catalog.find("run_file", text)
    except UnknownComponentError as error:
        raise UsageError(
            f"There is no file {text!r}, and no plugin offers a run file of this name.",
            hint=error.hint,
        ) from error
    offered: object = component.load()
    if not isinstance(offered, RunFile):
        raise PluginContractError(component.plugin, f"{component.target} is not a RunFile")
    return offered.path, Path()


def _find_in_folder(place: Path) -> Path:
    """The run file of a path: itself, or in a folder cb.yaml, run.yaml, or the only YAML file."""
    if not place.is_dir():
        return place
    there = sorted(file for file in place.iterdir() if file.suffix in (".yaml", ".yml"))
    usual = [file for stem in ("cb", "run") for file in there if file.stem == stem]
    if usual or len(there) == 1:
        return (usual or there)[0]
    reason, advice = "this folder has no run file", "write one, cb.yaml"
    if there:
        reason = f"this folder has {len(there)} files that may be run files, and no cb.yaml"
        advice = f"name one: {', '.join(map(str, there))}"
    raise ConfigError(str(place), reason, hint=advice)


def _load(path: Path) -> Any:
    """The content of a run file. Raises `ConfigError` with the line of a mistake."""
    import yaml

    try:
        return yaml.load(path.read_text(encoding="utf-8-sig"), _make_loader(path))  # noqa: S506
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        reason = f"not valid UTF-8 at byte {error.start}"
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = f"not valid YAML: line {mark.line + 1 if mark else 1}: {error.problem}"
    except (yaml.YAMLError, ValueError) as error:
        reason = f"not valid YAML: {error}"
    raise ConfigError(str(path), reason)


def _make_loader(path: Path) -> type[Any]:
    """YAML's safe loader, which also knows `!function module.name` and refuses repeated keys.

    The module is a Python file in the folder of the file that is read. Raises `ConfigError` where
    there is no such function.
    """
    import yaml

    checked = set()

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        def flatten_mapping(self, node: Any) -> None:
            """Check the keys of a mapping before others are merged into it."""
            if node in checked:
                return
            checked.add(node)
            seen = []
            for key, _ in node.value:
                if (key.tag, key.value) in seen:
                    reason = f"{key.value!r} is given twice"
                    raise yaml.constructor.ConstructorError(None, None, reason, key.start_mark)
                seen.append((key.tag, key.value))
            super().flatten_mapping(node)

    def function(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        text = loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else ""
        return _import_function(path, str(text))

    Loader.add_constructor("!function", function)
    return Loader


def _import_function(path: Path, text: str) -> Any:
    match = _FUNCTION.fullmatch(text)
    if match is None:
        raise ConfigError(str(path), f"!function {text!r} is not module.name")
    file = path.parent / f"{match['module']}.py"
    try:
        found = import_attribute(f"{file}:{match['name']}")
    except ValueError as error:
        note = f"define it in {file.name}, next to the file"
        raise ConfigError(str(path), f"!function {text}: {error}", hint=note) from error
    if not callable(found):
        kind = type(found).__name__
        raise ConfigError(str(path), f"!function {text} is a {kind}, not a function")
    return found


@attrs.frozen
class _Reader:
    """Reads the values of a run file, in which paths start at a folder."""

    path: str
    folder: Path

    def read_setting(self, key: str, value: Any, option: Setting) -> Any:
        """The value of a key, with variables of the environment, and paths as they are from here."""
        if option.kind:
            items = value if isinstance(value, list) and option.many else [value]
            found = [self._read_spec(key, option.kind, item) for item in items]
            return found if option.many else found[0]
        move = self._move_path if option.type is Path else self._move_text
        if option.name == "outputs":
            move = self._move_output
        read = self.read_value(value, move)
        return option.check(read, key, functools.partial(ConfigError, self.path))

    def read_value(self, value: Any, move: Callable[[str], str] | None = None) -> Any:
        """A value in which texts are expanded, or else moved. A variable holds no path to move."""
        move = move or self._move_text
        if isinstance(value, Mapping):
            return {key: self.read_value(item, move) for key, item in value.items()}
        if isinstance(value, list):
            return [self.read_value(item, move) for item in value]
        if not isinstance(value, str):
            return value
        if "${" not in value:
            return move(value)
        try:
            return expand_variables(value)
        except UsageError as error:
            raise ConfigError(self.path, error.message, hint=error.hint) from None

    def _read_spec(self, key: str, kind: str, item: Any) -> Any:
        """One item of a list: a string, or one string with parameters; systems may be chains.

        Parameters next to a chain belong to its last stage, whose `name` names the chain.
        """
        text, params = (item, {}) if isinstance(item, str) else self._read_pair(key, item)
        parsed = parse_spec(kind, text)
        stages = parsed if isinstance(parsed, list) else [parsed]
        last = stages[-1]
        given = {str(name).replace("-", "_"): value for name, value in params.items()}
        twice = [name for name in given if name in last.params]
        if twice or len(given) < len(params):
            which = twice[0] if twice else "a key"
            raise ConfigError(self.path, f"{key}: {text!r} is given {which} twice")
        stages[-1] = Spec(last.name, last.config, {**last.params, **given})
        moves = {"py": self._move_code, "file": self._move_path}
        read = [
            Spec(
                stage.name,
                self.read_value(stage.config, moves.get(stage.name)),
                self.read_value(stage.params),
            )
            for stage in stages
        ]
        return read if isinstance(parsed, list) else read[0]

    def _read_pair(self, key: str, item: Any) -> tuple[str, Mapping[str, Any]]:
        """The form `name: {parameter: value}`."""
        if isinstance(item, Mapping) and len(item) == 1:
            ((text, params),) = item.items()
            if isinstance(text, str) and (params is None or isinstance(params, Mapping)):
                return text, params or {}
        raise ConfigError(
            self.path,
            f"{key}: {redact_value('', item)!r} is neither a name nor one name with its parameters",
            hint="write - name, - name:key=value, or - name: {key: value}",
        )

    def _move_text(self, text: str) -> str:
        if text.startswith("py:"):
            return f"py:{self._move_code(text.removeprefix('py:'))}"
        is_path = text.startswith(("./", "../", ".\\", "..\\"))
        return self._move_path(text) if is_path else text

    def _move_code(self, code: str) -> str:
        """`./file.py:Name` from here; the name of an installed module stays what it is."""
        file, dot, name = code.partition(".py:")
        return f"{self._move_path(f'{file}.py')}:{name}" if dot else code

    def _move_output(self, text: str) -> str:
        """`FORMAT=FILE`, or a file that gives the format by its suffix."""
        _, file = parse_output(text)
        return text.removesuffix(file) + self._move_path(file) if file else text

    def _move_path(self, path: str) -> str:
        place = Path(path).expanduser()
        if self.folder == Path() or place.is_absolute() or is_address(path):
            return path
        joined = os.path.normpath(self.folder / place)
        # The beginning tells a file from the name of a module or of a component.
        if Path(joined).suffix != ".py" or Path(joined).is_absolute() or joined.startswith(".."):
            return joined
        return f".{os.sep}{joined}"
