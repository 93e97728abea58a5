"""`cb plugins check`: hold plugins to the contract, for authors and for CI."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cbcore.cli.kit import Settings, clean, echo, echo_json, pass_settings, shared_options

if TYPE_CHECKING:
    from cb_testing.metadata_rules import Finding
    from cb_testing.plugin_check import Checked


@click.command("plugins-check", short_help="Check plugins against the contract; for CI.")
@click.argument("plugin", required=False, metavar="[PLUGIN|PATH]")
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@shared_options
@pass_settings
@click.pass_context
def command(ctx: click.Context, settings: Settings, plugin: str | None, as_json: bool) -> None:
    """Check one plugin, a project that is not installed, or all plugins.

    First the metadata is held to the static rules. Then the conformance kit imports the
    plugin in a separate process, and reports time, modules, output, network and exits. It
    compares the hooks with those of the core and tries each component. Exits with 3 when
    something must be fixed.
    """
    reports = _reports(settings, plugin)
    if as_json:
        echo_json([report.to_dict() for report in reports])
    else:
        for report in reports:
            _echo(report)
        failed = [report.plugin for report in reports if not report.ok]
        echo(f"{len(reports)} checked, {len(failed)} to be fixed")
    ctx.exit(0 if all(report.ok for report in reports) else 3)


def _reports(settings: Settings, plugin: str | None) -> list[Checked]:
    from pathlib import Path

    from cb_testing.plugin_check import check_installed, check_project
    from cbcore.exceptions import UsageError
    from cbcore.names import canonical, hint

    catalog = settings.catalog()
    if plugin is None:
        return check_installed(catalog)
    known = [p.name for p in catalog.plugins]
    if matches := [name for name in known if canonical(name) == canonical(plugin)]:
        return check_installed(catalog, matches[:1])
    is_path = "/" in plugin or "\\" in plugin or plugin in (".", "..")
    if is_path or Path(plugin, "pyproject.toml").is_file():
        return [check_project(Path(plugin))]
    raise UsageError(
        f"no plugin called {plugin!r} is installed",
        hint=hint(plugin, known, "`cb list-plugins` shows them; the path of a project works too"),
    )


def _echo(report: Checked) -> None:
    verdict = "ok" if report.ok else "to be fixed"
    echo(f"{clean(report.plugin)} {clean(report.version)}: {verdict}")
    if report.conformance:
        tried = report.conformance["findings"]
        passed = sum(finding["status"] == "passed" for finding in tried)
        echo(f"  conformance: {passed} of {len(tried)} rules passed")
        for finding in tried:
            if finding["rule"] == "import-light" and finding["ok"]:
                echo(f"  import: {clean(finding['message'])}")
    alike: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in report.findings:
        key = (finding.severity, finding.subject, finding.problem)
        alike.setdefault(key, []).append(finding)
    for (severity, subject, problem), findings in alike.items():
        rules = ", ".join(finding.rule for finding in findings)
        about = f"{rules} {subject.removeprefix(report.plugin).strip()}"
        echo(f"  {severity}: {clean(about).rstrip()}: {clean(problem)}")
        if findings[0].fix:
            echo(f"    fix: {clean(findings[0].fix)}")
