"""The key that outputs are stored under, and that no secret gets out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cb_testing import samples
from cb_testing.cases import Case
from cb_testing.rule_registry import STORED, USES, Note, Unchecked, rule
from cb_testing.rules.evaluators import try_score
from cb_testing.rules.systems import try_process
from cbcore.exceptions import CBError
from cbcore.provenance import describe
from cbcore.secrets import is_secret_name
from cbcore.store.identity import Identities

_CANARY = "conformance canary 7f3a"
"""A secret that looks like none, so that only its parameter's name gives it away."""


USES["system"] = lambda case: try_process(case, samples.example())
USES["evaluator"] = lambda case: try_score(case, samples.pairs()[0])


def _key_of(case: Case, value: Any, identities: Identities | None = None) -> str:
    """The key of an object made in Python, where only the object itself can tell."""
    record = describe(value, name=case.component.name, owner=case.component.owner)
    return (identities or Identities()).key_of(value, record)


@rule("identity-stable", STORED)
def stable(case: Case) -> Iterator[str]:
    """Equal parameters give an equal key, and use does not change it."""
    made, other = case.make(), case.make()
    identities = Identities()
    try:
        before, twin = _key_of(case, made, identities), _key_of(case, other)
    except ValueError as error:
        yield f"nothing of it would be stored: {error}"
        return
    if case.kind.is_tested and made.name != other.name:
        return  # reported by `system-name-stable` and its like
    if before != twin:
        yield "two instances with the same parameters differ: keep what is random out of attributes"
        return
    used = Case(case.component, case.given, case.kind, made)
    try:
        USES[case.component.kind](used)
        identities.note_state()
    finally:
        used.close()
    try:
        _key_of(case, made)
    except ValueError as error:
        yield f"nothing of it would be stored after its first run: {error}"


@rule("identity-distinguishes", STORED)
def distinguishes(case: Case) -> Iterator[str]:
    """Another value of a parameter gives another key."""
    try:
        own = _key_of(case, case.make())
        varied = list(case.variations())
        same = [n for n, other in varied if other is not None and _key_of(case, other) == own]
    except ValueError:
        return  # reported by `identity-stable`
    labels = case.given.get("labels", ())
    for name in (name for name in same if name not in labels):
        yield (
            f"add {name!r} to `identity`, or keep it in an attribute of that name: with another "
            "value the store would return the results of the first"
        )
    refused = ", ".join(name for name, other in varied if other is None)
    if refused:
        yield Note(f"not varied, for want of another value: {refused}")


@rule("secrets-hidden", STORED, "dataset", "metric", "reporter", "executor")
def hidden(case: Case) -> Iterator[str]:
    """A secret parameter shows neither in `repr` nor in what a result records."""
    names = [name for name in case.accepted() if is_secret_name(name)]
    if not names:
        return
    secrets = dict.fromkeys(names, _CANARY)
    try:
        value = case.make(**secrets)
    except (CBError, ValueError, TypeError) as error:
        yield Unchecked(f"it cannot be made with {', '.join(names)}: {error}")
        return
    for what, text in (("repr", repr(value)), ("str", str(value))):
        if _CANARY in text:
            yield f"leave {' and '.join(names)} out of {what}"
            return
    given = {**case.params, **secrets}
    record = describe(value, name="checked", component=case.component, given=given)
    if _CANARY in json.dumps(record):
        leaking = [key for key, kept in record["params"].items() if _CANARY in json.dumps(kept)]
        yield f"keep {' and '.join(names)} in private attributes: results would record {leaking}"
