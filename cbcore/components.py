"""Components by name and kind, whose code is imported only when it is used."""

from __future__ import annotations

import contextlib
import functools
import importlib
import operator
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cbcore import names
from cbcore.boundary import at_boundary
from cbcore.exceptions import PluginContractError, PluginLoadError
from cbcore.secrets import hide

__all__ = ("TASKS", "Built", "Component", "Kind", "Owner")

_RUN = "cb run --system SYSTEM --dataset DATASET"

TASKS = (
    "qa",
    "multiple-choice",
    "math",
    "code",
    "summarization",
    "nli",
    "instruction-following",
    "multi-turn",
    "tool-use",
    "retrieval",
)
"""The tasks a dataset may carry and an evaluator may apply to. Plugins may use others."""


@attrs.frozen
class Owner:
    """The distribution a component came from, as recorded in every result."""

    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


@attrs.frozen(eq=False)
class Kind:
    """A kind of component.

    A plugin may bring kinds of its own: an entry point in the group `cb.kinds` names one and points
    at its `Kind`. Then every plugin can offer components of it, and `cb list` shows them.

    The entry-point group `cb.<names>`, with the plural of its name, offers components of it.
    Datasets, systems, evaluators, metrics and reporters can also be offered by a hook.

    - `offer`: what such components are, as the end of the sentence "Offer …".
    - `target`: what a component's target has to be or do, in one sentence.
    - `methods`: what the target makes has at least one of these, if there are any; if it
      `is_named`, a `name` too.
    - `problem`: asked instead of that, where it is given: what is wrong with a thing that a
      target made; None if nothing is.
    - `is_value`: the target is the thing itself, not something that makes it.
    - `example`: a command that uses one; `{spec}` stands for its name.
    - `hint`: where a component of it belongs, for who gives one as another kind.
    - `template`: a folder with what `cb new` writes for it: `component.py.jinja`,
      `test_component.py.jinja` and `usage.md`, as in the template of the core. None where there is
      nothing to start from.
    - `rules`: a module that the conformance kit imports before it checks such a component. It
      registers its rules with the kit; its function `use(case)` uses a component once, for the
      rules about identity.
    - `is_tested`: a run tests these components, so `name=` renames them in results and a run
      needs data besides them.
    """

    name: str
    offer: str
    target: str
    methods: tuple[str, ...] = ()
    is_named: bool = True
    problem: Callable[[Any], str | None] | None = None
    is_value: bool = False
    example: str = ""
    hint: str = ""
    template: Path | None = None
    rules: str = ""
    is_tested: bool = False

    @property
    def group(self) -> str:
        """The entry-point group that offers components of this kind."""
        return f"cb.{names.plural(self.name)}"

    def find_problem(self, value: Any) -> str:
        """Why an object is not of this kind, behind "this system (Class)"; empty if it is."""
        if self.problem is not None:
            wrong = self.problem(value)
            return f": {wrong}" if wrong else ""
        is_data = not isinstance(value, str)  # a text can be iterated, too
        has_method = is_data and any(callable(getattr(value, m, None)) for m in self.methods)
        if self.methods and not has_method:
            return f" has no {' or '.join(f'{method}()' for method in self.methods)}"
        has_name = isinstance(getattr(value, "name", None), str)
        return " has no name (a string)" if self.is_named and not has_name else ""


def _other_than(name: str) -> Callable[[Any], str | None]:
    """Say of everything but a value of that class what it should be."""

    def problem(value: Any) -> str | None:
        found = type(value).__name__
        return None if found == name else f"make it a value of the class {name}, not a {found}"

    return problem


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "dataset",
            "datasets",
            "It is called as `target(config, **parameters)` and returns an iterable of examples.",
            methods=("__iter__",),
            is_named=False,
            example="cb run --system SYSTEM --dataset {spec}",
        ),
        Kind(
            "system",
            "systems: context compressors, rerankers, readers, endpoints",
            "It makes an object with `name` and `process` or `aprocess`.",
            methods=("process", "aprocess"),
            is_tested=True,
            example="cb run --system {spec} --dataset DATASET",
        ),
        Kind(
            "evaluator",
            "evaluators",
            "Its `applies_to` and `emits`, said in the component or on the target, decide "
            "whether the evaluator is wired automatically, and what can be asked of it.",
            methods=("score", "ascore"),
            example=f"{_RUN} --evaluator {{spec}}",
        ),
        Kind(
            "metric",
            "metrics",
            "It makes an object with `name` and `compute` or `compare`.",
            methods=("compute", "compare"),
            example=f"{_RUN} --metric {{spec}}",
        ),
        Kind(
            "reporter",
            "output formats for `--output`",
            "It makes an object with `name` and `render`.",
            methods=("render", "write"),
            example=f"{_RUN} --output {{spec}}",
        ),
        Kind(
            "executor",
            "workers that make the calls: other processes, other machines",
            "It makes an object with `name` and `open`.",
            methods=("open",),
        ),
        Kind(
            "tokenizer",
            "token counters for `--tokenizer`",
            "It makes an object with `name` and `count`.",
            methods=("count",),
            example=f"{_RUN} --tokenizer {{spec}}",
        ),
        Kind(
            "command",
            "sub-commands of `cb`",
            "It is a `click.Command`, or a function that returns one. A built-in command "
            "cannot be replaced; one called `list-things` also answers `cb list things`.",
            example="cb {spec} --help",
        ),
        Kind(
            "option",
            "flags of `cb run`, which `cb_configure` or parameters of components read",
            "It is a `cbcore.settings.Option`.",
            problem=_other_than("Option"),
            is_value=True,
            example="cb run --help",
        ),
        Kind(
            "run_file",
            "run files that `cb run NAME` finds without a path",
            "It is a `cbcore.settings.run_file.RunFile`.",
            problem=_other_than("RunFile"),
            is_value=True,
            example="cb run {spec}",
        ),
        Kind(
            "directory",
            "directories of packages, for the hint behind an unknown name",
            "It is a function that returns the packages which offer a component, called as "
            "`target(kind, name)`. For the kind `plugin`, it returns the package of that name, and "
            "for `score` those that give a score.",
            is_value=True,
            is_named=False,
        ),
        Kind(
            "kind",
            "kinds of components",
            "It is a `cbcore.components.Kind`.",
            problem=_other_than("Kind"),
            is_value=True,
        ),
    )
}
"""Every kind that the core knows, by name."""


def _texts(value: Iterable[str] | str | None) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else tuple(value or ())
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is not a string")
    return texts


def _check_name(_: object, field: attrs.Attribute[str], value: str) -> None:
    # A kind may be one that a plugin brings: the catalog knows which there are.
    if not names.is_valid(value):
        raise ValueError(
            f"{value!r} is not a component {field.name}: use lower-case letters, digits, - and _"
        )


_DESCRIPTIVE = (
    *("tasks", "configs", "main_score", "applies_to", "emits", "extension", "automatic"),
    "metavar",
)
"""Fields of a component that may be attributes of its target instead."""


@attrs.frozen
class Component:
    """One named thing a plugin offers.

    `target` is `"package.module:attribute"`, imported on first use, or the object itself:
    a class or function that makes the component from keyword parameters. The remaining
    fields describe it; left empty, they are read from attributes of the loaded target
    (`tasks`, `configs`, `main_score`, `applies_to`, `emits`, `extension`, `automatic`,
    `metavar`), so that the simple plugin writes them once, next to its code.

    - `tasks`, `configs`: what a dataset is for, and its variants (`name:config`).
    - `main_score`: the score a dataset is judged by; without it, the first score of the only
      evaluator that names its main task in `applies_to`, or else F1.
    - `applies_to`, `emits`: the tasks an evaluator scores (`*` for all), and its score names.
    - `extension`: the file type a reporter writes.
    - `metavar`: how `--help` shows the value of an option.
    - `automatic`: when a metric is added to runs that name none: `always`,
      `several-datasets`, `several-systems`, `repeats`, or a task that a dataset has. `True` for
      an evaluator that joins every run on the tasks it applies to.
    """

    kind: str = attrs.field(validator=_check_name)
    name: str = attrs.field(validator=_check_name)
    target: str | Callable[..., Any]
    summary: str = ""
    tasks: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    configs: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    applies_to: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    emits: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    extension: str = ""
    automatic: str | bool = ""
    owner: Owner | None = None
    main_score: str = ""
    metavar: str = ""

    @property
    def plugin(self) -> str:
        """The owning distribution, or `python` for what was registered by hand."""
        return self.owner.distribution if self.owner else "python"

    @property
    def qualified_name(self) -> str:
        """`plugin/name`: the form that resolves whatever else is installed."""
        return f"{self.plugin}/{self.name}"

    def joins(
        self,
        tasks: Iterable[str],
        *,
        main_score: str | None = None,
        plugin: str | None = None,
        enabled: Collection[str] = (),
    ) -> bool:
        """Whether this evaluator scores data of these tasks in runs that do not name it.

        It has to apply to one of the tasks. Besides, it declares `automatic`, emits the
        `main_score` of the data, comes from the same `plugin` as the data, or is `enabled` by
        name. An evaluator that was registered by hand always joins.
        """
        if not {"*", *tasks} & set(self.applies_to):
            return False
        own = {names.canonical(self.name), names.canonical(self.qualified_name)}
        return (
            self.owner is None
            or bool(self.automatic)
            or main_score in self.emits
            or self.plugin == plugin
            or not own.isdisjoint(map(names.canonical, enabled))
        )

    def load(self) -> Callable[..., Any]:
        """Import the target. Whatever the import does wrong becomes a `PluginLoadError`."""
        if not isinstance(self.target, str):
            return self.target
        target: Callable[..., Any] = import_target(self.target, plugin=self.plugin)
        is_value = self.kind in KINDS and KINDS[self.kind].is_value
        if not (is_value or callable(target)):
            raise PluginContractError(
                self.plugin,
                f"{self.kind} {self.name!r} points at {self.target}, "
                f"which is a {type(target).__name__} and cannot be called",
            )
        return target

    def describe(self) -> Component:
        """This component with its empty descriptive fields read from the loaded target."""
        target = self.load()
        broken = functools.partial(PluginContractError, self.plugin)
        with at_boundary(f"describing the {self.kind} {self.name!r}", broken):
            # The documentation of a `partial` is that of its class, not of the component.
            doc = target.__doc__ if target.__doc__ is not type(target).__doc__ else None
            texts = (self.summary, *(getattr(target, name, "") for name in ("help", "offer")), doc)
            summary = next(filter(None, texts), "")
            found: dict[str, Any] = {"summary": str(summary).strip().partition("\n")[0]}
            for field in _DESCRIPTIVE:
                declared = getattr(target, field, None)
                if isinstance(declared, set | frozenset):  # it has no order of its own
                    declared = sorted(declared)
                is_flag = field == "automatic" and declared is True
                if not getattr(self, field) and (
                    is_flag or isinstance(declared, str | tuple | list)
                ):
                    found[field] = declared
            return attrs.evolve(self, **found)


# Two of them are never equal: what they hold may be compared in ways of its own, or not at all.
@attrs.define(eq=False, repr=False)
class Built:
    """A component that is ready to use.

    - `record`: what results say of it; empty for what no result records.
    - `component`: the one that it was made from by name, described.
    - `stages`: the parts of a chain.
    - `remake`: makes it again in a worker. Without it, the value itself is pickled.
    - `is_automatic`: for an evaluator that joined the run by itself. It passes over examples and
      outputs that lack a field it needs.
    """

    value: Any
    record: dict[str, Any] = attrs.Factory(dict)
    component: Component | None = None
    stages: Sequence[Built] = ()
    remake: Callable[[], Any] | None = None
    is_automatic: bool = False

    @property
    def name(self) -> str:
        name: str = hide(self.value.name)
        return name

    @property
    def tasks(self) -> Sequence[str]:
        """The tasks of a dataset, its main one first."""
        return self.get("tasks") or ()

    @property
    def main_score(self) -> str:
        """The score that a dataset says it is judged by; empty if it does not."""
        return str(self.get("main_score") or "")

    @property
    def applies_to(self) -> Sequence[str]:
        """The tasks that an evaluator scores."""
        return self.get("applies_to") or ()

    @property
    def emits(self) -> tuple[str, ...]:
        """The scores that an evaluator declares."""
        return tuple(self.get("emits") or ())

    @property
    def is_awaited(self) -> bool:
        """Whether a system is awaited."""
        return hasattr(self.value, "aprocess")

    @property
    def endpoints(self) -> frozenset[str]:
        """The endpoints that a system waits for; none if it computes here."""
        return frozenset(getattr(self.value, "endpoints", None) or ())

    @property
    def max_cost(self) -> Callable[[Mapping[str, Any]], Any] | None:
        """The most that a call may cost, by its example, as a component declares it."""
        declared: Callable[[Mapping[str, Any]], Any] | None
        declared = getattr(self.value, "max_cost", None)
        return declared

    def get(self, field: str) -> Any:
        """The value of a descriptive field: of the object, or else of its component."""
        return getattr(self.value, field, None) or getattr(self.component, field, None)


registered: dict[tuple[str, str], Component] = {}
"""Components registered in this process, by kind and canonical name; see `cbcore.registry`."""


def import_target(target: str, *, plugin: str) -> Any:
    """Import `package.module:attribute` on behalf of a plugin, containing what goes wrong.

    Exceptions and exits become `PluginLoadError`; an interrupt names the plugin. What the import
    prints goes to standard error, so that the output of `cb` stays machine-readable.
    """
    module, _, attribute = (part.strip() for part in target.partition(":"))
    hint = f"reinstall or update {plugin}, or leave it out with --no-plugin {plugin}"
    broken = functools.partial(PluginLoadError, plugin, hint=hint)
    try:
        with (
            at_boundary(f"importing {target}", broken, through=()),
            contextlib.redirect_stdout(sys.stderr),
        ):
            found = importlib.import_module(module)
            return operator.attrgetter(attribute)(found) if attribute else found
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(f"while importing {target} of {plugin}") from interrupt
