"""Finding one's way in a tree: `group::subgroup::task`, globs, and the key of every leaf."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import attrs

from cb_suites.engine.documents import problem
from cb_suites.engine.model import GroupNode, Leaf, Node, Origin, TaskConfig
from cbcore.exceptions import UnknownComponentError
from cbcore.names import hint as suggest

SEPARATOR = "::"
_MOST_WAYS = 300
_SHOWN_ONLY = {"name", "alias", "tags"}
_MADE = {"evaluators", "metrics", "filters"}
"""Fields that hold objects made anew each time; what they were made from tells them apart."""
_MADE_FROM = (
    *("evaluators", "metrics", "metric_list", "process_results", "filter_list", "output_type"),
    *("generation_kwargs", "gen_prefix", "custom_dataset"),
)


def is_glob(text: str) -> bool:
    """Whether a name is a pattern."""
    return any(character in text for character in "*?[")


def take_step(nodes: Sequence[Node], step: str, text: str, where: Origin) -> list[Node]:
    """What one step of the path `text` leads to, from these nodes.

    A child is found by its name, or else by its alias; where there is none, something further
    below is. More than one thing of a name below is an error, unless they are the same work.
    """
    children = [child for node in nodes if isinstance(node, GroupNode) for child in node.children]
    below = list(_all_below(children))
    for pool in (children, below):
        for said in (_names, _alias):
            found = [node for node in pool if any(fnmatchcase(n, step) for n in said(node))]
            if is_glob(step) and found:
                return outermost(found)
            if found:
                return found if pool is children else [_only_one(found, step, text, where)]
    start = ", ".join(node.path for node in nodes)
    if not children:
        hint = f"{start} is a task: nothing is below it"
    else:
        known = [name for node in below for name in _names(node)]
        hint = f"{start} has no {step!r}"
        hint += suggest(step, known, "", most=3, lead="; ")
    return _refuse(text, where, hint)


def _only_one(found: Sequence[Node], step: str, text: str, where: Origin) -> Node:
    first, *others = found
    if all(_same_work(first, other) for other in others):
        return first
    choices = " or ".join(node.path for node in found)
    _refuse(text, where, f"{step!r} is found more than once: write {choices}")
    raise AssertionError  # pragma: no cover


def _refuse(text: str, where: Origin, hint: str) -> list[Node]:
    if where.file is None:
        raise UnknownComponentError("suite", text, hint=hint)
    raise problem(where, f"there is no {text!r}", hint)


def _names(node: Node) -> tuple[str, ...]:
    if isinstance(node, GroupNode):
        return (node.name,)
    return (node.config.name, node.label)


def _alias(node: Node) -> tuple[str, ...]:
    return (node.alias,)


def _all_below(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if isinstance(node, GroupNode):
            yield from _all_below(node.children)


def outermost(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that are not part of another of them: a glob matches groups and members alike."""
    inside: dict[str, list[Node]] = {}
    for node in nodes:
        if isinstance(node, GroupNode):
            for below in _all_below(node.children):
                inside.setdefault(_names(below)[0], []).append(below)
    return [
        node
        for node in nodes
        if not any(_same_work(node, other) for other in inside.get(_names(node)[0], ()))
    ]


def _same_work(one: Node, other: Node) -> bool:
    if isinstance(one, Leaf) and isinstance(other, Leaf):
        return one.label == other.label and _work(one.config) == _work(other.config)
    if isinstance(one, GroupNode) and isinstance(other, GroupNode):
        return (one.name, one.origin) == (other.name, other.origin)
    return False


def _work(config: TaskConfig) -> tuple[Any, ...]:
    """What makes two tasks of one name the same work: all but how they are shown."""
    written = config.settings
    left_out = _SHOWN_ONLY | (_MADE if written else set())
    fields = [f.name for f in attrs.fields(TaskConfig) if f.eq and f.name not in left_out]
    return (
        [getattr(config, name) for name in fields],
        [written.get(key) for key in _MADE_FROM],
    )


# -- keys ------------------------------------------------------------------------------------------


def with_keys(roots: Sequence[Node]) -> tuple[Node, ...]:
    """The trees with their leaves' keys: the name, or a path where one name is different work.

    Trees that were loaded one by one are given keys together, so that none stands for two.
    """
    leaves = [node for node in _all_below(roots) if isinstance(node, Leaf)]
    works: dict[str, list[tuple[Any, Leaf]]] = {}
    for leaf in leaves:
        known = works.setdefault(leaf.label, [])
        work = _work(leaf.config)
        if not any(work == other for other, _ in known):
            known.append((work, leaf))
        if len(known) > _MOST_WAYS:
            reason = f"{leaf.label!r} is asked for in more than {_MOST_WAYS} different ways"
            raise problem(leaf.config.origin, reason)
    taken: set[str] = set()
    named: dict[str, list[tuple[Any, str]]] = {}
    for name, known in works.items():
        for work, leaf in known:
            key = _free(name if len(known) == 1 else leaf.path, taken)
            taken.add(key)
            named.setdefault(name, []).append((work, key))
    return _placed(roots, named, set())


def _free(wanted: str, taken: set[str]) -> str:
    key, number = wanted, 1
    while key in taken:
        number += 1
        key = f"{wanted}#{number}"
    return key


def _placed(
    nodes: Sequence[Node], named: dict[str, list[tuple[Any, str]]], paths: set[str]
) -> tuple[Node, ...]:
    """The nodes with keys in place; the same work twice among siblings is shown once."""
    placed: list[Node] = []
    shown: set[tuple[str, str]] = set()
    for node in nodes:
        if isinstance(node, GroupNode):
            placed.append(attrs.evolve(node, children=_placed(node.children, named, paths)))
            continue
        work = _work(node.config)
        key = next(key for other, key in named[node.label] if other == work)
        if (key, node.alias) not in shown:
            shown.add((key, node.alias))
            path = _free(node.path, paths)
            paths.add(path)
            placed.append(attrs.evolve(node, key=key, path=path))
    return tuple(placed)
