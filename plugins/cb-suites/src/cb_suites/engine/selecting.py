"""What a run is asked for: suites by name, as mappings or as they were loaded, made one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import attrs

from cb_suites.engine.manager import SuiteManager
from cb_suites.engine.model import GroupNode, Leaf, Node, Selection
from cb_suites.engine.paths import with_keys
from cbcore.exceptions import UsageError
from cbcore.plugins import Catalog


def select(
    wanted: Sequence[Any],
    include_paths: Sequence[str | Path] = (),
    catalog: Catalog | None = None,
    num_fewshot: int | None = None,
    *,
    trust: Sequence[str | Path] = (),
    execute: bool = True,
) -> Selection:
    """What was asked for, by name or as it is, with the keys of all its leaves told apart.

    Without `execute`, functions are named and not loaded.
    """
    manager = SuiteManager(include_paths, catalog, trust=trust)
    load = manager.load if execute else manager.outline
    roots: list[Node] = []
    notes: tuple[str, ...] = ()
    for named, group in groupby(wanted, lambda one: isinstance(one, str | Mapping)):
        part = list(group)  # those in a row are loaded together, so that files are looked at once
        for selection in [load(part)] if named else map(_selection, part):
            roots += selection.roots
            notes += selection.notes
    if num_fewshot is not None:
        roots = [with_num_fewshot(root, num_fewshot) for root in roots]
    return Selection(with_keys(roots), notes=tuple(dict.fromkeys(notes)))


def _selection(suite: Any) -> Selection:
    if isinstance(suite, Selection):
        return suite
    if isinstance(suite, GroupNode | Leaf):
        return Selection((suite,))
    raise UsageError(
        f"a suite is a name, a mapping, or what SuiteManager loaded, not {suite!r}",
        hint="`cb list suites` shows them",
    )


def with_num_fewshot(node: Node, n: int) -> Node:
    """The tree with so many worked examples. A task that says 0 means it, and keeps it."""
    if isinstance(node, GroupNode):
        return attrs.evolve(node, children=tuple(with_num_fewshot(c, n) for c in node.children))
    if node.config.num_fewshot == 0:
        return node
    return attrs.evolve(node, config=attrs.evolve(node.config, num_fewshot=n))
