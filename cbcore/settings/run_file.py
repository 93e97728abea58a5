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
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

from cbcore.exceptions import ConfigError, UsageError
from cbcore.names import hint
from cbcore.secrets import expand_variables, notice_parameters, visible
from cbcore.settings.options import Option, Setting, options_of, resolve_words
from cbcore.settings.run_file_paths import move_paths
from cbcore.settings.run_settings import RunSettings
from cbcore.specs import Spec
from cbcore.usercode import import_attribute

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
    path = found_run_file(path)
    data = _load(path)
    if not isinstance(data, dict):
        raise ConfigError(str(path), "expected keys such as systems: and datasets:")
    notice_parameters(data)
    by_key = run_file_options()
    known = {word: option for key, option in by_key.items() for word in (key, *option.words)}
    settings: dict[str, Any] = {}
    for key, value in data.items():
        if key in known:
            settings[key] = _read_setting(str(path), key, value, known[key])
        elif key in plugin_keys:
            settings[key] = _expand(str(path), value)
        else:
            keys = dict.fromkeys([*by_key, *plugin_keys.values()])
            suggestion = hint(str(key), keys, f"known keys: {', '.join(keys)}")
            raise ConfigError(str(path), f"unknown key {key!r}", hint=suggestion)
    meant = {**plugin_keys, **{word: option.name for word, option in known.items()}}
    settings = resolve_words(settings, meant, functools.partial(ConfigError, str(path)))
    return move_paths(path.parent if folder is None else folder, settings)


def found_run_file(path: str | Path) -> Path:
    """The run file of a path: itself, or the one that a folder holds.

    Of several in a folder it is `cb.yaml`, or `run.yaml`. Raises `ConfigError` where that does
    not tell which.
    """
    place = Path(path)
    if not place.is_dir():
        return place
    there = sorted(file for file in place.iterdir() if file.suffix in (".yaml", ".yml"))
    usual = [file for stem in ("cb", "run") for file in there if file.stem == stem]
    if usual or len(there) == 1:
        return (usual or there)[0]
    if not there:
        raise ConfigError(
            str(path), "this folder has no run file", hint="`cb init` writes one, cb.yaml"
        )
    raise ConfigError(
        str(path),
        f"this folder has {len(there)} files that may be run files, and none is called cb.yaml",
        hint=f"name one: {', '.join(str(file) for file in there)}",
    )


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
        return _function(str(path), str(text))

    Loader.add_constructor("!function", function)
    return Loader


def _function(path: str, text: str) -> Any:
    match = _FUNCTION.fullmatch(text)
    if match is None:
        raise ConfigError(path, f"!function {text!r} is not module.name")
    file = Path(path).parent / f"{match['module']}.py"
    try:
        found = import_attribute(f"{file}:{match['name']}")
    except ValueError as error:
        raise ConfigError(
            path, f"!function {text}: {error}", hint=f"define it in {file.name}, next to the file"
        ) from error
    if not callable(found):
        raise ConfigError(path, f"!function {text} is a {type(found).__name__}, not a function")
    return found


def run_file_options() -> dict[str, Setting]:
    """The options that a run file may set, by their keys; lists of components come first."""
    keys = {o.key: o for o in options_of(RunSettings).values() if o.key is not None}
    return dict(sorted(keys.items(), key=lambda item: not _is_component_list(item[1])))


def _is_component_list(option: Option) -> bool:
    return option.type is object and option.many


def _read_setting(path: str, key: str, value: Any, option: Option) -> Any:
    """The value of a key, with the variables of the environment in it."""
    if option.type is object:
        items = value if isinstance(value, list) and option.many else [value]
        found = [_spec(path, key, item) for item in items]
        return found if option.many else found[0]
    expanded = _expand(path, value)
    try:
        option.convert(expanded)
    except ValueError as error:
        raise ConfigError(path, f"{key} {error}") from None
    return expanded


def _spec(path: str, key: str, item: Any) -> Any:
    """One item of a list: a string, or one string with parameters; systems may be chains.

    Parameters beside a chain belong to its last stage, whose `name` names the chain.
    """
    text, params = (item, {}) if isinstance(item, str) else _one_pair(path, key, item)
    if key == "systems":
        stages = Spec.parse_chain(text)
    else:
        stages = [Spec.parse_dataset(text) if key == "datasets" else Spec.parse(text)]
    last = stages[-1]
    given = {str(name).replace("-", "_"): value for name, value in params.items()}
    twice = [name for name in given if name in last.params]
    if twice or len(given) < len(params):
        raise ConfigError(path, f"{key}: {text!r} is given {twice[0] if twice else 'a key'} twice")
    stages[-1] = Spec(last.name, last.config, {**last.params, **given})
    expanded = [
        Spec(s.name, _expand(path, s.config), _expand(path, dict(s.params))) for s in stages
    ]
    return expanded if key == "systems" else expanded[0]


def _one_pair(path: str, key: str, item: Any) -> tuple[str, Mapping[str, Any]]:
    """The form `name: {parameter: value}`."""
    if isinstance(item, Mapping) and len(item) == 1:
        ((text, params),) = item.items()
        if isinstance(text, str) and (params is None or isinstance(params, Mapping)):
            return text, params or {}
    raise ConfigError(
        path,
        f"{key}: {visible('', item)!r} is neither a name nor one name with its parameters",
        hint="write - name, - name:key=value, or - name: {key: value}",
    )


def _expand(path: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _expand(path, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(path, item) for item in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    try:
        return expand_variables(value)
    except UsageError as error:
        raise ConfigError(path, error.message, hint=error.hint) from None
