"""Extending a run: what contributes data with its scorers, and a section to every report.

An entry point in the group `cb.extensions` gives `cb run` a flag of that name. The values of the
flag make a `RunExtension`, which is asked what it contributes when the run is composed:

    [project.entry-points."cb.extensions"]
    promptfoo = "cb_promptfoo:Promptfoo"        # cb run --promptfoo FILE

    [project.entry-points."cb.options"]
    promptfoo-filter = "cb_promptfoo:FILTER"    # a further flag, for the extensions of its plugin

Flags, keys of run files and keywords of `evaluate` are known from the entry points alone: nothing
of a plugin is imported until one of them is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import attrs

from cbcore._build.main_score import main_score_of_task, tasks_of
from cbcore._build.wiring import find_joining, shared
from cbcore._run.parts import Part
from cbcore._run.scorers import Scorer
from cbcore._run.sources import Source
from cbcore._run.work import UnusableExample, readable
from cbcore.plugins.descriptions import cache_folder
from cbcore.request._options import INTEGER, NUMBER, PATH, TEXT, Option
from cbcore.results import EvalRow, Section

if TYPE_CHECKING:
    from cbcore._build.builder import Builder
    from cbcore.components import Component
    from cbcore.plugins.catalog import Catalog
    from cbcore.request import Request
    from cbcore.trust import Stranger

__all__ = [
    "INTEGER",
    "NUMBER",
    "PATH",
    "TEXT",
    "Contribution",
    "Option",
    "Part",
    "RunExtension",
    "Scorer",
    "Section",
    "Setup",
    "Source",
    "UnusableExample",
    "cache_folder",
    "readable",
]


@runtime_checkable
class RunExtension(Protocol):
    """Something that adds to a run.

    A class that is named in the group `cb.extensions` is called with the list of values that its
    flag was given, and with the options of its plugin by their names.
    """

    @property
    def name(self) -> str:
        """How it is called in messages."""

    def set_up(self, setup: Setup) -> Contribution:
        """What it adds to one run. Called once, before anything is spent."""


@attrs.define(eq=False, repr=False)
class Contribution:
    """What an extension adds to a run.

    - `sources`: data with its scorers. No two of a run may have the same tag.
    - `datasets`: what the result says of the data of each source.
    - `main_score`: the score that quality means in a run that has no other data, or, where it
      brings systems, no other systems.
    - `systems`: systems that join those of the run, and see all of its data.
    - `used`: components of kinds of its own that went into it, for the result to name.
    """

    sources: Sequence[Source] = ()
    datasets: Sequence[Mapping[str, Any]] = ()
    main_score: str | None = None
    used: Sequence[Component] = ()
    systems: Sequence[Part] = ()

    def section(
        self, rows: Mapping[str, Iterable[EvalRow]], failures: Mapping[str, str]
    ) -> tuple[Section | None, list[str]]:
        """A section for the result and every report, and what has to be told beside it.

        `rows` are those of each system; `failures` say why sources, by their tags, ended early.
        """
        return None, []


@attrs.frozen(eq=False, repr=False)
class Setup:
    """What an extension may use to set up its part of a run."""

    _builder: Builder
    _request: Request
    _evaluators: list[Part]
    dry_run: bool = False
    """Whether the run is only planned: no code of the user's files is to be run."""
    _stranger: Stranger | None = None

    @property
    def catalog(self) -> Catalog:
        """The plugins of the run."""
        return self._builder.catalog

    @property
    def warn(self) -> Callable[[str], None]:
        """Told at once what the user should know."""
        return self._builder.warn

    @property
    def asked(self) -> Sequence[Any] | None:
        """The evaluators that the user named; None if they are to be chosen."""
        return self._request.evaluators

    @property
    def added(self) -> Sequence[Any]:
        """Evaluators that join whatever is chosen or named."""
        return self._request.added_evaluators

    @property
    def repeats(self) -> int:
        """How often each example is to be run."""
        return self._request.repeats

    @property
    def max_workers(self) -> int | None:
        """How many calls of a system may be under way, if the user said so."""
        return self._request.max_workers

    @property
    def cache_dir(self) -> Path | None:
        """The folder in which the run keeps what it knows; None if it keeps nothing."""
        folder = self._request.cache_dir
        return None if folder is None else Path(folder)

    @property
    def seed(self) -> int | None:
        """The seed of the run, if it has one."""
        return self._request.seed

    def build(
        self,
        kind: str,
        wanted: Any,
        extra: Mapping[str, Any] | None = None,
        stranger: Stranger | None = None,
    ) -> Part:
        """A component from a spec, or from an object that already is one, checked.

        `extra` are parameters for the case that it takes them. A spec from a file that the user
        did not vouch for comes with its `stranger`: it may give values, and name no program.
        """
        part = self._builder.build(kind, wanted, extra, stranger or self._stranger)
        part.record.pop("spec", None)  # the user asked for the extension, not for this
        return part

    def automatic_evaluators(self, tasks: Sequence[str], dataset: Part | None = None) -> list[Part]:
        """The installed evaluators that join runs on data of these tasks, or on this dataset."""
        return find_joining(self._builder, tasks, dataset)

    def shared(self, evaluator: Part) -> Part:
        """The evaluator of the run that can stand for this one; else this one joins them."""
        return shared(evaluator, self._evaluators)

    @staticmethod
    def tasks_of(dataset: Part) -> Sequence[str]:
        """The tasks of a dataset, its main one first."""
        return tasks_of(dataset)

    @staticmethod
    def main_score(chosen: Collection[tuple[Part, bool]], dataset: Part) -> str | None:
        """The score that data with these evaluators is judged by, if it names none itself.

        Each evaluator comes with whether it was chosen automatically.
        """
        return main_score_of_task(chosen, dataset)
