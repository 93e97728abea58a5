"""`cb hooks`: what a plugin can implement, and who does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo

if TYPE_CHECKING:
    from cbcore.plugins import PluginHost


@click.command("hooks", short_help="Show every hook, when it is called, and who implements it.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@shared_options
@pass_settings
def command(settings: Settings, as_json: bool) -> None:
    """Show every hook: signature, when it is called, since which release, who implements it.

    Hooks of kinds that plugins bring are among them. A static entry point counts as an
    implementation of its kind's hook. No plugin is imported here. To see hooks being called, set
    CB_TRACE=1 for any command.
    """
    from cbcore.cli._text import clean, echo_json
    from cbcore.plugins._inspection import enrich

    host = settings.host()
    enrich(host)
    records = _records(host)
    if as_json:
        echo_json(records)
        return
    for position, record in enumerate(records):
        if position:
            echo()
        echo(f"{record['hook']}{record['signature']}")
        echo(f"  {record['summary']} {record['called']}")
        came = f"since {record['since']}" if record["since"] else f"of {record['brought_by']}"
        plugins = clean(", ".join(record["plugins"]) or "nobody")
        echo(f"  {came}; implemented by: {plugins}")
        if record["deprecated"]:
            echo(f"  deprecated: {record['deprecated']}")


def _records(host: PluginHost) -> list[dict[str, Any]]:
    import inspect

    from cbcore.deprecations import REMOVALS
    from cbcore.hookspecs import SINCE
    from cbcore.kinds import hook_of

    kinds = (c for plugin in host.plugins for c in plugin.components if c.kind == "kind")
    brought = {hook_of(kind.name): kind for kind in kinds}
    records = []
    for name, spec in host.hooks.items():
        summary, _, rest = (inspect.getdoc(spec) or "").partition("\n\n")
        kind = brought.get(name)
        if kind and kind.summary:
            summary = f"Offer {kind.summary}."
        removal = REMOVALS.get(name)
        records.append(
            {
                "hook": name,
                "signature": str(inspect.signature(spec)).replace("'", ""),
                "summary": " ".join(summary.split()),
                "called": " ".join(rest.split()).partition(". ")[0].rstrip(".") + ".",
                "since": SINCE.get(name),
                "brought_by": kind and kind.plugin,
                "deprecated": removal
                and f"removed in {removal.removed_in}; use {removal.replacement}",
                "plugins": [plugin.name for plugin in host.plugins if name in plugin.hooks],
            }
        )
    return records
