"""What a plugin offers: named components whose code is imported only when it is used."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import attrs

from cbcore import names
from cbcore.exceptions import PluginContractError, PluginLoadError
from cbcore.kinds import KINDS
from cbcore.secrets import hide, redact

__all__ = ("TASKS", "Built", "Component", "Owner", "describe_exception")

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


def _texts(value: Iterable[str] | str | None) -> tuple[str, ...]:
    if value is None:
        return ()
    texts = (value,) if isinstance(value, str) else tuple(value)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is not a string")
    return texts


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

    kind: str = attrs.field()
    name: str = attrs.field()
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

    @kind.validator
    def _check_kind(self, _: object, value: str) -> None:
        # A kind may be one that a plugin brings: whether it is there, the catalog knows.
        if not names.is_valid(value):
            raise ValueError(f"{value!r} is not a kind of component: use one of {', '.join(KINDS)}")

    @name.validator
    def _check_name(self, _: object, value: str) -> None:
        if not names.is_valid(value):
            raise ValueError(
                f"{value!r} is not a component name: use lower-case letters, digits, - and _"
            )

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

    def described(self) -> Component:
        """This component with its empty descriptive fields read from the loaded target."""
        target = self.load()
        try:
            return self._described_by(target)
        except Exception as error:  # the plugin boundary: attributes may be code
            raise PluginContractError(
                self.plugin,
                f"{self.kind} {self.name!r} cannot be described: {describe_exception(error)}",
            ) from error

    def _described_by(self, target: Callable[..., Any]) -> Component:
        # The documentation of a `partial` and its like is that of their class, not of the thing.
        doc = target.__doc__ if target.__doc__ is not type(target).__doc__ else None
        said = (getattr(target, name, "") for name in ("help", "offer"))
        summary = self.summary or next(filter(None, said), "") or (doc or "").strip()
        found: dict[str, Any] = {"summary": str(summary).partition("\n")[0]}
        for field in _DESCRIPTIVE:
            declared = getattr(target, field, None)
            if isinstance(declared, set | frozenset):  # it has no order of its own
                declared = sorted(declared)
            is_flag = field == "automatic" and declared is True
            if not getattr(self, field) and (is_flag or isinstance(declared, str | tuple | list)):
                found[field] = declared
        return attrs.evolve(self, **found)


# Two of them are never equal: what they hold may be compared in ways of its own, or not at all.
@attrs.define(eq=False, repr=False)
class Built:
    """A component that is ready to use.

    - `record`: what results say of it; empty for what no result records.
    - `component`: the one that it was made from by name.
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
        described = self.component.described() if self.component else None
        return getattr(self.value, "tasks", None) or (described.tasks if described else ())


registered: dict[tuple[str, str], Component] = {}
"""Components registered in this process, by kind and canonical name; see `cbcore.registry`."""


def import_target(target: str, *, plugin: str) -> Any:
    """Import `package.module:attribute` on behalf of a plugin, containing what goes wrong.

    Exceptions and exits become `PluginLoadError`; an interrupt names the plugin. What the import
    prints goes to standard error, so that the output of `cb` stays machine-readable.
    """
    module_name, _, attribute = (part.strip() for part in target.partition(":"))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(module_name)
            for part in attribute.split(".") if attribute else ():
                found = getattr(found, part)
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(f"while importing {target} of {plugin}") from interrupt
    except BaseException as error:  # the plugin boundary: a module may raise whatever it likes
        raise PluginLoadError(
            plugin,
            f"importing {target} failed: {describe_exception(error)}",
            hint=f"reinstall or update {plugin}, or leave it out with --no-plugin {plugin}",
        ) from error
    return found


_MOST_CHARACTERS = 4000
"""Of a message; what is longer was not written to be read."""
_LONGEST_REPR = 200


def describe_exception(error: BaseException) -> str:
    """`Type: message` on one line, naming an exit for what it is. Never fails, and ends.

    Known secrets are blotted out of it.
    """
    if isinstance(error, SystemExit):
        return f"it called sys.exit({described_value(error.code)})"
    try:
        # Before anything is cut off: a part of a secret could not be found any more.
        text = redact(str(error))
        if len(text) > _MOST_CHARACTERS:
            text = f"{text[:_MOST_CHARACTERS]}… ({len(text):,} characters)"
        text = " ".join(text.split())
    except KeyboardInterrupt:
        raise
    except BaseException as broken:  # noqa: BLE001 - an error may be unable to say what it is
        text = f"(its message cannot be had: {type(broken).__name__})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def described_value(value: Any) -> str:
    """The `repr` of a value, shortened; of one that has none, its type. Never fails itself."""
    try:
        text = redact(repr(value))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the `repr` of somebody else's object is code too
        return f"<{type(value).__name__}>"
    text = re.sub(" at 0x[0-9a-fA-F]+", "", text)  # another one in every run
    return text if len(text) <= _LONGEST_REPR else f"{text[:_LONGEST_REPR]}…"
