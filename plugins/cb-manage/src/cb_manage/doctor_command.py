"""`cb doctor`: check the environment, and say how to fix what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli.kit import (
    Settings,
    cache_option,
    clean,
    echo,
    echo_columns,
    echo_json,
    pass_settings,
    shared_options,
)

if TYPE_CHECKING:
    from cb_manage.health import Finding
    from cb_manage.trials import Trial
    from cbcore.plugins import Plugin


@click.command("doctor", short_help="Check the environment: plugins, versions, conflicts, folders.")
@click.option("--timings", is_flag=True, help="Show how long the import of each plugin takes.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, for machines.")
@cache_option
@shared_options
@pass_settings
@click.pass_context
def command(
    ctx: click.Context, settings: Settings, timings: bool, as_json: bool, cache_dir: str
) -> None:
    """Check everything `cb` rests on, and say how to fix what is wrong.

    That is: versions, broken plugins, names and versions in conflict, copies and remains of
    distributions, unbounded requirements, misspelled entry points, slow imports, folders that
    cannot be written, optional tools. Exits with 3 if something needs fixing. Plugins are
    imported in another process.
    """
    from cb_manage.health import describe_environment, diagnose
    from cb_manage.trials import try_plugins

    catalog = settings.catalog()
    trials = try_plugins(catalog)
    findings = diagnose(catalog, trials, [Path(cache_dir)])
    is_healthy = not any(finding.severity == "error" for finding in findings)
    if as_json:
        echo_json(
            {
                "ok": is_healthy,
                "environment": describe_environment(),
                "plugins": [_describe_plugin(plugin, trials) for plugin in catalog.plugins],
                "findings": [finding.to_dict() for finding in findings],
            }
        )
    else:
        usable = [f"{p.name} {p.version}" for p in catalog.plugins if p.is_usable]
        rows = [*describe_environment().items(), ("plugins", ", ".join(usable))]
        echo_columns(rows[0], rows[1:])
        echo()
        if timings:
            _echo_timings(trials)
        _echo_findings(findings)
    ctx.exit(0 if is_healthy else 3)


def _describe_plugin(plugin: Plugin, trials: Mapping[str, Trial]) -> dict[str, Any]:

    return {
        "name": plugin.name,
        "version": plugin.version,
        "status": plugin.status,
        "state": plugin.state,
        "reason": plugin.reason,
        "import_ms": trials[plugin.name].import_ms if plugin.name in trials else None,
        "components": plugin.components_by_kind,
    }


def _echo_timings(trials: Mapping[str, Trial]) -> None:
    timings = {name: trial.import_ms for name, trial in trials.items() if trial.import_ms}
    slowest_first = sorted(timings.items(), key=lambda timing: -timing[1])
    echo_columns(("PLUGIN", "IMPORT"), [(name, f"{ms:.1f} ms") for name, ms in slowest_first])
    echo()


def _echo_findings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        echo(f"{finding.severity}: {clean(finding.subject)}: {clean(finding.problem)}")
        if finding.fix:
            echo(f"  fix: {clean(finding.fix)}")
    count = sum(finding.severity == "error" for finding in findings)
    noun = "thing needs" if count == 1 else "things need"
    echo(f"{count} {noun} fixing" if count else "nothing needs fixing")
