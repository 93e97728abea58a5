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
    from cb_manage.explanation import Explanation
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
        echo_json(explanation.to_dict())
    else:
        _echo(explanation)


def _echo(explanation: Explanation) -> None:
    usable = [(c, plugin) for c, plugin in explanation.candidates if plugin.is_usable]
    kinds = [component.kind for component, _ in usable]
    for component, plugin in usable:
        is_shared = kinds.count(component.kind) > 1
        spec = f"{plugin.name}/{component.name}" if is_shared else component.name
        echo(
            f"{component.kind} {clean(component.name)}: offered by {clean(plugin.name)} "
            f"{clean(plugin.version)}; write {clean(spec)}"
        )
    for component, plugin in explanation.candidates:
        if not plugin.is_usable:
            echo(
                f"{component.kind} {clean(component.name)}: {clean(plugin.name)} offers it "
                f"but is {plugin.state}: {clean(plugin.reason)}"
            )
            if plugin.remedy:
                echo(f"  remedy: {clean(plugin.remedy)}")
    for kind, offered, package in explanation.packages:
        echo(f"{kind} {offered}: {package} would offer it: cb install {package}")
    if explanation.plugin:
        echo(
            f"{clean(explanation.plugin)} is a plugin: cb plugins show {clean(explanation.plugin)}"
        )
    if not (explanation.candidates or explanation.packages or explanation.plugin):
        echo(f"nothing installed or known offers {clean(explanation.name)!r}")
        if explanation.suspects:
            echo(f"  a broken plugin might: {clean(', '.join(explanation.suspects))}")
    if not usable and explanation.near:
        listed = ", ".join(f"{name} ({kind}, {plugin})" for kind, name, plugin in explanation.near)
        echo(f"names like it: {clean(listed)}")
