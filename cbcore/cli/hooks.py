"""`cb hooks`: what a plugin can implement, and who does."""

from __future__ import annotations

from typing import Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo


@click.command("hooks", short_help="Show every hook, when it is called, and who implements it.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@shared_options
@pass_settings
def command(settings: Settings, as_json: bool) -> None:
    """Show every hook: signature, when it is called, since which release, who implements it.

    A static entry point counts as an implementation of its kind's hook. No plugin is imported
    here. To see hooks being called, set CB_TRACE=1 for any command.
    """
    from cbcore.cli._text import clean, echo_json
    from cbcore.plugins._inspection import enrich

    host = settings.host()
    enrich(host)
    records = _records(host.plugins)
    if as_json:
        echo_json(records)
        return
    for position, record in enumerate(records):
        if position:
            echo()
        echo(f"{record['hook']}{record['signature']}")
        echo(f"  {record['summary']} {record['called']}")
        echo(f"  since {record['since']}; implemented by: ", nl=False)
        echo(clean(", ".join(record["plugins"]) or "nobody"))
        if record["deprecated"]:
            echo(f"  deprecated: {record['deprecated']}")


def _records(plugins: Any) -> list[dict[str, Any]]:
    import inspect

    from cbcore.deprecations import REMOVALS
    from cbcore.hookspecs import SINCE
    from cbcore.plugins._host import HOOKS

    records = []
    for name, spec in HOOKS.items():
        summary, _, rest = (inspect.getdoc(spec) or "").partition("\n\n")
        removal = REMOVALS.get(name)
        records.append(
            {
                "hook": name,
                "signature": str(inspect.signature(spec)).replace("'", ""),
                "summary": " ".join(summary.split()),
                "called": " ".join(rest.split()).partition(". ")[0].rstrip(".") + ".",
                "since": SINCE[name],
                "deprecated": removal
                and f"removed in {removal.removed_in}; use {removal.replacement}",
                "plugins": [plugin.name for plugin in plugins if name in plugin.hooks],
            }
        )
    return records
