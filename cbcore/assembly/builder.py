"""Making components: names looked up, parameters bound, what comes out checked."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from cbcore import binding, columns, provenance, specs, usercode
from cbcore.assembly import user_functions as own
from cbcore.assembly.fields import Layout, MappedDataset, check_own_data, read_table, split_columns
from cbcore.assembly.wiring import scores_of_task
from cbcore.boundary import at_boundary, contained
from cbcore.chains import Chain, Renamed, chain
from cbcore.components import KINDS, Built, Component, Kind, Owner
from cbcore.exceptions import (
    CBError,
    MissingExtraError,
    ParameterError,
    PluginContractError,
    PluginError,
    UnknownComponentError,
    UsageError,
)
from cbcore.introspection import function_name, public_attributes, signature_of
from cbcore.json_data import to_json_safe
from cbcore.plugins import Catalog, read_distributions
from cbcore.plugins.manager import HookManager
from cbcore.plugins.policy import PluginPolicy, check_evaluators
from cbcore.secrets import Secret, can_be_replaced, names_secret, notice
from cbcore.specs import Spec


class Builder:
    """Looks names up, makes components, and checks what it made.

    `offered` holds values passed to every component that has a parameter of that name. `hooks`
    are those of the run that is built. `warn` gets each warning at once. `evaluators` are those
    that benchmarks of the run share. `check` is that of specs which are built without another.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        offered: Mapping[str, Any] | None = None,
        hooks: HookManager | None = None,
        warn: Callable[[str], None] = lambda message: None,
        check: binding.Check | None = None,
    ) -> None:
        self.catalog = catalog
        self.check = check
        self.offered = dict(offered or {})
        self.hooks = hooks or HookManager()
        self.warn = warn
        self.evaluators: list[Built] = []
        self._found: dict[tuple[str, str], Component] = {}

    # -- one component -------------------------------------------------------------------------

    def build(
        self,
        kind: str,
        wanted: Any,
        extra: Mapping[str, Any] | None = None,
        check: binding.Check | None = None,
    ) -> Built:
        """A component from a spec string, a Spec, or an object that already is one.

        `extra` are values for parameters of these names, if it has them. `check` gets each
        parameter of an untrusted spec, before it is bound, and the path of own code,
        before it is imported; it raises `CBError` to refuse one.
        """
        if isinstance(wanted, Built):
            return wanted
        if kind == "dataset" and isinstance(wanted, os.PathLike):
            wanted = Spec(name="file", config=os.fspath(wanted))
        elif isinstance(wanted, str):
            wanted = Spec.parse_dataset(wanted) if kind == "dataset" else Spec.parse(wanted)
        if not isinstance(wanted, Spec):
            return self._take_object(kind, wanted)
        self._notice_secrets(wanted)
        if wanted.name.endswith(".py"):
            raise UsageError(
                f"no {kind} is called {wanted.name!r}",
                hint=f"own code is written py:FILE:NAME, as in py:{wanted}",
            )
        try:
            return self._build_spec(
                kind, wanted, {**self.offered, **(extra or {})}, check or self.check
            )
        except ParameterError as error:
            for value in map(str, (wanted.config, *wanted.params.values())):
                if packages := self.catalog.packages_offering("value", value):
                    error.hint = f"{packages[0]} takes such values: cb install {packages[0]}"
            raise

    def _build_spec(
        self, kind: str, wanted: Spec, extra: Mapping[str, Any], check: binding.Check | None
    ) -> Built:
        """A component by name, or own code: `py:module:Name`.

        A class or function is called, a ready-made object is used as is. An own function that is
        what a method of the kind would be is taken for that method.
        """
        component, target, spec = self._resolve(kind, wanted, check)
        owner = component.plugin if component else spec.name
        called = "" if component else spec.name.rpartition(":")[2]
        value: Any = target
        given: dict[str, Any] = {}
        if callable(target):
            if check is not None:
                binding.check_parameters(spec, target, check)
            is_own = component is None or component.owner is None
            value, given = self._call_factory(kind, spec, target, extra, owner, is_own=is_own)
        elif spec.config is not None or spec.params:
            raise ParameterError(owner, "is not a class or function, so it takes no parameters")
        if component is None:
            value = own.give_name(self.catalog.kind(kind), value, called)
        value = self._check(kind, value, owner)
        described = _without_columns(value)
        name = _tag_of(value) or called or wanted.default_label
        record = provenance.describe(described, name=name, component=component, given=given)
        record["spec"] = str(wanted)
        built = Built(value, record, component and self.catalog.describe(component))
        if component is None:
            record["component"] = owner
        elif kind == "evaluator" and (emits := built.emits):
            record["emits"] = to_json_safe(list(emits))
        if component is None or component.owner is not None:  # not known to this process only
            name = component.qualified_name if component else "py"
            built.remake = Remake(kind, (attrs.evolve(wanted, name=name),), extra)
        return built

    def _resolve(
        self, kind: str, spec: Spec, check: binding.Check | None = None
    ) -> tuple[Component | None, Any, Spec]:
        """The component of a spec, unless it is own code; its target, and the spec for the target."""
        if spec.name != "py":
            component = self.find(kind, spec.name)
            return component, self.catalog.load(component), spec
        path, first = specs.own_code(spec.config or "")
        if check is not None:
            check("py", "config", path, Callable)
        try:
            target = usercode.import_attribute(path)
        except ValueError as error:
            raise UsageError(f"py:{path}: {error}") from error
        return None, target, attrs.evolve(spec, name=f"py:{path}", config=first)

    def find(self, kind: str, name: str) -> Component:
        """The component of that name, looked up once. Raises as `Catalog.find`."""
        if (kind, name) not in self._found:
            self._found[kind, name] = self.catalog.find(kind, name)
        return self._found[kind, name]

    def require_all(self, wanted: Iterable[tuple[str, Any]]) -> None:
        """Raise one error that names every component which is not there, and what would bring it.

        `wanted` are kinds with specs, lists of specs or objects. One name that is missing alone,
        or that cannot be used for another reason, is reported where the component is built.
        """
        unknown: list[UnknownComponentError] = []
        for kind, name in dict.fromkeys(_find_names(wanted)):
            try:
                self.find(kind, name)
            except UnknownComponentError as error:
                unknown.append(error)
            except CBError:
                continue
        if len(unknown) < 2:
            return
        offering = [self.catalog.packages_offering(one.kind, one.name)[:1] for one in unknown]
        listed = [f"{one.kind} {one.name!r}" for one in unknown]
        hints = [
            f"{text}: {one.hint}"
            for one, text, found in zip(unknown, listed, offering, strict=True)
            if not found
        ]
        if packages := dict.fromkeys(name for found in offering for name in found):
            hints.insert(0, f"cb install {' '.join(packages)}")
        raise UsageError(f"not installed: {', '.join(listed)}", hint="\n".join(hints))

    def parameters(self, kind: str, spec: Spec) -> Mapping[str, inspect.Parameter]:
        """The parameters that the component of a spec takes."""
        _, target, _ = self._resolve(kind, spec)
        return signature_of(target).parameters if callable(target) else {}

    def _notice_secrets(self, spec: Spec) -> None:
        """Remember secret parameters, to keep them out of what is written."""
        notice({"": spec.config, **spec.params})
        owner = _name_component(spec).rpartition(":")[2]
        for name, value in spec.params.items():
            if not isinstance(value, str) or not names_secret(name, value):
                continue
            if value and not can_be_replaced(value):
                self.warn(
                    f"{name} of {owner} is too short or too common to be told from other "
                    "text: it is not recorded, but messages and outputs may show it"
                )
            if not isinstance(value, Secret):
                self.warn(
                    f"{name} of {owner} is written out, where history and other users can "
                    "see it: take it from the environment"
                )

    def _call_factory(
        self,
        kind: str,
        spec: Spec,
        target: Any,
        extra: Mapping[str, Any] | None,
        owner: str,
        *,
        is_own: bool,
    ) -> tuple[Any, dict[str, Any]]:
        """Call the factory. What it does not know is the core's: `name=` renames any system or memory,
        and `…_column=` points any evaluator or dataset at other columns."""
        signature = signature_of(target)
        layout = Layout()
        mapping: dict[str, Any] = {}
        if kind == "dataset":
            spec, layout = Layout.split_spec(spec, signature)
            mapping = layout.parameters
        elif kind == "evaluator":
            spec, mapping = split_columns(spec, signature)
            mapping = {k: str(v) if isinstance(v, int | float) else v for k, v in mapping.items()}
        broken = functools.partial(PluginContractError, owner)
        with at_boundary(f"making the {kind} {spec.name!r}", broken):
            made = own.from_function(kind, spec, target, extra) if is_own else None
            new_name = None
            if made is None:
                takes_name = "name" in signature.parameters
                if not takes_name and self.catalog.kind(kind).is_tested:
                    params = dict(spec.params)
                    new_name = params.pop("name", None)
                    spec = attrs.evolve(spec, params=params)
                bound = binding.bind(spec, target, extra=extra)
                made = bound.make(), bound.arguments
            value, given = made
            if kind == "dataset":
                value = layout.apply(read_table(value), spec.name)
            elif mapping:
                value = _map_columns(spec.name, value, mapping)
        value = value if new_name is None else Renamed(value, str(new_name))
        return value, {**given, **_record_columns(mapping)}

    def _take_object(self, kind: str, value: Any) -> Built:
        value = own.as_component(kind, value)
        value = own.give_name(self.catalog.kind(kind), value, type(value).__name__)
        value = self._check(kind, value, None)
        if kind == "dataset":
            return Built(value, provenance.describe(object(), name=_tag_of(value)))
        with contained():  # attributes may be code
            attributes = {**getattr(value, "__dict__", {}), **public_attributes(value)}
            notice({name.lstrip("_"): one for name, one in attributes.items()})
        if isinstance(value, Chain):
            stages = [self._take_object(kind, stage) for stage in value.stages]
            records = [stage.record for stage in stages]
            return Built(value, provenance.describe_chain(value, records), stages=stages)
        given: dict[str, Any] = {}
        described = _without_columns(value)
        if isinstance(value, columns.MappedEvaluator):
            given = _record_columns(
                {f"{field}{columns.SUFFIX}": c for field, c in value.columns.items()}
            )
        if isinstance(described, Renamed):
            described = described.system
        owner = owner_of(described, self.catalog)
        record = provenance.describe(described, name=_tag_of(value), owner=owner, given=given)
        return Built(value, record)

    def _check(self, kind: str, value: Any, owner: str | None) -> Any:
        """The boundary: a wrong shape is reported as its author's fault."""
        asked = self.catalog.kind(kind)
        problem = asked.find_problem(value)
        if not problem:
            return read_table(value) if kind == "dataset" else value
        text = f"this {kind} ({type(value).__name__}){problem}"
        if owner is None or owner.startswith("py:"):
            raise UsageError(text, hint=self._hint_for(asked, value))
        raise PluginContractError(owner, text)

    def _hint_for(self, kind: Kind, value: Any) -> str:
        """Where an object belongs that is of a kind of plugins, or how to write one of this kind."""
        for name in self.catalog.kinds:
            if name not in KINDS:
                with contextlib.suppress(CBError):  # a broken kind has no hint
                    other = self.catalog.kind(name)
                    if other.hint and other.problem and other.problem(value) is None:
                        return other.hint
        methods = " or ".join(f"`{method}`" for method in kind.methods)
        needs = f"give it the method {methods};" if methods else kind.target
        return f"{needs} see docs/reference/protocols.md"

    # -- the parts of a run --------------------------------------------------------------------

    def system(self, wanted: Any) -> Built:
        """A system, or a chain of them."""
        stages = Spec.parse_chain(wanted) if isinstance(wanted, str) else wanted
        if not isinstance(stages, list):
            stages = [stages]
        parts = [self.build("system", stage) for stage in stages]
        part = parts[0] if len(parts) == 1 else self._chain(stages[-1], parts)
        for stage in stages:
            if isinstance(stage, Spec) and stage.label:
                part.value = Renamed(part.value, stage.label)
                part.record |= {"name": stage.label, **stage.tags}
        return part

    def _chain(self, last: Any, parts: list[Built]) -> Built:
        """The chain of the parts. `name=` on the `last` stage names the whole chain."""
        values = [part.value for part in parts]
        name = last.params.get("name") if isinstance(last, Spec) else None
        if name is not None:
            name = str(name)
            values[-1] = Renamed(values[-1], _name_component(last))
        value = chain(values, name)
        record = provenance.describe_chain(value, [part.record for part in parts])
        if all("spec" in part.record for part in parts):
            record["spec"] = " | ".join(part.record["spec"] for part in parts)
        remake = None
        makers = [part.remake for part in parts if isinstance(part.remake, Remake)]
        if len(makers) == len(parts):
            stages = tuple(spec for maker in makers for spec in maker.stages)
            remake = Remake("system", stages, self.offered)
        return Built(value, record, stages=parts, remake=remake)

    def dataset(self, wanted: Any, extra: Mapping[str, Any], layout: Layout) -> Built:
        """A dataset with the fields that the run maps.

        What is said in its own spec goes before the `layout` of the run.
        """
        part = self.build("dataset", wanted, extra)
        part.value = layout.apply(part.value, part.record["name"])
        check_own_data(part.value, part.record["name"], self.warn)
        if isinstance(wanted, Spec) and wanted.label:
            part.record |= {"name": wanted.label, **wanted.tags}
        return part

    def share(self, evaluator: Built) -> Built:
        """The evaluator of this run that equals this one; if there is none, this one joins them."""
        for known in self.evaluators:
            if _is_same(known, evaluator):
                return known
        self.evaluators.append(evaluator)
        return evaluator

    def automatic_evaluators(
        self, tasks: Sequence[str], dataset: Built | None = None
    ) -> list[Built]:
        """Installed evaluators that join runs on data of these tasks, or on this dataset.

        A broken one is only reported. See `Component.joins`.
        """
        policy = self.catalog.policy
        check_evaluators(policy, self.catalog.components("evaluator"))
        main_score = (dataset and dataset.main_score) or self.score_of_task(tasks)
        joins = functools.partial(
            Component.joins,
            tasks=tasks,
            main_score=main_score,
            plugin=dataset.component.plugin if dataset and dataset.component else None,
            enabled=policy.automatic,
        )
        parts = []
        for component in self._find_joining("evaluator", joins):
            try:
                parts.append(self._build_unnamed("evaluator", component))
            except MissingExtraError as error:
                emits = self.catalog.describe(component).emits
                if policy.strict or main_score in emits:
                    raise
                self.warn(f"left out: {error.message} ({error.hint})")
        return parts

    def score_of_task(self, tasks: Sequence[str]) -> str | None:
        """The first score of the only installed evaluator that names the main task."""
        described = []
        for component in self.catalog.components("evaluator"):
            with contextlib.suppress(PluginError):  # reported where evaluators are chosen
                described.append(self.catalog.describe(component))
        scores = scores_of_task(tasks, described)
        return scores[0] if len(scores) == 1 else None

    def automatic_metrics(
        self, occasions: Collection[str], extra: Mapping[str, Any]
    ) -> list[Built]:
        """Installed metrics that declare themselves automatic on one of these occasions."""
        joining = self._find_joining("metric", lambda metric: metric.automatic in occasions)
        return [self._build_unnamed("metric", component, extra) for component in joining]

    def _find_joining(self, kind: str, joins: Callable[[Component], bool]) -> Iterator[Component]:
        """The components that join a run by their description, and can be imported.

        Each comes once, although a plugin may offer it under two names. One that cannot be
        imported is left out with a warning, also if it is described in the cache.
        """
        unique = {(c.plugin, str(c.target)): c for c in reversed(self.catalog.components(kind))}
        for component in sorted(unique.values(), key=lambda c: c.name):
            try:
                if not joins(self.catalog.describe(component)):
                    continue
                self.catalog.load(component)
            except PluginError as error:
                if self.catalog.policy.strict:
                    raise
                self.warn(f"left out: {error.message}")
            else:
                yield component

    def _build_unnamed(
        self, kind: str, component: Component, extra: Mapping[str, Any] | None = None
    ) -> Built:
        """A component that the user did not ask for by name: its record has no spec."""
        self._found[kind, component.qualified_name] = component
        part = self.build(kind, Spec(component.qualified_name), extra)
        part.record.pop("spec")
        return part


@attrs.frozen(eq=False, repr=False)
class Remake:
    """Builds a component of a kind from the specs of its stages, in any process.

    The specs name plugins, so that no policy is needed to find a component. `offered`
    is what the builder of the run had for every component that takes it.
    """

    kind: str
    stages: tuple[Spec, ...]
    offered: Mapping[str, Any] = attrs.Factory(dict)

    def __call__(self) -> Any:
        named = [stage.name for stage in self.stages if stage.name != "py"]
        plugins = {name.partition("/")[0] for name in named}
        catalog = Catalog(read_distributions(), PluginPolicy(only=frozenset(plugins)))
        builder = Builder(catalog, offered=self.offered)
        if len(self.stages) > 1:
            return builder.system(list(self.stages)).value
        return builder.build(self.kind, self.stages[0]).value


def _find_names(wanted: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    """The names among the specs; none for an object or code of the user."""
    for kind, one in wanted:
        for spec in one if isinstance(one, list) else [one]:
            if isinstance(spec, Spec) and spec.name != "py" and not spec.name.endswith(".py"):
                yield kind, spec.name


def _is_same(known: Built, part: Built) -> bool:
    """Whether two parts were made alike by name, or are the same object."""
    if known.component is None or part.component is None:
        return known.value is part.value
    return bool(known.record["digest"] == part.record["digest"])


def owner_of(value: Any, catalog: Catalog) -> Owner | None:
    """The plugin whose package an object's class comes from."""
    package = type(value).__module__.partition(".")[0]
    for plugin in catalog.plugins:
        for component in plugin.components:
            target = component.target
            if isinstance(target, str) and target.replace(":", ".").startswith(f"{package}."):
                return component.owner
    return None


def _map_columns(name: str, evaluator: Any, mapping: Mapping[str, Any]) -> Any:
    try:
        return columns.map_columns(evaluator, **mapping)
    except (ValueError, TypeError) as error:
        raise ParameterError(name, str(error)) from error


def _without_columns(value: Any) -> Any:
    """The evaluator or dataset whose columns are mapped; anything else as it is."""
    if isinstance(value, columns.MappedEvaluator):
        return value.evaluator
    return value.dataset if isinstance(value, MappedDataset) else value


def _record_columns(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Columns as results record them: functions by name."""
    return {
        name: function_name(column) if callable(column) else column
        for name, column in mapping.items()
    }


def _name_component(spec: Spec) -> str:
    """The name of a component, or the `module:Name` of own code."""
    return specs.own_code(spec.config or "")[0] if spec.name == "py" else spec.name


def _tag_of(examples: Any) -> str:
    name = getattr(examples, "name", None)
    return name if isinstance(name, str) else ""
