"""The hooks of a joined run, made again from what the shards record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pluggy

from cbcore.assembly.builder import Builder
from cbcore.assembly.remaking import check_untrusted
from cbcore.boundary import contained
from cbcore.exceptions import CBError
from cbcore.plugins import Catalog
from cbcore.plugins.manager import HookManager
from cbcore.results import RunConfig
from cbcore.settings import RunSettings
from cbcore.settings.compose import configure
from cbcore.settings.plugin_options import read_plugin_options


@attrs.define
class MergedRun:
    """The run that shards are parts of, as `cb_summarize` gets it."""

    run_id: str
    config: RunConfig
    hooks: pluggy.PluginManager
    failures: Mapping[str, str]
    system_names: Sequence[str]
    total: int | None = None
    show_progress: bool = False


def configure_again(
    config: RunConfig, sharding: Mapping[str, Any], catalog: Catalog, *, trusted: bool
) -> tuple[HookManager, list[str]]:
    """The hooks of the run that was cut into shards, and what could not be made of them.

    Plugins get the options that the shards record. If these come from somebody else, they give
    values only and run no code.
    """
    before = config.get("settings", {})
    names = [record["name"] for record in config.get("options") or ()]
    given = {name: before[name] for name in names if name in before}
    check = None if trusted else check_untrusted
    with contained() as attempt:
        options = read_plugin_options(given, catalog)
        for option, value in options.items() if check else ():
            check_untrusted(option.flag, option.key, value, str)
        settings = RunSettings(
            evaluators=sharding.get("asked"),
            repeats=before.get("repeats", 1),
            seed=before.get("seed"),
            dry_run=not trusted,
        )
        hooks = catalog.new_hooks()
        configure(settings, options, Builder(catalog, hooks=hooks, check=check))
        return hooks, []
    hint = attempt.error.hint if isinstance(attempt.error, CBError) else None
    reason = f"{attempt.reason} ({hint})" if hint else attempt.reason
    flags = ", ".join(f"--{name.replace('_', '-')}" for name in given) or "plugins"
    return HookManager(), [f"sections of {flags} are left out: {reason}"]
