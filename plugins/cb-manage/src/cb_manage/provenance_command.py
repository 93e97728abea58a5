"""`cb provenance`: the components behind a result, and what differs from now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from cbcore.cli.kit import (
    Settings,
    cache_option,
    clean,
    echo,
    echo_json,
    pass_settings,
    shared_options,
)

if TYPE_CHECKING:
    from cbcore.results import RunConfig


@click.command("provenance", short_help="Show what made a result, and what differs from now.")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, for machines.")
@cache_option
@shared_options
@pass_settings
def command(settings: Settings, /, run: str, as_json: bool, cache_dir: str) -> None:
    """Show every component behind a result: plugin, version, digests, commit, parameters.

    Then what differs from the plugins installed now. RUN is an id, the beginning of only one,
    `latest`, `latest~1`, or the path of a saved result.
    """
    from cb_manage.changes import find_changes, list_components

    config = _read_config(run, cache_dir)
    components = list_components(config)
    changes = find_changes(config, settings.catalog().plugins)
    if as_json:
        echo_json(
            {
                "run_id": config.get("run_id"),
                "started": config.get("started"),
                "cbcore": config.get("cbcore"),
                "components": components,
                "changes": [attrs.asdict(change) for change in changes],
            }
        )
        return
    echo(f"run {config.get('run_id')} of {config.get('started')}, cbcore {config['cbcore']}")
    for component in components:
        owner = f"{component['plugin']} {component['version'] or ''}".strip()
        echo(f"\n{component['kind']} {clean(component['name'])} ({clean(owner)})")
        for label in ("component", "record_digest", "source_commit", "digest"):
            if component.get(label):
                echo(f"  {label:<14} {clean(component[label])}")
        for key, value in component["params"].items():
            echo(f"  {clean(key)} = {clean(value)}")
    echo()
    for change in changes:
        echo(f"differs: {clean(change)}")
    if not changes:
        echo("the installed plugins are those that made it")


def _read_config(run: str, cache_dir: str) -> RunConfig:
    """The configuration in a result file or in the record of a saved run."""
    from cbcore.exceptions import ResultError
    from cbcore.results import EvalResult
    from cbcore.store.saved_runs import find_run

    found = find_run(run, cache_dir)
    config = EvalResult.load(found).config if isinstance(found, Path) else found.config
    if not isinstance(config.get("cbcore"), str):
        raise ResultError(f"{run} does not name what made it.", hint="Was it written by `cb run`?")
    return config
