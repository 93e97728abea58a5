"""How the systems are called in results: by their spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cbcore.specs import Spec


def spec_name(
    component: str, always: Mapping[str, Any], unless_default: Mapping[str, tuple[Any, Any]]
) -> str:
    """The spec that makes a system: its main parameters, and the others where they were changed.

    `unless_default` maps a parameter to its value and its default. Systems with different
    parameters thus have different names, and equal ones the same.

    >>> spec_name("bm25", {"max_tokens": 200}, {"k1": (1.2, 1.5), "b": (0.75, 0.75)})
    'bm25:max_tokens=200,k1=1.2'
    """
    changed = {key: value for key, (value, default) in unless_default.items() if value != default}
    return str(Spec(component, params={**always, **changed}))
