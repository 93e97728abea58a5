"""Optional dependencies of the scorers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from cbcore.exceptions import MissingExtraError


def require_extra(extra: str, evaluator: str, packages: Mapping[str, str]) -> None:
    """Raise `MissingExtraError` if a package of the extra is not installed.

    `packages` maps the name of each module to the name of its package. Nothing is imported.
    """
    for module, package in packages.items():
        if find_spec(module) is None:
            raise MissingExtraError(f"the evaluator {evaluator!r}", package, f"cb-scorers[{extra}]")
