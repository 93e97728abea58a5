"""Rules: small functions with an id that look at one thing and say what is wrong with it.

A rule yields a text for every problem it sees. It may also yield a `Note`, which is shown when
it passes, or an `Unchecked`, when something outside the component kept it from looking.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from cb_testing.report import Status, Verdict
from cbcore.boundary import contained
from cbcore.components import Kind

_MOST_PROBLEMS = 3
"""How many problems one verdict tells of; more would only repeat them."""


class Note(str):
    """Something worth saying although nothing is wrong."""

    __slots__ = ()


class Unchecked(str):
    """Why a rule could not be applied."""

    __slots__ = ()


Check: TypeAlias = Callable[[Any], Iterable[str]]


@attrs.frozen
class Rule:
    """One requirement: its id, the kinds it applies to (`plugin` for the whole), its check."""

    id: str
    kinds: tuple[str, ...]
    check: Check

    @property
    def title(self) -> str:
        """What is required, in a sentence."""
        return (self.check.__doc__ or "").strip().partition("\n")[0]

    def apply(
        self, subject: Any, kind: str, component: str = "", skip: Mapping[str, str] | None = None
    ) -> Verdict:
        """Look at the subject. What the check itself raises counts as a problem."""
        if skip and self.id in skip:
            return Verdict(self.id, kind, component, "skipped", skip[self.id])
        with contained() as tried:
            said = list(dict.fromkeys(self.check(subject)))[:_MOST_PROBLEMS]
        if tried.error is not None:
            said = [f"it raised {tried.reason}"]
        problems = [text for text in said if not isinstance(text, Note | Unchecked)]
        unchecked = [text for text in said if isinstance(text, Unchecked)]
        status: Status = "failed" if problems else "unchecked" if unchecked else "passed"
        message = "; ".join(problems or unchecked or said) or self.title
        return Verdict(self.id, kind, component, status, message)


RULES: dict[str, Rule] = {}
"""Every rule by its id."""

USES: dict[str, Callable[[Any], Any]] = {}
"""For the kinds whose outputs are stored: a function that uses a component once."""

STORED = "stored"
"""Stands for every kind in `USES` among the kinds of a rule."""


def rule(rule_id: str, *kinds: str) -> Callable[[Check], Check]:
    """Make a function a rule for these kinds of component."""

    def register(check: Check) -> Check:
        RULES[rule_id] = Rule(rule_id, kinds, check)
        return check

    return register


def rules_for(kind: str) -> list[Rule]:
    """The rules that apply to a kind of component, in order."""
    kinds = {kind, STORED} if kind in USES else {kind}
    return [known for known in RULES.values() if not kinds.isdisjoint(known.kinds)]


def load_rules(kind: Kind) -> None:
    """Import the rules that a plugin brings for its kind."""
    if kind.rules:
        module = importlib.import_module(kind.rules)
        USES[kind.name] = module.use
