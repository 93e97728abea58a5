"""`cb plugins show`, `search` and `why`: one plugin, the directory, and the meaning of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cbcore.cli.kit import (
    Settings,
    clean,
    echo,
    echo_columns,
    echo_json,
    pass_settings,
    shared_options,
)

if TYPE_CHECKING:
    from cbcore.plugins import Catalog, Plugin


@click.command("show", short_help="Show one plugin in full.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, for machines.")
@shared_options
@pass_settings
def show(settings: Settings, name: str, as_json: bool) -> None:
    """Show one plugin: state, source, requirement on the core, hooks, components.

    The plugin is imported.
    """
    catalog = settings.catalog()
    plugin = _find_plugin(catalog, name)
    catalog.load_all([plugin], describe=True)
    record = _describe_plugin(catalog, plugin)
    if as_json:
        echo_json(record)
        return
    source = record["source"]
    echo(f"{clean(plugin.name)} {clean(plugin.version)}".rstrip())
    lines = {
        "summary": plugin.distribution.summary or "–",
        "state": f"{plugin.state}: {plugin.reason}" if plugin.reason else plugin.state,
        "remedy": plugin.remedy,
        "location": plugin.distribution.location,
        "source": record["from"],
        "commit": source["commit"],
        "digest": source["record_digest"],
        "core": plugin.distribution.core_specifier or "any",
        "hooks": ", ".join(record["hooks"]),
    }
    for label, text in lines.items():
        if text:
            echo(f"  {label:<9} {clean(text)}")
    for component in record["components"]:
        echo(f"  {component['kind']} {component['name']} = {clean(component['target'])}")
        if component["summary"]:
            echo(f"    {clean(component['summary'])}")


def _find_plugin(catalog: Catalog, name: str) -> Plugin:
    """The installed plugin of a name; of two copies, the one in use."""
    from cbcore.exceptions import UsageError
    from cbcore.names import canonical, hint

    for plugin in catalog.plugins:
        if canonical(plugin.name) == canonical(name):
            return plugin
    known = [plugin.name for plugin in catalog.plugins]
    meant = hint(name, known, "`cb list-plugins` shows them")
    raise UsageError(
        f"no plugin called {name!r} is installed",
        hint=f"{meant} For the name of a component: cb plugins why {name}",
    )


def _describe_plugin(catalog: Catalog, plugin: Plugin) -> dict[str, Any]:
    origin = plugin.distribution.origin
    return {
        "name": plugin.name,
        "version": plugin.version,
        "status": plugin.status,
        "state": plugin.state,
        "reason": plugin.reason,
        "remedy": plugin.remedy,
        "summary": plugin.distribution.summary,
        "location": plugin.distribution.location,
        "from": str(origin),
        "source": origin.to_dict(),
        "core": plugin.distribution.core_specifier,
        "hooks": catalog.hooks_of(plugin),
        "components": [
            {"kind": c.kind, "name": c.name, "target": str(c.target), "summary": c.summary}
            for c in plugin.components
        ],
    }


@click.command("search", short_help="Find plugins to install by what they do.")
@click.argument("words", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@shared_options
@pass_settings
def search(settings: Settings, words: tuple[str, ...], as_json: bool) -> None:
    """Find plugins, installed or not, by WORDS: purpose, name, or what they offer.

    Without words, the whole directory is listed. It comes with cb; nothing is downloaded.
    """
    from cb_manage.directory import search_directory
    from cbcore.names import canonical

    installed = {canonical(plugin.name) for plugin in settings.catalog().plugins}
    entries = search_directory(" ".join(words))
    if as_json:
        echo_json(
            [
                {
                    "name": entry.name,
                    "what": entry.what,
                    "link": entry.link,
                    "installed": canonical(entry.name) in installed,
                    "offers": [{"kind": kind, "name": name} for kind, name in entry.offers],
                }
                for entry in entries
            ]
        )
    elif not entries:
        echo(f"no plugin in the directory is about {clean(' '.join(words))!r}", err=True)
    else:
        rows = [
            (entry.name, "installed" if canonical(entry.name) in installed else "–", entry.what)
            for entry in entries
        ]
        echo_columns(("PLUGIN", "STATE", "WHAT IT IS FOR"), rows)


@click.command("why", short_help="Explain a name: who offers it, who would.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, for machines.")
@shared_options
@pass_settings
def why(settings: Settings, name: str, as_json: bool) -> None:
    """Explain why the name of a component is found, ambiguous or unknown.

    Shows the plugins that offer it with their state, what to write, similar names, and packages
    that offer it and are not installed. NAME is the name of a component, or plugin/name. All
    plugins are imported.
    """
    from cb_manage.explanation import explain

    catalog = settings.catalog()
    catalog.load_all(describe=True)
    explanation = explain(catalog, name)
    if as_json:
        echo_json(explanation)
    else:
        _echo(explanation)


def _echo(explanation: dict[str, Any]) -> None:
    usable = [one for one in explanation["candidates"] if not one["reason"]]
    kinds = [one["kind"] for one in usable]
    for one in usable:
        is_shared = kinds.count(one["kind"]) > 1
        spec = f"{one['plugin']}/{one['name']}" if is_shared else one["name"]
        offered = f"{one['kind']} {one['name']}: offered by {one['plugin']} {one['version']}"
        echo(clean(f"{offered}; write {spec}"))
    for one in explanation["candidates"]:
        if one["reason"]:
            offered = f"{one['kind']} {one['name']}: {one['plugin']} offers it"
            echo(clean(f"{offered} but is {one['state']}: {one['reason']}"))
            if one["remedy"]:
                echo(f"  remedy: {clean(one['remedy'])}")
    for one in explanation["packages"]:
        package = one["plugin"]
        echo(f"{one['kind']} {one['name']}: {package} would offer it: cb install {package}")
    if plugin := explanation["plugin"]:
        echo(clean(f"{plugin} is a plugin: cb plugins show {plugin}"))
    if not (explanation["candidates"] or explanation["packages"] or plugin):
        echo(f"nothing installed or known offers {clean(explanation['name'])!r}")
        if explanation["suspects"]:
            echo(f"  a broken plugin might: {clean(', '.join(explanation['suspects']))}")
    if not usable and explanation["near"]:
        near = (f"{one['name']} ({one['kind']}, {one['plugin']})" for one in explanation["near"])
        echo(f"names like it: {clean(', '.join(near))}")
