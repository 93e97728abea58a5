"""`cb doctor`: is this environment whole, and if not, what to do."""

from __future__ import annotations

from typing import Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo


@click.command("doctor", short_help="Check the environment: plugins, versions, conflicts, folders.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, for machines.")
@shared_options
@pass_settings
@click.pass_context
def command(ctx: click.Context, settings: Settings, as_json: bool) -> None:
    """Check everything `cb` rests on, and say what to do about what is wrong.

    Versions, broken plugins, names and versions in conflict, copies and remains of
    distributions, unbounded requirements, misspelt entry points, slow imports, folders that
    cannot be written, optional tools. Exits with 3 when something needs fixing. No plugin is
    imported here.
    """
    from pathlib import Path

    from cb_testing.inspection import Report, try_plugins
    from cbcore._manage.health import diagnose, environment
    from cbcore.cli._text import echo_json
    from cbcore.cli.list_plugins import list_by_kind
    from cbcore.request import DEFAULT_CACHE_DIR

    catalog = settings.catalog()
    reports = try_plugins(catalog.plugins)
    findings = diagnose(catalog, reports, [Path(DEFAULT_CACHE_DIR)])
    healthy = not any(finding.severity == "error" for finding in findings)
    if as_json:
        echo_json(
            {
                "ok": healthy,
                "environment": environment(),
                "plugins": [
                    {
                        "name": plugin.name,
                        "version": plugin.version,
                        "status": plugin.status,
                        "state": plugin.state,
                        "reason": plugin.reason,
                        "components": list_by_kind(plugin),
                        "import_ms": reports.get(plugin.name, Report(plugin.name)).import_ms,
                    }
                    for plugin in catalog.plugins
                ],
                "findings": [finding.to_dict() for finding in findings],
            }
        )
    else:
        _echo(environment(), catalog.plugins, findings)
    ctx.exit(0 if healthy else 3)


def _echo(environment: dict[str, Any], plugins: Any, findings: Any) -> None:
    from cbcore.cli._text import clean, echo_indented

    for label, value in environment.items():
        echo(f"{label:<11} {clean(value)}")
    working = [f"{plugin.name} {plugin.version}" for plugin in plugins if plugin.is_usable]
    echo_indented(f"{'plugins':<11} ", clean(", ".join(working)))
    echo()
    echo_findings(findings)


def echo_findings(findings: Any) -> None:
    """Print findings, each with what to do, and how many need fixing."""
    from cbcore.cli._text import clean

    for finding in findings:
        echo(f"{finding.severity}: {clean(finding.subject)}: {clean(finding.problem)}")
        if finding.fix:
            echo(f"  fix: {clean(finding.fix)}")
    count = sum(finding.severity == "error" for finding in findings)
    noun = "thing needs" if count == 1 else "things need"
    echo(f"{count} {noun} fixing" if count else "nothing needs fixing")
