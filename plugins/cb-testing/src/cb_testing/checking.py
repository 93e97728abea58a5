"""`check_plugin`: every rule applied to a plugin and to each of its components."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from cb_testing.cases import Case, Given, check_given, given_for
from cb_testing.imports import import_each
from cb_testing.offline import no_network
from cb_testing.report import Report, Verdict
from cb_testing.rule_registry import RULES, load_rules, rules_for
from cb_testing.subjects import Subject, subject_of
from cbcore.components import Component, Kind
from cbcore.exceptions import PluginContractError

for _name in (
    "imports",
    "plugins",
    "evaluators",
    "systems",
    "datasets",
    "metrics",
    "reporters",
    "executors",
    "identity",
):
    importlib.import_module(f"cb_testing.rules.{_name}")  # which registers its rules

_CORE = ("cbcore.api", "cbcore.assembly", "cbcore.results", "cbcore.settings")
"""What a hook module may import, with the packages that it loads."""


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
        imports = import_each(subject.modules, before=(__name__,))
        unimportable = {done.name for done in imports if done.problem}
        for rule_id in ("import-works", "import-light", "import-silent", "import-offline"):
            yield RULES[rule_id].apply(imports, "plugin")
        targets = subject.plugin.hook_modules.values()
        names = [t if isinstance(t, str) else getattr(t, "__name__", "") for t in targets]
        hooks = {name.partition(":")[0] for name in names}.intersection(subject.modules)
        if unimportable & hooks:
            return  # what it offers cannot be known
        if hooks:
            alone = import_each(sorted(hooks), before=_CORE)
            yield RULES["hooks-light"].apply(alone, "plugin")
    yield RULES["hooks-match"].apply(subject, "plugin")
    if not subject.plugin.is_usable:
        return
    components = subject.plugin.components
    for name in dict.fromkeys(component.kind for component in components):
        load_rules(subject.catalog.kind(name))
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
        case.component = component.describe()
    with no_network() as attempts, contextlib.closing(case):
        verdicts = [apply("component-made")]
        if verdicts[-1].status == "passed":
            verdicts.append(apply("component-protocol"))
        if verdicts[-1].rule == "component-protocol" and verdicts[-1].ok:
            verdicts += [apply(rule.id) for rule in rules_for(component.kind)]
    yield (offline := apply("component-offline", attempts))
    if offline.status != "unchecked":  # what it did without its network says nothing of it
        yield from verdicts
