"""Making components: names looked up, parameters bound, what comes out checked."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs

from cbcore import binding, columns, provenance, specs, usercode
from cbcore.assembly import user_functions as own
from cbcore.assembly.fields import Layout, MappedDataset, check_own_data, read_table
from cbcore.assembly.main_score import named_score, scores_of_task
from cbcore.assembly.remake import Remake
from cbcore.boundary import at_boundary, contained
from cbcore.chains import Chain, Renamed, chain
from cbcore.components import Built, Component, Owner
from cbcore.exceptions import (
    CBError,
    MissingExtraError,
    ParameterError,
    PluginContractError,
    PluginError,
    UsageError,
)
from cbcore.introspection import function_name, public_attributes, signature_of
from cbcore.json_data import to_json_safe
from cbcore.kinds import KINDS, Kind
from cbcore.plugins import Catalog
from cbcore.plugins.manager import HookManager
from cbcore.plugins.policy import check_evaluators
from cbcore.secrets import Secret, blot, can_be_blotted, names_secret, notice_parameters
from cbcore.specs import Spec
from cbcore.store.stand_ins import StoredData, StoredSystem


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
        parameter of a spec that somebody else wrote, before it is bound, and the path of own code,
        before it is imported; it raises `CBError` to refuse one.
        """
        if isinstance(wanted, Built):
            return wanted
        if kind == "dataset" and isinstance(wanted, os.PathLike):
            wanted = Spec(name="file", config=os.fspath(wanted))
        elif isinstance(wanted, str):
            wanted = Spec.parse_dataset(wanted) if kind == "dataset" else Spec.parse(wanted)
        if not isinstance(wanted, Spec):
            return self._given(kind, wanted)
        extra = {**self.offered, **(extra or {})}
        try:
            return self._build_spec(kind, wanted, extra, check or self.check)
        except ParameterError as error:
            if wanted.several:
                self._explain_sweep(error)
            raise

    def _explain_sweep(self, error: ParameterError) -> None:
        """Name the plugin that takes several values, if it is not in use."""
        try:
            self.catalog.find("command", "sweep")
        except CBError as missing:
            error.hint = f"several values are a sweep: {missing.message}; {missing.hint}"

    def _build_spec(
        self, kind: str, wanted: Spec, extra: Mapping[str, Any], check: binding.Check | None
    ) -> Built:
        self._notice_secrets(wanted)
        if wanted.name == "py":
            part = self._own_code(kind, wanted, extra, check)
            part.remake = Remake(kind, (wanted,), extra)
            part.record["spec"] = blot(str(wanted))
            return part
        if wanted.name.endswith(".py"):
            raise UsageError(
                f"no {kind} is called {wanted.name!r}",
                hint=f"own code is written py:FILE:NAME, as in py:{wanted}",
            )
        component = self.find(kind, wanted.name)
        if check is not None:
            binding.check_parameters(wanted, self.catalog.load(component), check)
        return self._build_named(kind, wanted, component, extra)

    def find(self, kind: str, name: str) -> Component:
        """The component of that name, looked up once. Raises as `Catalog.find`."""
        if (kind, name) not in self._found:
            self._found[kind, name] = self.catalog.find(kind, name)
        return self._found[kind, name]

    def parameters(self, kind: str, spec: Spec) -> Mapping[str, inspect.Parameter]:
        """The parameters that the component of a spec takes; none if they cannot be read."""
        target: Any = None
        if spec.name != "py":
            target = self.catalog.load(self.find(kind, spec.name))
        else:
            with contextlib.suppress(ValueError):  # raised again when it is built
                target = usercode.import_attribute(specs.own_code(spec.config or "")[0])
        signature = signature_of(target) if callable(target) else None
        return {} if signature is None else signature.parameters

    def _build_named(
        self, kind: str, wanted: Spec, component: Component, extra: Mapping[str, Any]
    ) -> Built:
        target = self.catalog.load(component)
        by_hand = component.owner is None  # registered, and perhaps a plain function
        value, given = self._made(
            kind, wanted, target, extra, component.plugin, may_be_plain=by_hand
        )
        value = self._checked(kind, value, component.plugin)
        name = _tag_of(value) or wanted.default_label
        described = value
        if isinstance(value, columns.MappedEvaluator):
            described = value.evaluator
        elif isinstance(value, MappedDataset):
            described = value.dataset
        record = provenance.describe(described, name=name, component=component, given=given)
        record["spec"] = blot(str(wanted))
        if kind == "evaluator":
            emits = getattr(described, "emits", None) or component.emits
            if emits:
                record["emits"] = to_json_safe(list(emits))
        remake = None
        if not by_hand:
            named = attrs.evolve(wanted, name=component.qualified_name)
            remake = Remake(kind, (named,), extra)
        return Built(value, record, component, remake=remake)

    def _notice_secrets(self, spec: Spec) -> None:
        """Remember secret parameters, to keep them out of what is written."""
        notice_parameters({"": spec.config, **spec.params})
        for name, value in spec.params.items():
            if not isinstance(value, str) or not names_secret(name, value):
                continue
            if value and not can_be_blotted(value):
                self.warn(
                    f"{name} of {spec.name} is too short or too common to be told from other "
                    "text: it is not recorded, but messages and outputs may show it"
                )
            if not isinstance(value, Secret):
                self.warn(
                    f"{name} of {spec.name} is written out, where history and other users can "
                    "see it: take it from the environment"
                )

    def _made(
        self,
        kind: str,
        spec: Spec,
        target: Any,
        extra: Mapping[str, Any] | None,
        owner: str,
        *,
        may_be_plain: bool,
    ) -> tuple[Any, dict[str, Any]]:
        """Call the factory. What it does not know is the core's: `name=` renames any system or memory,
        and `…_column=` points any evaluator or dataset at other columns."""
        new_name = None
        signature = signature_of(target)
        layout = Layout()
        mapping: dict[str, Any] = {}
        if kind == "dataset":
            spec, layout = Layout.split_spec(spec, signature)
            mapping = layout.parameters
        elif kind == "evaluator":
            spec, mapping = _without_columns(spec, signature)
        if may_be_plain and (plain := own.from_function(kind, spec, target, extra)) is not None:
            value, given = plain
            value = _mapped(spec.name, value, mapping) if mapping else value
            return value, {**given, **_told(mapping)}
        knows_name = signature is not None and "name" in signature.parameters
        if self.catalog.kind(kind).is_tested and "name" in spec.params and not knows_name:
            new_name = str(spec.params["name"])
            spec = attrs.evolve(spec, params={k: v for k, v in spec.params.items() if k != "name"})
        broken = functools.partial(PluginContractError, owner)
        with at_boundary(f"making the {kind} {spec.name!r}", broken):
            bound = binding.bind(spec, target, extra=extra)
            value = bound.make()
            if kind == "dataset":
                value = layout.apply(read_table(value), spec.name)
            elif mapping:
                value = _mapped(spec.name, value, mapping)
        given = {**bound.named_arguments, **_told(mapping)}
        return (Renamed(value, new_name) if new_name else value), given

    def _own_code(
        self, kind: str, spec: Spec, extra: Mapping[str, Any] | None, check: binding.Check | None
    ) -> Built:
        """`py:module:Name`: a class or function is called, a ready-made object is used as is.

        A function that is what a method of the kind would be is taken for that method.
        """
        path, first = specs.own_code(spec.config or "")
        written = f"py:{path}"
        if check is not None:
            check("py", "config", path, Callable)
        try:
            target = usercode.import_attribute(path)
        except ValueError as error:
            raise UsageError(f"{written}: {error}") from error
        given: dict[str, Any] = {}
        inner = Spec(name=written, config=first, params=spec.params)
        if callable(target):
            if check is not None:
                binding.check_parameters(inner, target, check)
            value, given = self._made(kind, inner, target, extra, written, may_be_plain=True)
        elif first is not None or spec.params:
            raise ParameterError(written, "is not a class or function, so it takes no parameters")
        else:
            value = target
        called = path.rpartition(":")[2]
        value = self._checked(kind, own.with_name(self.catalog.kind(kind), value, called), written)
        name = (_tag_of(value) or called) if kind == "dataset" else value.name
        record = provenance.describe(value, name=name, given=given)
        record["component"] = written
        return Built(value, record)

    def _given(self, kind: str, value: Any) -> Built:
        value = own.as_component(kind, value)
        value = own.with_name(self.catalog.kind(kind), value, type(value).__name__)
        value = self._checked(kind, value, None)
        if isinstance(value, StoredData | StoredSystem):
            return Built(value, value.record)
        if kind == "dataset":
            return Built(value, provenance.describe(object(), name=_tag_of(value)))
        with contained():  # what an object holds may be unable to be gone through
            notice_parameters({name.lstrip("_"): kept for name, kept in _kept_by(value).items()})
        if isinstance(value, Chain):
            stages = [self._given(kind, stage) for stage in value.stages]
            records = [stage.record for stage in stages]
            return Built(value, provenance.describe_chain(value, records), stages=stages)
        given: dict[str, Any] = {}
        described = value
        if isinstance(value, columns.MappedEvaluator):
            described = value.evaluator
            given = _told({f"{field}{columns.SUFFIX}": c for field, c in value.columns.items()})
        if isinstance(described, Renamed):
            described = described.system
        owner = owner_of(described, self.catalog)
        record = provenance.describe(described, name=_tag_of(value), owner=owner, given=given)
        return Built(value, record)

    def _checked(self, kind: str, value: Any, owner: str | None) -> Any:
        """The boundary: a wrong shape is reported as its author's fault."""
        asked = self.catalog.kind(kind)
        problem = asked.find_problem(value)
        if not problem:
            return read_table(value) if kind == "dataset" else value
        text = f"this {kind} ({type(value).__name__}){problem}"
        if owner is None or owner.startswith("py:"):
            other = next((k for k in self._brought_kinds() if _fits(k, value)), None)
            raise UsageError(text, hint=other.hint if other else _how_to_write(asked))
        raise PluginContractError(owner, text)

    def _brought_kinds(self) -> Iterator[Kind]:
        """The kinds that plugins bring; a broken one is skipped."""
        for name in self.catalog.kinds:
            if name not in KINDS:
                with contextlib.suppress(CBError):
                    yield self.catalog.kind(name)

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
            values[-1] = Renamed(values[-1], _own_name(last))
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
        """A dataset in which the fields of the run stand where systems look for them.

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
        main_score = (dataset and named_score(dataset)) or self.score_of_task(tasks)
        plugin = dataset.component.plugin if dataset and dataset.component else None
        enabled = self.catalog.policy.automatic
        joins = functools.partial(
            Component.joins, tasks=tasks, main_score=main_score, plugin=plugin, enabled=enabled
        )
        installed = self._installed("evaluator")
        check_evaluators(self.catalog.policy, installed)
        parts = []
        for component in installed:
            if not self._is_chosen(component, joins):
                continue
            try:
                parts.append(self._chosen("evaluator", component))
            except MissingExtraError as error:
                emits = self.catalog.describe(component).emits
                if self.catalog.policy.strict or main_score in emits:
                    raise
                self.warn(f"left out: {error.message} ({error.hint})")
        return parts

    def score_of_task(self, tasks: Sequence[str]) -> str | None:
        """The first score of the only installed evaluator that names the main task."""
        declared = []
        for component in self.catalog.components("evaluator"):
            with contextlib.suppress(PluginError):  # reported where evaluators are chosen
                described = self.catalog.describe(component)
                declared.append((described.applies_to, described.emits))
        scores = scores_of_task(tasks, declared)
        return scores[0] if len(scores) == 1 else None

    def automatic_metrics(
        self, occasions: Collection[str], extra: Mapping[str, Any]
    ) -> list[Built]:
        """Installed metrics that declare themselves automatic on one of these occasions."""
        return [
            self._chosen("metric", component, extra)
            for component in self._installed("metric")
            if self._is_chosen(component, lambda d: d.automatic in occasions)
        ]

    def _chosen(
        self, kind: str, component: Component, extra: Mapping[str, Any] | None = None
    ) -> Built:
        """A component that nobody asked for by name: its record has no spec."""
        extra = {**self.offered, **(extra or {})}
        part = self._build_named(kind, Spec(component.qualified_name), component, extra)
        part.record.pop("spec", None)
        return part

    def _installed(self, kind: str) -> list[Component]:
        """Every component once, although a plugin may offer it under two names."""
        unique = {(c.plugin, str(c.target)): c for c in reversed(self.catalog.components(kind))}
        return sorted(unique.values(), key=lambda c: c.name)

    def _is_chosen(self, component: Component, applies: Callable[[Component], bool]) -> bool:
        """Whether a component says that it applies, and works. Which does not, is told.

        It is tried although it says so itself: what is remembered of it may have been true only
        while all that it needs was installed.
        """
        try:
            if not applies(self.catalog.describe(component)):
                return False
            self.catalog.load(component)
        except PluginError as error:
            if self.catalog.policy.strict:
                raise
            self.warn(f"left out: {error.message}")
            return False
        return True


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


def _without_columns(
    spec: Spec, signature: inspect.Signature | None
) -> tuple[Spec, dict[str, Any]]:
    """A spec without the `…_column` parameters that its evaluator does not take, and those."""
    known = {} if signature is None else signature.parameters
    if any(p.kind is p.VAR_KEYWORD for p in known.values()):
        return spec, {}
    mapping = {}
    others = {}
    for name, value in spec.params.items():
        if name in known or not name.endswith(columns.SUFFIX):
            others[name] = value
        elif isinstance(value, int | float):
            mapping[name] = str(value)
        else:
            mapping[name] = value
    return attrs.evolve(spec, params=others), mapping


def _mapped(name: str, evaluator: Any, mapping: Mapping[str, Any]) -> Any:
    try:
        return columns.map_columns(evaluator, **mapping)
    except (ValueError, TypeError) as error:
        raise ParameterError(name, str(error)) from error


def _told(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Columns as results record them: functions by name."""
    return {
        name: function_name(column) if callable(column) else column
        for name, column in mapping.items()
    }


def _own_name(stage: Spec) -> str:
    """The component of a stage, where the `name=` of the stage names the whole chain."""
    return specs.own_code(stage.config or "")[0] if stage.name == "py" else stage.name


def _fits(kind: Kind, value: Any) -> bool:
    """Whether an object is a component of this kind, which says where that belongs."""
    return bool(kind.hint and kind.problem is not None and kind.problem(value) is None)


def _how_to_write(kind: Kind) -> str:
    """What own code of a kind has to be."""
    methods = " or ".join(f"`{method}`" for method in kind.methods)
    told = f"give it the method {methods}; "
    needs = told if methods else f"{kind.target} "
    return f"{needs}all of it stands in the reference, docs/reference/protocols.md"


def _kept_by(value: Any) -> dict[str, Any]:
    """What an object holds, in public or not."""
    return {**getattr(value, "__dict__", {}), **public_attributes(value)}


def _tag_of(examples: Any) -> str:
    name = getattr(examples, "name", None)
    return name if isinstance(name, str) else ""
