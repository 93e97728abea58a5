"""What metrics and extensions make of joined rows: made again from what the shards record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cbcore._build.builder import Builder
from cbcore._build.extending import remade_extension
from cbcore._build.remaking import metrics_of
from cbcore._run.sections import made_sections
from cbcore.boundary import contained
from cbcore.exceptions import CBError
from cbcore.extensions import Contribution, Setup
from cbcore.plugins.catalog import Catalog
from cbcore.results import EvalRow, RunConfig, Section, sum_up
from cbcore.results._summary import SummedUp
from cbcore.secrets import hide
from cbcore.settings import RunSettings
from cbcore.trust import Stranger

_HINT = "with --trust the shards may name what only their user could"


@attrs.frozen
class Tables:
    """The numbers of a result, and what has to be told beside them."""

    found: SummedUp
    sections: dict[str, Section]
    problems: list[str]
    metrics: list[Any]


def tables_of(
    rows: Mapping[str, Sequence[EvalRow]],
    config: RunConfig,
    *,
    sharding: Mapping[str, Any],
    failures: Mapping[str, str],
    catalog: Catalog,
    trusted: bool,
) -> Tables:
    """Sum rows up as the run itself would have done.

    What the shards were made with is made again: metrics, and extensions for their sections. A
    stranger's gives values only.
    """
    metrics, problems = metrics_of(config, catalog, trusted=trusted)
    found = sum_up(rows, metrics, config.get("score_field"), config=config)
    found.summary = hide(found.summary)
    contributions, lost = _contributions(config, sharding, catalog, trusted=trusted)
    sections, remarks = made_sections(
        rows, metrics=metrics, contributions=contributions, failures=failures, config=config
    )
    told = [*problems, *found.problems, *lost, *remarks]
    return Tables(found, sections, told, metrics)


def _contributions(
    config: RunConfig, sharding: Mapping[str, Any], catalog: Catalog, *, trusted: bool
) -> tuple[dict[str, Contribution], list[str]]:
    """What each extension of the run had added to it, by its key; and what could not be made."""
    made: dict[str, Contribution] = {}
    problems: list[str] = []
    records: Sequence[Any] = config.get("extension_plugins") or ()
    if not records:
        return made, problems
    stranger = None if trusted else Stranger("these shards", (Path.cwd(),), hint=_HINT)
    for record in records:
        with contained() as tried:
            asked = remade_extension(record, catalog, stranger)
            setup = _setup(config, sharding, catalog, stranger)
            made[asked.key] = asked.extension.set_up(setup)
        if tried.error is not None:
            hint = tried.error.hint if isinstance(tried.error, CBError) else None
            reason = f"{tried.reason} ({hint})" if hint else tried.reason
            problems.append(f"the section of {record.get('name')!r} is left out: {reason}")
    return made, problems


def _setup(
    config: RunConfig, sharding: Mapping[str, Any], catalog: Catalog, stranger: Stranger | None
) -> Setup:
    """As when the run was composed, but that a stranger's files run no code."""
    before = config.get("settings", {})
    seed = before.get("seed")
    settings = RunSettings(
        evaluators=sharding.get("asked"),
        repeats=before.get("repeats", 1),
        seed=seed,
        dry_run=stranger is not None,
    )
    builder = Builder(catalog, offered={} if seed is None else {"seed": seed})
    return Setup(builder, settings, [], stranger)
