"""Run files: a benchmark written down as YAML, the same as the flags of `cb run`.

    systems:
      - identity | extractive
      - bm25: {max_tokens: 200}
      - openai: {base_url: "http://localhost:8000", api_key: "${API_KEY}"}
    datasets: [hotpotqa:sample]
    max_examples: 50

Paths are relative to the file: those of data files, of own code (`py:./mine.py:Name`), of
reports, of `cache_dir`, and every value of a parameter that begins with `./` or `../`.
The paths of a run file from a plugin, which `cb run NAME` finds, start at the current folder.
`!function module.name` is a function of a module next to the file. `${NAME}` is replaced by
the environment variable; what it held is treated as a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import attrs

from cbcore import specs
from cbcore._build.places import from_folder
from cbcore.bounded_yaml import NotReadableError, construct, read_piped_text, safe_loader
from cbcore.exceptions import ConfigError
from cbcore.names import hint
from cbcore.request import Invocation, Request
from cbcore.request._options import COMPONENT, Declared, by_key, problem_of
from cbcore.secrets import Secret, notice_parameters, remember, visible
from cbcore.specs import Spec
from cbcore.usercode import import_attribute

__all__ = ("RunFile", "read_run_file")

_FUNCTION = re.compile(r"(?P<module>[A-Za-z_]\w*)[.:](?P<name>[A-Za-z_][\w.]*)")
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")


@attrs.frozen
class RunFile:
    """A run file of a plugin, in the entry-point group `cb.run_files`.

    `help` is one line for `cb list run-files`.
    """

    path: Path
    help: str


def read_run_file(
    path: str | Path,
    environ: Mapping[str, str] | None = None,
    *,
    brought: Collection[str] = (),
    folder: Path | None = None,
) -> dict[str, Any]:
    """The settings of a run file, checked: lists of specs under their plural, plain values.

    `brought` are keys that plugins bring, whose values are theirs to check. Paths start at
    `folder`, by default the folder of the file.
    """
    path = found_run_file(path)
    try:
        data = construct(read_piped_text(path), loader_for(path))
    except NotReadableError as error:
        kind, _, problem = error.reason.partition(": ")
        told = error.reason if error.line is None else f"{kind}: line {error.line}: {problem}"
        raise ConfigError(str(path), told) from error
    if not isinstance(data, dict):
        raise ConfigError(str(path), "expected keys such as systems: and datasets:")
    notice_parameters(data)
    environ = os.environ if environ is None else environ
    known = run_file_options()
    settings = {
        key: _expand(str(path), value, environ)
        if key in brought and key not in known
        else _setting(str(path), key, value, known, environ, brought)
        for key, value in data.items()
    }
    return from_folder(path.parent if folder is None else folder, settings)


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


def loader_for(path: str | Path) -> type[Any]:
    """YAML's safe loader, which also knows `!function module.name`.

    The module is a Python file in the folder of the file that is read; nothing else is
    imported. Raises `ConfigError` where there is no such function.
    """
    import yaml

    class Loader(safe_loader()):  # type: ignore[misc]
        pass

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


def run_file_options() -> dict[str, Declared]:
    """What a run file may hold, by its keys; lists of components come first."""
    known = by_key(Request, Invocation)
    return dict(sorted(known.items(), key=lambda item: item[1].kind is not COMPONENT))


def _setting(
    path: str,
    key: Any,
    value: Any,
    known: Mapping[str, Declared],
    environ: Mapping[str, str],
    brought: Collection[str],
) -> Any:
    if key not in known:
        keys = [*known, *brought]
        raise ConfigError(
            path,
            f"unknown key {key!r}",
            hint=hint(str(key), keys, f"known keys: {', '.join(keys)}"),
        )
    if known[key].kind is COMPONENT:
        items = value if isinstance(value, list) else [value]
        return [_spec(path, str(key), item, environ) for item in items]
    expanded = _expand(path, value, environ)
    if reason := problem_of(known[key], expanded, written=True):
        raise ConfigError(path, f"{key} {reason}")
    return expanded


def _spec(path: str, key: str, item: Any, environ: Mapping[str, str]) -> Any:
    """One item of a list: a string, or one string with parameters; systems may be chains.

    Parameters beside a chain belong to its last stage, whose `name` names the chain.
    """
    text, params = (item, {}) if isinstance(item, str) else _one_pair(path, key, item)
    if key == "systems":
        stages = specs.parse_chain(text)
    else:
        stages = [specs.parse_dataset(text) if key == "datasets" else specs.parse(text)]
    last = stages[-1]
    given = {str(name).replace("-", "_"): value for name, value in params.items()}
    twice = [name for name in given if name in last.params]
    if twice or len(given) < len(params):
        raise ConfigError(path, f"{key}: {text!r} is given {twice[0] if twice else 'a key'} twice")
    stages[-1] = Spec(last.name, last.config, {**last.params, **given})
    expanded = [
        Spec(s.name, _expand(path, s.config, environ), _expand(path, dict(s.params), environ))
        for s in stages
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


def _expand(path: str, value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _expand(path, item, environ) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(path, item, environ) for item in value]
    if not isinstance(value, str) or "${" not in value:
        return value

    values = []

    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in environ:
            raise ConfigError(
                path, f"the environment variable {name!r} is not set", hint=f"export {name}=…"
            )
        remember(environ[name])
        values.append(environ[name])
        return environ[name]

    return Secret(_VARIABLE.sub(replace, value), source=value, parts=values)
