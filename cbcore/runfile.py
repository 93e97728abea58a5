"""Run files: a benchmark written down as YAML, the same as the flags of `cb run`.

    systems:
      - identity | extractive
      - bm25: {max_tokens: 200}
      - openai: {base_url: "http://localhost:8000", api_key: "${API_KEY}"}
    datasets: [hotpotqa:sample]
    max_examples: 50

`${NAME}` is replaced by the environment variable; what it held is treated as a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cbcore import specs
from cbcore.exceptions import ConfigError
from cbcore.names import near_matches
from cbcore.secrets import Secret
from cbcore.specs import Spec

_LISTS = {
    "systems": "system",
    "datasets": "dataset",
    "evaluators": "evaluator",
    "metrics": "metric",
}
_VALUES: dict[str, tuple[type, ...]] = {
    "output": (str, list),
    "max_examples": (int,),
    "score_field": (str,),
    "threshold": (int, float),
    "max_workers": (int,),
    "max_errors": (int,),
    "cache_dir": (str,),
    "seed": (int,),
    "tokenizer": (str,),
    "text_fields": (list,),
    "import": (str, list),
}
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")


def read_run_file(path: str | Path, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The settings of a run file, checked: lists of specs under their plural, plain values."""
    import yaml

    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), f"not valid UTF-8 at byte {error.start}") from error
    try:
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}:" if error.problem_mark else ""
        raise ConfigError(str(path), f"not valid YAML:{line} {error.problem}") from error
    except yaml.YAMLError as error:
        raise ConfigError(str(path), f"not valid YAML: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(str(path), "expected keys such as systems: and datasets:")
    environ = os.environ if environ is None else environ
    return {key: _setting(str(path), key, value, environ) for key, value in data.items()}


def _setting(path: str, key: Any, value: Any, environ: Mapping[str, str]) -> Any:
    if key in _LISTS:
        items = value if isinstance(value, list) else [value]
        return [_spec(path, str(key), item, environ) for item in items]
    if key not in _VALUES:
        known = [*_LISTS, *_VALUES]
        near = near_matches(str(key), known, limit=1)
        raise ConfigError(
            path,
            f"unknown key {key!r}",
            hint=f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}",
        )
    expanded = _expand(path, value, environ)
    if isinstance(value, bool) or not isinstance(expanded, _VALUES[key]):
        wanted = " or ".join(kind.__name__ for kind in _VALUES[key])
        raise ConfigError(path, f"{key} must be {wanted}, not {value!r}")
    return expanded


def _spec(path: str, key: str, item: Any, environ: Mapping[str, str]) -> Any:
    """One item of a list: a string, or one name with its parameters; systems may be chains."""
    if isinstance(item, Mapping):
        spec = specs.from_mapping(item, where=f"{path}: {key}")
        return Spec(
            spec.name,
            _expand(path, spec.config, environ),
            _expand(path, dict(spec.params), environ),
        )
    if not isinstance(item, str):
        raise ConfigError(path, f"{key}: {item!r} is neither a name nor a name with parameters")
    if key == "systems":
        stages = specs.parse_chain(item)
    else:
        stages = [specs.parse_dataset(item) if key == "datasets" else specs.parse(item)]
    expanded = [
        Spec(s.name, _expand(path, s.config, environ), _expand(path, dict(s.params), environ))
        for s in stages
    ]
    return expanded if key == "systems" else expanded[0]


def _expand(path: str, value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _expand(path, item, environ) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(path, item, environ) for item in value]
    if not isinstance(value, str) or "${" not in value:
        return value

    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in environ:
            raise ConfigError(
                path, f"the environment variable {name!r} is not set", hint=f"export {name}=…"
            )
        return environ[name]

    return Secret(_VARIABLE.sub(replace, value), source=value)
