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
from cbcore.secrets import hide, redact_value

__all__ = ("describe",)


def describe(
    obj: Any,
    *,
    name: str,
    component: Component | None = None,
    owner: Owner | None = None,
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The record of one component in a result: its owner, version and parameters.

    `component` is the one it was made from; the user's own objects are described by class.
    `given` are the arguments it was made with, which an object need not show by itself.
    Secrets are replaced by where they came from. What an installed distribution supplied is
    also traced to its files (`record_digest`) and to the commit it was installed from.
    """
    if isinstance(obj, Renamed):
        obj = obj.system
    component_name = type_path(obj)
    if component is not None:
        owner = component.owner
        component_name = component.name
    facts: dict[str, Any] = {
        "component": component_name,
        "plugin": "python",
        "version": None,
        "params": parameters(obj, given or {}),
    }
    if owner is not None:
        facts["plugin"] = owner.distribution
        facts["version"] = owner.version
    described = {"name": hide(name), **facts, "digest": digest(facts)}
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
    public = public_attributes(obj)
    attributes = getattr(obj, "__dict__", {})
    readable = {name.removeprefix("_"): value for name, value in attributes.items()} | public
    names = [parameter.name for parameter in parameters_of(type(obj))]
    found = {name: readable[name] for name in names if name in readable}
    values = {**given, **(found or public)}
    values.pop("name", None)
    return {key: redact_value(key, value) for key, value in sorted(values.items())}


def digest(data: Any) -> str:
    """A short stable hash of plain data; the order of keys does not matter."""
    canonical = json.dumps(to_json_safe(data), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16]
