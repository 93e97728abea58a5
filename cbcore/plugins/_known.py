"""What the first-party packages offer, installed or not, so that a name can lead to its package."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from cbcore.names import canonical

_TABLE = Path(__file__).with_name("known_plugins.json")


@functools.cache
def known_offers() -> list[tuple[str, str, str]]:
    """Everything the first-party packages offer: kind, name, package."""
    table: dict[str, dict[str, list[str]]] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return [
        (kind, offered, package)
        for package, kinds in table.items()
        for kind, offers in kinds.items()
        for offered in offers
    ]


def packages_offering(kind: str, name: str) -> list[str]:
    """The first-party packages that offer a component of that name, or of `package/name`.

    Of the kind `plugin`, the package of that name.
    """
    if kind == "plugin":
        packages = dict.fromkeys(package for _, _, package in known_offers())
        return [package for package in packages if canonical(package) == canonical(name)]
    owner, _, bare = name.rpartition("/")
    return [
        package
        for known_kind, offered, package in known_offers()
        if known_kind == kind
        and canonical(offered) == canonical(bare)
        and canonical(owner) in ("", canonical(package))
    ]
