"""`cb hooks`: what a plugin can implement, and who does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo

if TYPE_CHECKING:
    from cbcore.plugins import Catalog


@click.command("hooks", short_help="Show every hook, when it is called, and who implements it.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@shared_options
@pass_settings
def command(settings: Settings, as_json: bool) -> None:
    """Show every hook: signature, when it is called, and which plugins implement it.

    Hook modules are imported. To see hooks being called, set CB_TRACE=1 for any command.
    """
    from cbcore.cli._text import clean, echo_json

    records = _records(settings.catalog())
    if as_json:
        echo_json(records)
        return
    for position, record in enumerate(records):
        if position:
            echo()
        echo(f"{record['hook']}{record['signature']}")
        echo(f"  {record['summary']} {record['called']}")
        echo(f"  implemented by: {clean(', '.join(record['plugins']) or 'nobody')}")


def _records(catalog: Catalog) -> list[dict[str, Any]]:
    import inspect

    from cbcore import hookspecs

    implemented = {plugin.name: catalog.hooks_of(plugin) for plugin in catalog.plugins}
    records = []
    for name, spec in vars(hookspecs).items():
        if not name.startswith("cb_"):
            continue
        summary, _, rest = (inspect.getdoc(spec) or "").partition("\n\n")
        records.append(
            {
                "hook": name,
                "signature": str(inspect.signature(spec)).replace("'", ""),
                "summary": " ".join(summary.split()),
                "called": " ".join(rest.split()),
                "plugins": [plugin for plugin, hooks in implemented.items() if name in hooks],
            }
        )
    return records
