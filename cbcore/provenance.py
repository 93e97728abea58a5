"""Where a number came from: each component of a run with its owner, version and parameters."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from cbcore.chains import Chain, Renamed
from cbcore.components import Component, Owner
from cbcore.introspection import parameters_of, public_attributes, type_path
from cbcore.results import json_safe
from cbcore.secrets import visible


def describe(
    obj: Any, *, name: str, component: Component | None = None, owner: Owner | None = None
) -> dict[str, Any]:
    """What a result records of one component: who made it, which version, which parameters.

    `component` is the one it was made from; the user's own objects are described by class.
    Secrets are replaced by where they came from.
    """
    if isinstance(obj, Renamed):
        return {**describe(obj.system, name=name, component=component, owner=owner), "name": name}
    owner = component.owner if component is not None else owner
    described: dict[str, Any] = {
        "name": name,
        "component": component.name if component is not None else type_path(obj),
        "plugin": owner.distribution if owner else "python",
        "version": owner.version if owner else None,
        "params": json_safe(parameters(obj)),
    }
    described["digest"] = digest({k: v for k, v in described.items() if k != "name"})
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


def parameters(obj: Any) -> dict[str, Any]:
    """The values an object was made with, as far as it shows them, secrets replaced."""
    known = {parameter.name for parameter in parameters_of(type(obj))}
    shown = public_attributes(obj)
    chosen = {k: v for k, v in shown.items() if k in known} or shown
    return {key: visible(key, value) for key, value in sorted(chosen.items()) if key != "name"}


def digest(data: Any) -> str:
    """A short stable hash of plain data; the order of keys does not matter."""
    canonical = json.dumps(json_safe(data), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16]
