"""`check_plugin`: every rule applied to a plugin and to each of its components."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from cbcore.components import Component
from cbcore.exceptions import PluginContractError
from cbcore.kinds import Kind
from cbcore.plugins._imports import import_each
from cbcore.testing._cases import Case, Given, check_given, given_for
from cbcore.testing._offline import no_network
from cbcore.testing._report import Report, Verdict
from cbcore.testing._rule import RULES, rules_for
from cbcore.testing._subjects import Subject, subject_of

for _name in (
    "imports",
    "plugins",
    "evaluators",
    "systems",
    "datasets",
    "metrics",
    "reporters",
    "executors",
    "memories",
    "identity",
):
    importlib.import_module(f"cbcore.testing._rules.{_name}")  # which registers its rules


def check_plugin(plugin: Any, *, examples: Mapping[str, Given] | None = None) -> Report:
    """Check that a plugin keeps the contract, rule by rule.

    `plugin` is the name of an installed distribution, the path of a project folder (which need
    not be installed), a hook module or any object with hooks, a `Component`, or a list of them.

    `examples` says more about components, by name (`"brevity"`, or `"evaluator/brevity"` where
    kinds share it): parameters to make it with, examples to try it on, rules to skip; see
    `Given`.

    Components are made and called in this process, without network beyond this machine;
    importing is tried in another one first. Raises `UsageError` for a plugin that is not there
    and for examples that name nothing.
    """
    with subject_of(plugin) as subject, contextlib.redirect_stdout(sys.stderr):
        findings = tuple(_verdicts(subject, examples or {}))
        return Report(subject.plugin.name, subject.plugin.version, findings)


def _verdicts(subject: Subject, examples: Mapping[str, Given]) -> Iterator[Verdict]:
    unimportable: set[str] = set()
    for rule_id in ("names-valid", "core-supported"):
        yield (found := RULES[rule_id].apply(subject, "plugin"))
        if not found.ok:
            return
    if subject.modules:
        imports = import_each(subject.modules, before=("cbcore.testing",))
        unimportable = {done.name for done in imports if done.problem}
        for rule_id in ("import-works", "import-light", "import-silent"):
            yield RULES[rule_id].apply(imports, "plugin")
        targets = map(str, subject.plugin.hook_modules.values())
        if unimportable & {target.partition(":")[0] for target in targets}:
            return  # what it offers cannot be known
    yield RULES["hooks-match"].apply(subject, "plugin")
    if not subject.plugin.is_usable:
        return
    components = subject.plugin.components
    check_given(examples, components, RULES)
    for component in components:
        target = component.target
        if not isinstance(target, str) or target.partition(":")[0].strip() not in unimportable:
            kind = subject.catalog.kind(component.kind)
            yield from _component_verdicts(component, kind, given_for(component, examples))


def _component_verdicts(component: Component, kind: Kind, given: Given) -> Iterator[Verdict]:
    """Apply the rules of its kind, as far as each step allows the next."""
    case = Case(component, given, kind)
    skip = given.get("skip", {})

    def apply(rule_id: str, subject: Any = case) -> Verdict:
        return RULES[rule_id].apply(subject, component.kind, component.name, skip)

    yield (resolves := apply("component-resolves"))
    if not resolves.ok:
        return
    yield apply("component-described")
    with contextlib.suppress(PluginContractError):
        case.component = component.described()
    with no_network() as attempts, contextlib.closing(case):
        verdicts = [apply("component-made")]
        if verdicts[-1].status == "passed":
            verdicts.append(apply("component-protocol"))
        if verdicts[-1].rule == "component-protocol" and verdicts[-1].ok:
            verdicts += [apply(rule.id) for rule in rules_for(component.kind)]
    yield (offline := apply("component-offline", attempts))
    if offline.status != "unchecked":  # what it did without its network says nothing of it
        yield from verdicts
