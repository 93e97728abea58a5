"""`cb plugins`: one plugin in full, why a name resolves as it does, the directory, checks, locks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cbcore.cli import CommandGroup
from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo
from cbcore.cli.lock_plugins import lock, sync

if TYPE_CHECKING:
    from cbcore.plugins._explanation import Explanation
    from cbcore.plugins.catalog import Catalog, Plugin


@click.group(
    "plugins",
    cls=CommandGroup,
    prefix="plugins-",
    short_help="Find, show, explain and lock plugins.",
)
@shared_options
def command() -> None:
    """Find, show, check, explain and lock plugins. `cb list-plugins` lists those installed."""


command.add_command(lock)
command.add_command(sync)


@command.command("show", short_help="Show one plugin in full.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, for machines.")
@shared_options
@pass_settings
def show(settings: Settings, name: str, as_json: bool) -> None:
    """Show one plugin: state, source, requirement on the core, hooks, components."""
    from cbcore.cli._text import clean, echo_json

    catalog = settings.catalog()
    plugin = find_plugin(catalog, name)
    catalog.describe_all([plugin])
    record = _record(catalog, plugin)
    if as_json:
        echo_json(record)
        return
    source = record["source"]
    echo(f"{clean(plugin.name)} {clean(plugin.version)}".rstrip())
    lines = {
        "summary": plugin.summary or "–",
        "state": f"{plugin.state}: {plugin.reason}" if plugin.reason else plugin.state,
        "remedy": plugin.remedy,
        "location": plugin.location,
        "source": record["from"],
        "commit": source["commit"],
        "digest": source["record_digest"],
        "core": plugin.core_specifier or "any",
        "hooks": ", ".join(record["hooks"]),
    }
    for label, text in lines.items():
        if text:
            echo(f"  {label:<9} {clean(text)}")
    for component in record["components"]:
        echo(f"  {component['kind']} {component['name']} = {clean(component['target'])}")
        if component["summary"]:
            echo(f"    {clean(component['summary'])}")


def find_plugin(catalog: Catalog, name: str) -> Plugin:
    """The plugin of that name, the copy in use first."""
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


def _record(catalog: Catalog, plugin: Plugin) -> dict[str, Any]:
    from cbcore.cli.list_plugins import origin_of_plugin

    origin = origin_of_plugin(plugin)
    return {
        "name": plugin.name,
        "version": plugin.version,
        "status": plugin.status,
        "state": plugin.state,
        "reason": plugin.reason,
        "remedy": plugin.remedy,
        "summary": plugin.summary,
        "location": plugin.location,
        "from": str(origin),
        "source": origin.to_dict(),
        "core": plugin.core_specifier,
        "hooks": catalog.hooks_of(plugin),
        "components": [
            {"kind": c.kind, "name": c.name, "target": str(c.target), "summary": c.summary}
            for c in plugin.components
        ],
    }


@command.command("search", short_help="Find plugins to install by what they do.")
@click.argument("words", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@shared_options
@pass_settings
def search(settings: Settings, words: tuple[str, ...], as_json: bool) -> None:
    """Find plugins, installed or not, by WORDS: what they do, what they are called, what they offer.

    Without words, all of the directory is listed. It comes with cb; nothing is downloaded.
    """
    from cbcore.cli._text import clean, echo_columns, echo_json
    from cbcore.names import canonical
    from cbcore.plugins import _directory

    installed = {canonical(plugin.name) for plugin in settings.catalog().plugins}
    found = _directory.search(" ".join(words))
    if as_json:
        echo_json(
            [
                {
                    "name": one.name,
                    "what": one.what,
                    "link": one.link,
                    "installed": canonical(one.name) in installed,
                    "offers": [{"kind": kind, "name": name} for kind, name in one.offers],
                }
                for one in found
            ]
        )
    elif not found:
        echo(f"no plugin in the directory is about {clean(' '.join(words))!r}", err=True)
    else:
        states = ("installed" if canonical(one.name) in installed else "–" for one in found)
        rows = [(one.name, state, one.what) for one, state in zip(found, states, strict=True)]
        echo_columns(("PLUGIN", "STATE", "WHAT IT IS FOR"), rows)


@command.command("why", short_help="Explain a name: who offers it, who would.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, for machines.")
@shared_options
@pass_settings
def why(settings: Settings, name: str, as_json: bool) -> None:
    """Explain why a component's name is found, ambiguous or unknown.

    Shows who offers it, in what state, what to write, names like it, and which package that
    is not installed would supply it. NAME is a component's name, or plugin/name.
    """
    from cbcore.cli._text import echo_json
    from cbcore.plugins._explanation import explain

    catalog = settings.catalog()
    catalog.describe_all()
    explanation = explain(catalog, name)
    if as_json:
        echo_json(explanation.to_dict())
    else:
        _echo(explanation)


def _echo(told: Explanation) -> None:
    from cbcore.cli._text import clean

    usable = [c for c in told.candidates if c.usable]
    kinds = [c.kind for c in usable]
    for candidate in usable:
        shared = kinds.count(candidate.kind) > 1
        spec = f"{candidate.plugin}/{candidate.name}" if shared else candidate.name
        echo(
            f"{candidate.kind} {clean(candidate.name)}: offered by {clean(candidate.plugin)} "
            f"{clean(candidate.version)}; write {clean(spec)}"
        )
    for candidate in told.candidates:
        if not candidate.usable:
            echo(
                f"{candidate.kind} {clean(candidate.name)}: {clean(candidate.plugin)} offers it "
                f"but is {candidate.state}: {clean(candidate.reason)}"
            )
            if candidate.remedy:
                echo(f"  remedy: {clean(candidate.remedy)}")
    for kind, offered, package in told.packages:
        echo(f"{kind} {offered}: {package} would offer it: cb install {package}")
    if told.plugin:
        echo(f"{clean(told.plugin)} is a plugin: cb plugins show {clean(told.plugin)}")
    if not (told.candidates or told.packages or told.plugin):
        echo(f"nothing installed or known offers {clean(told.name)!r}")
        if told.suspects:
            echo(f"  a broken plugin might: {clean(', '.join(told.suspects))}")
    if not usable and told.near:
        listed = ", ".join(f"{name} ({kind}, {plugin})" for kind, name, plugin in told.near)
        echo(f"names like it: {clean(listed)}")
