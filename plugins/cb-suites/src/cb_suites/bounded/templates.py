"""Jinja templates in a sandbox, and which of them cannot grow beyond their document.

The sandbox changes nothing and reaches no internals, but a few characters of a template can ask
for more than fits into the memory. Those made of plain steps alone cannot, and need no limits.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

_LONGEST_PLAIN = 10_000
_MOST_STEPS = 3
"""Steps that may follow each other: each can make a text a few times as long."""
_LONGEST_REPEATED = 4
_CARRIERS = frozenset(
    (
        "Template",
        "Output",
        "TemplateData",
        "Name",
        "Const",
        "Getattr",
        "Getitem",
        "Slice",
        "CondExpr",
        "If",
        "And",
        "Or",
        "Not",
        "Compare",
        "Operand",
        "List",
        "Tuple",
        "Dict",
        "Pair",
        "Test",
        "Sub",
    )
)
_STEPS = frozenset({"Filter", "Call", "Add", "Concat"})
_PLAIN_FILTERS = frozenset(
    (
        "trim",
        "lower",
        "upper",
        "capitalize",
        "title",
        "length",
        "count",
        "first",
        "last",
        "string",
        "default",
        "d",
        "int",
        "float",
        "abs",
        "list",
        "join",
        "replace",
    )
)
_PLAIN_METHODS = frozenset(
    (
        "strip",
        "lstrip",
        "rstrip",
        "lower",
        "upper",
        "title",
        "capitalize",
        "split",
        "splitlines",
        "startswith",
        "endswith",
        "replace",
        "removeprefix",
        "removesuffix",
        "get",
        "items",
        "keys",
        "values",
    )
)


@functools.cache
def environment() -> Any:
    """The sandbox."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    made = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    made.filters["regex_replace"] = _regex_replace
    return made


def _regex_replace(text: str, pattern: str, replacement: str, count: int = 0) -> str:
    return re.sub(pattern, replacement, text, count=count)


@functools.lru_cache(maxsize=256)
def compiled(template: str) -> Callable[[Mapping[str, Any]], str]:
    """The template as a function of a document. Raises what Jinja does for one that is none."""
    render: Callable[[Mapping[str, Any]], str] = environment().from_string(template).render
    return render


def is_plain(template: str) -> bool:
    """Whether what a template makes of a document is at most a few times as large.

    Raises what Jinja does for a template that is none.
    """
    tree = environment().parse(template)
    return len(template) <= _LONGEST_PLAIN and _is_plain(tree, 0, None)


def _is_plain(node: Any, n_steps: int, names: frozenset[str] | None) -> bool:
    """Whether a node and all below it are; within a loop only its own `names` may be used."""
    kind = type(node).__name__
    if kind in _STEPS:
        n_steps += 1
        if n_steps > _MOST_STEPS or not _is_plain_step(node, kind):
            return False
    elif kind == "For":
        return names is None and _is_plain_loop(node, n_steps)
    elif kind not in _CARRIERS:
        return False
    if kind == "Name" and names is not None and node.name not in names:
        return False
    return all(_is_plain(child, n_steps, names) for child in node.iter_child_nodes())


def _is_plain_step(node: Any, kind: str) -> bool:
    if kind in ("Add", "Concat"):
        return True
    if node.dyn_args is not None or node.dyn_kwargs is not None:
        return False
    if kind == "Filter":
        known = node.name in _PLAIN_FILTERS
    else:
        known = type(node.node).__name__ == "Getattr" and node.node.attr in _PLAIN_METHODS
    given = [*node.args, *(pair.value for pair in node.kwargs)]
    if not known or any(type(argument).__name__ != "Const" for argument in given):
        return False
    # Only these two put what they are given in many places.
    repeats = (node.name if kind == "Filter" else node.node.attr) in ("join", "replace")
    return not repeats or all(len(str(one.value)) <= _LONGEST_REPEATED for one in given)


def _is_plain_loop(node: Any, n_steps: int) -> bool:
    """A loop over what is there, once, that says each time something of that item alone."""
    from jinja2 import nodes

    if node.recursive or node.test is not None:
        return False
    names = frozenset({"loop", *(name.name for name in node.target.find_all(nodes.Name))})
    names |= frozenset({node.target.name}) if isinstance(node.target, nodes.Name) else frozenset()
    inside = all(_is_plain(part, n_steps, names) for part in node.body)
    return inside and all(_is_plain(part, n_steps, None) for part in [node.iter, *node.else_])
