"""Where a number came from: each component of a run with its owner, version and parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cbcore.chains import Chain, Renamed
from cbcore.components import Component, Owner
from cbcore.introspection import parameters_of, public_attributes, type_path
from cbcore.json_data import to_json_safe
from cbcore.plugins.installed import origin_of
from cbcore.secrets import blot, visible

__all__ = ("describe",)


def describe(
    obj: Any,
    *,
    name: str,
    component: Component | None = None,
    owner: Owner | None = None,
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What a result records of one component: who made it, which version, which parameters.

    `component` is the one it was made from; the user's own objects are described by class.
    `given` are the arguments it was made with, which an object need not show by itself.
    Secrets are replaced by where they came from. What an installed distribution supplied is
    also traced to its files (`record_digest`) and to the commit it was installed from.
    """
    obj = obj.system if isinstance(obj, Renamed) else obj
    owner = component.owner if component is not None else owner
    described: dict[str, Any] = {
        "name": blot(name),
        "component": component.name if component is not None else type_path(obj),
        "plugin": owner.distribution if owner else "python",
        "version": owner.version if owner else None,
        "params": parameters(obj, given or {}),
    }
    described["digest"] = digest({k: v for k, v in described.items() if k != "name"})
    if owner is not None:
        origin = origin_of(owner.distribution)
        described["record_digest"] = origin.record_digest
        described["source_commit"] = origin.commit
    return described


def describe_chain(chain: Chain, stages: list[dict[str, Any]]) -> dict[str, Any]:
    """A chain, with each of its stages described."""
    described: dict[str, Any] = {
        "name": chain.name,
        "component": "chain",
        "plugin": "cbcore",
        "version": None,
        "params": {},
        "stages": stages,
    }
    described["digest"] = digest([stage["digest"] for stage in stages])
    return described


def parameters(obj: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values an object was made with, those given and those it keeps, as plain data.

    A parameter is looked for under its own name and under that name with an underscore.
    Secrets are replaced.
    """
    known = [parameter.name for parameter in parameters_of(type(obj))]
    shown = public_attributes(obj)
    own = getattr(obj, "__dict__", {})
    kept = {**{name: own[f"_{name}"] for name in known if f"_{name}" in own}, **shown}
    chosen = {**given, **({name: kept[name] for name in known if name in kept} or shown)}
    chosen.pop("name", None)
    return {key: to_json_safe(visible(key, value)) for key, value in sorted(chosen.items())}


def digest(data: Any) -> str:
    """A short stable hash of plain data; the order of keys does not matter."""
    canonical = json.dumps(to_json_safe(data), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16]
