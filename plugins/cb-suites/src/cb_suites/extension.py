"""Suites in a run: what `cb run --suite` asks for, and its further flags."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbcore.exceptions import UsageError
from cbcore.extensions import INTEGER, PATH, TEXT, Option, Setup
from cbcore.trust import Trusted

if TYPE_CHECKING:
    from cb_suites.engine.contribution import SuiteContribution

INCLUDE_PATH = Option(
    name="include_paths",
    kind=PATH,
    metavar="DIR",
    help="Folder with suite files of your own. Repeatable.",
    many=True,
)

TRUST = Option(
    name="trust",
    kind=PATH,
    metavar="FOLDER",
    help="Folder whose suite files may run code, name addresses and read variables. Repeatable.",
    many=True,
)

NUM_FEWSHOT = Option(
    name="num_fewshot",
    kind=INTEGER,
    metavar="N",
    help="Worked examples before each question of a suite, in place of what its tasks say.",
    least=0,
)


SYSTEM_INSTRUCTION = Option(
    name="system_instruction",
    kind=TEXT,
    metavar="TEXT",
    help="Stands before the description of every task that runs by the harness's rules.",
)

FEWSHOT_AS_MULTITURN = Option(
    name="fewshot_as_multiturn",
    kind=TEXT,
    metavar="yes|no",
    help="Whether worked examples of such tasks are turns of a conversation. [no]",
)


class Suites:
    """Suite, task, tag, group::task path or glob, also with @format. Repeatable.

    `wanted` are names, mappings, or what `SuiteManager` loaded. They are looked for in
    `include_paths` too; `num_fewshot` replaces what their tasks say. Files in the folders of
    `trust` may name programs; all others give values. `system_instruction` and
    `fewshot_as_multiturn` are for tasks that are run by the rules of lm-evaluation-harness.
    """

    name = "suites"
    metavar = "SPEC"

    def __init__(
        self,
        wanted: Sequence[Any],
        include_paths: Sequence[str | Path] = (),
        num_fewshot: int | None = None,
        trust: Trusted[Sequence[str | Path]] = (),
        system_instruction: str | None = None,
        fewshot_as_multiturn: bool | str | None = None,
    ) -> None:
        self.wanted = [wanted] if isinstance(wanted, str) else list(wanted)
        self.include_paths = include_paths
        self.num_fewshot = num_fewshot
        self.trust = trust
        self.system_instruction = system_instruction
        self.fewshot_as_multiturn = _is_yes(fewshot_as_multiturn)

    def set_up(self, setup: Setup) -> SuiteContribution:
        """Every task as a source; a task whose parts are not there is told in the table."""
        from cb_suites.engine.contribution import set_up
        from cb_suites.engine.harness_tasks import HarnessOptions
        from cb_suites.engine.selecting import select

        selection = select(
            *(self.wanted, self.include_paths, setup.catalog, self.num_fewshot),
            trust=self.trust,
            execute=not setup.dry_run,
        )
        for note in selection.notes:
            setup.warn(note)
        options = HarnessOptions(self.system_instruction, self.fewshot_as_multiturn)
        return set_up(selection, setup, options)


def _is_yes(value: bool | str | None) -> bool:
    said = str(value).lower()
    if value is None or said in ("no", "false"):
        return False
    if said in ("yes", "true"):
        return True
    raise UsageError(f"fewshot_as_multiturn is {value!r}", hint="say yes or no")
