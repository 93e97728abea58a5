"""Write what is made from the code in the reference.

That is hooks, commands, errors, protocols, the keys of run files and of a result's config, and the
tables of the store.

`python -m tools.docs.generate` writes them; with `--check` it writes nothing, and exits with 1 when
a page differs from what it would write. The pages depend on the code of this repository alone,
the plugins in it included, not on what else is installed.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import click

from cb_manage.directory import read_directory
from cbcore import components, exceptions, hookspecs, protocols
from cbcore.cli import cli
from cbcore.cli.click_options import Settings
from cbcore.components import KINDS, Kind
from cbcore.names import canonical
from cbcore.plugins import Catalog, read_distributions
from cbcore.plugins.policy import PluginPolicy
from cbcore.results import RunConfig
from cbcore.settings.options import Option, options_of
from cbcore.settings.plugin_options import PluginOption, plugin_options
from cbcore.settings.run_file import run_file_options
from cbcore.settings.run_settings import RunSettings
from cbcore.store.database import SCHEMA

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"
HELP_WIDTH = 88
NOTICE = "<!-- Made from the code by tools/docs/generate.py; edit the docstrings, then run `make docs`. -->"
KEYS_BEGIN = "<!-- Keys, made from cbcore/settings by tools/docs/generate.py; run `make docs`. -->"
KEYS_END = "<!-- End of the keys. -->"
TYPES = {
    int: "integer",
    float: "number",
    Real: "number of rows, or a share such as 0.05",
    bool: "true or false",
    str: "string",
    Path: "path",
    dict: "fields with their columns",
    object: "[spec](#a-spec-in-a-list)",
}
TABLES_BEGIN = (
    "<!-- Made from cbcore/store/database.py by tools/docs/generate.py; run `make docs`. -->"
)
CONFIG_BEGIN = "<!-- Keys, made from cbcore/results by tools/docs/generate.py; run `make docs`. -->"


def repository_catalog() -> Catalog:
    """The plugins of this repository, whatever else is installed."""
    own = {canonical(folder.name) for folder in (ROOT / "plugins").iterdir()}
    found = [d for d in read_distributions() if canonical(d.name) in own]
    return Catalog(found, PluginPolicy())


class GivenPlugins(Settings):
    """Settings of commands under which these plugins, and no others, are installed."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__()
        self._given = catalog

    def catalog(self) -> Catalog:
        """The plugins that were given."""
        return self._given


def hooks_page() -> str:
    """Every hook with its signature and its docstring."""
    parts = _opening("Hooks", hookspecs)
    specs = {name: f for name, f in vars(hookspecs).items() if name.startswith("cb_")}
    titles = dict.fromkeys(hookspecs.OFFERING, "Offering")
    titles |= dict.fromkeys(hookspecs.CONTAINED, "Observing")
    for title in ("Offering", "Configuring", "Observing"):
        parts += [f"## {title}", ""]
        for name, spec in specs.items():
            if titles.get(name, "Configuring") == title:
                signature = inspect.signature(spec)
                parts += [f"### `{name}({', '.join(signature.parameters)})`", ""]
                parts += _code(f"def {name}{_readable(signature)}: ...")
                parts += [inspect.getdoc(spec) or "", ""]
    parts += ["## Kinds", "", *_kinds_table(repository_catalog())]
    parts += ["## What observers get", "", "### `Run`", "", inspect.getdoc(protocols.Run) or "", ""]
    parts += _code("\n".join(_members(protocols.Run)))
    parts += ["## What options declare", "", *_record(Option)]
    parts += ["## What offering hooks return", "", *_record(components.Component)]
    parts += _record(components.Owner)
    parts += [
        f"Tasks: {_listed(components.TASKS)}. A plugin may use others.",
        "",
    ]
    return _page(parts)


def _kinds_table(catalog: Catalog) -> list[str]:
    """Every kind, with its entry-point group, its hook and its plugin."""
    rows = ["| kind | entry points | hook | plugin | offers |", "|---|---|---|---|---|"]
    hooks = {kind: f"`{hook}`" for hook, kind in hookspecs.OFFERING.items()}
    for name in catalog.kinds:
        kind: Kind = catalog.kind(name)
        owner = "" if name in KINDS else catalog.find("kind", name).plugin
        row = (f"`{name}`", f"`{kind.group}`", hooks.get(name, ""), owner, kind.offer)
        rows.append(f"| {' | '.join(row)} |")
    return [
        "Entry points in the group of a kind offer components; five kinds also have a hook. Plugins",
        "add kinds in the group `cb.kinds`; the plugins of this repository add those with a plugin.",
        "",
        *rows,
        "",
    ]


def cli_page() -> str:
    """The help of every command."""
    alone, catalog = GivenPlugins(Catalog([], PluginPolicy())), repository_catalog()
    parts = ["# Commands", "", NOTICE, ""]
    parts += ["What `--help` says, command by command. What plugins bring is named with them.", ""]
    core = click.Context(cli, info_name="cb", obj=alone, terminal_width=HELP_WIDTH)
    parts += ["## `cb`", "", *_code(cli.get_help(core))]
    top = click.Context(cli, info_name="cb", obj=GivenPlugins(catalog), terminal_width=HELP_WIDTH)
    parts += _subcommands(cli, top, cli.list_commands(core))
    for owner, names in _brought_commands(catalog).items():
        parts += [f"## Commands of {owner}", "", *_subcommands(cli, top, names, level=3)]
    return _page(parts)


def _brought_commands(catalog: Catalog) -> dict[str, list[str]]:
    """The commands of plugins, by the plugins that bring them."""
    found: dict[str, list[str]] = {}
    for component in catalog.components("command"):
        found.setdefault(component.plugin, []).append(component.name)
    return found


def _subcommands(
    group: click.Group, parent: click.Context, names: Sequence[str], *, level: int = 2
) -> list[str]:
    parts: list[str] = []
    for name in names:
        command = group.get_command(parent, name)
        if command is None:
            continue
        shown = name.replace("plugins-", "plugins ", 1)  # as `cb plugins --help` lists it
        context = click.Context(command, info_name=shown, parent=parent, terminal_width=HELP_WIDTH)
        title = f"{'#' * level} `{context.command_path}`"
        parts += [title, "", *_code(command.get_help(context))]
        if isinstance(command, click.Group):
            inner = command.list_commands(context)
            parts += _subcommands(command, context, inner, level=level + 1)
    return parts


def errors_page() -> str:
    """The tree of exceptions with their exit codes."""
    parts = [
        "# Errors and exit codes",
        "",
        NOTICE,
        "",
        "Every error raised on purpose is a `CBError`. It has a `message`, which says what was",
        "tried with which value, and may have a `hint`, which says what to do next. On the",
        "command line both go to standard error, without a traceback. Any other exception is a",
        "defect of `cb`; `CB_DEBUG=1` shows its traceback.",
        "",
        "## Exit codes",
        "",
        "| code | meaning | classes |",
        "|---|---|---|",
        "| 0 | Done. | |",
        "| 1 | Something nobody foresaw. | `CBError` itself, and what is not a `CBError` |",
    ]
    classes = list(_tree(exceptions.CBError))
    by_code: dict[int, list[Any]] = {}
    for cls, _ in classes[1:]:
        by_code.setdefault(cls.exit_code, []).append(cls)
    for code, group in sorted(by_code.items()):
        meaning = _first_line(group[0])
        parts.append(f"| {code} | {meaning} | {', '.join(f'`{c.__name__}`' for c in group)} |")
    parts += [
        "",
        "A run that an error ends early exits with the code of that error. Wrong options, which",
        "the command line itself refuses, exit with 2.",
        "",
    ]
    tree = "".join(f"{'    ' * depth}{cls.__name__}\n" for cls, depth in classes)
    parts += ["## The tree", "", *_code(tree.rstrip("\n"))]
    parts += ["## The classes", ""]
    for cls, _ in classes:
        parts += [
            f"### `{cls.__name__}`",
            "",
            f"`{cls.__module__}.{cls.__name__}({cls.__base__.__name__})`, exit code {cls.exit_code}.",
            "",
            inspect.getdoc(cls) or "",
            "",
            *_code(f"{cls.__name__}{_readable(inspect.signature(cls))}"),
        ]
    return _page(parts)


def protocols_page() -> str:
    """Every role with its methods."""
    parts = _opening("Protocols", protocols)
    parts += ["## Plain data", ""]
    aliases = re.findall(
        r'^(\w+): TypeAlias = (.+)\n"""([^"]+)"""', inspect.getsource(protocols), re.MULTILINE
    )
    for name, meaning, text in aliases:
        parts += [f"**`{name}`** is `{meaning}`. {_joined(text)}", ""]
    roles = [
        cls
        for cls in vars(protocols).values()
        if inspect.isclass(cls) and cls.__module__ == protocols.__name__
    ]
    for role in roles:
        parts += [f"## `{role.__name__}`", "", inspect.getdoc(role) or "", ""]
        members = "\n".join(_members(role))
        parts += _code(members) if members else []
    return _page(parts)


def describe_type(option: Option) -> str:
    """The values that an option takes."""
    if option.choices:
        return " or ".join(f"`{choice}`" for choice in option.choices)
    if option.type is object and option.parse and not getattr(option, "kind", ""):
        return " or ".join(f"`{word}`" for word in (option.metavar or "").split("|"))
    bounds = {"at least": option.at_least, "more than": option.above, "at most": option.at_most}
    limits = "".join(f", {word} {n}" for word, n in bounds.items() if n is not None)
    return f"{TYPES[option.type]}{limits}{', or a list' if option.many else ''}"


def run_files_page() -> str:
    """The page on run files as it is, with the table of keys made anew."""
    table = ["| key | type | flag | meaning |", "|---|---|---|---|"]
    for key, option in run_file_options().items():
        flags = ", ".join(f"`{flag}`" for flag in option.flags)
        meaning = option.help.replace(" Repeatable.", "").replace("|", "\\|")
        table.append(f"| `{key}` | {describe_type(option)} | {flags} | {meaning} |")
    table += [_plugin_key(option) for option in plugin_options(repository_catalog().plugins)]
    return _with_keys("run-files.md", KEYS_BEGIN, table)


def results_page() -> str:
    """The page on results as it is, with the table of the config's keys made anew."""
    table = ["| key | meaning |", "|---|---|"]
    for key, hint in get_type_hints(RunConfig, include_extras=True).items():
        table.append(f"| `{key}` | {hint.__metadata__[0]} |")
    for name, option in options_of(RunSettings).items():
        if option.recorded:
            meaning = option.help.replace("|", "\\|")
            table.append(f"| `settings.{name}` | `{option.flags[-1]}`: {meaning} |")
    return _with_keys("results.md", CONFIG_BEGIN, table)


def store_page() -> str:
    """The page on the store as it is, with the statements that create its tables made anew."""
    return _with_keys("store.md", TABLES_BEGIN, ["```text", SCHEMA.strip(), "```"])


def _with_keys(name: str, begin: str, table: list[str]) -> str:
    """A page written by hand, with the one part of it that is not."""
    page = (FOLDER / name).read_text(encoding="utf-8")
    before, after = page[: page.index(begin)], page[page.index(KEYS_END) :]
    return "\n".join([before + begin, "", *table, "", after])


def _plugin_key(option: PluginOption) -> str:
    """The line of a key that a plugin declares."""
    component = option.component.describe()
    taken = describe_type(option.load())
    meaning = component.summary.replace(" Repeatable.", "").replace("|", "\\|")
    return f"| `{option.key}` | {taken} | `{option.flag}` | {meaning} Of {component.plugin}. |"


_DIRECTORY = (
    "What there is to install, from the list that comes with `cb`. `cb plugins search WORD` "
    "searches the same list, and `cb install NAME` installs one."
)
_BE_LISTED = (
    "The list is `plugins/cb-manage/src/cb_manage/directory.json` in the repository: one object per plugin, with "
    "the `name` of its package, `what` it is for in one line, and a `link` to read more. Add yours "
    "in a pull request, in the place its name has in the alphabet. It is taken when it can be "
    "installed, when `cb plugins check NAME` passes in a fresh environment, and when its licence "
    "lets people use it. [Publish a plugin](../how-to/publish-a-plugin.md) has the way there."
)


def plugins_page() -> str:
    """Every plugin of the directory: what it is for and what it offers."""
    parts = [
        *("# Plugins", "", NOTICE.replace("edit the docstrings", "edit directory.json"), ""),
        _DIRECTORY,
        *("", "| plugin | what it is for | offers |", "|---|---|---|"),
    ]
    for one in read_directory():
        name = f"[{one.name}]({one.link})" if one.link.startswith("https://") else one.name
        kinds: dict[str, list[str]] = {}
        for kind, offered in one.offers:
            kinds.setdefault(kind, []).append(f"`{offered}`")
        offers = "; ".join(f"{kind} {_some(names)}" for kind, names in kinds.items())
        parts.append(f"| {name} | {one.what} | {offers or '–'} |")
    parts += [
        *("", "## Be listed", ""),
        _BE_LISTED,
        "",
    ]
    return _page(parts)


def _some(names: Sequence[str]) -> str:
    most = 8
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


TOOLBOX = (
    *("chains", "contexts", "texts", "requests", "columns", "scoring", "tokens", "secrets"),
    *("files", "hf", "json_data", "timing", "names", "boundary"),
)


def toolbox_page() -> str:
    """The functions and classes that plugins share, by module."""
    parts = ["# Toolbox", "", NOTICE, "", TOOLBOX_TEXT, ""]
    for module in (importlib.import_module(f"cbcore.{name}") for name in TOOLBOX):
        parts += [f"## `{module.__name__}`", "", inspect.getdoc(module) or "", ""]
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                parts += [f"### `{name}`", "", inspect.getdoc(value) or "", ""]
                parts += _code(f"{name}{_readable(inspect.signature(value))}")
    return _page(parts)


TOOLBOX_TEXT = """The functions and classes of the core that plugins share. Import them instead of
writing a copy, so that two plugins agree on what a context, a token or a sentence is."""


PAGES: dict[str, Callable[[], str]] = {
    "plugins.md": plugins_page,
    "hooks.md": hooks_page,
    "cli.md": cli_page,
    "errors.md": errors_page,
    "protocols.md": protocols_page,
    "toolbox.md": toolbox_page,
    "run-files.md": run_files_page,
    "results.md": results_page,
    "store.md": store_page,
}


def _opening(title: str, module: ModuleType) -> list[str]:
    return [f"# {title}", "", NOTICE, "", inspect.getdoc(module) or "", ""]


def _code(text: str, language: str = "text") -> list[str]:
    return [f"```{language}", text, "```", ""]


def _readable(signature: inspect.Signature) -> str:
    return str(signature).replace("'", "")


def _first_line(obj: Any) -> str:
    return (inspect.getdoc(obj) or "").partition("\n")[0]


def _joined(text: str) -> str:
    return " ".join(text.split())


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _record(cls: type) -> list[str]:
    """A frozen record with its fields."""
    parts = [f"### `{cls.__name__}`", "", inspect.getdoc(cls) or "", ""]
    fields: Any = cls.__attrs_attrs__  # type: ignore[attr-defined]
    return [*parts, *_code("\n".join(f"{f.name}: {_type(f.type)}" for f in fields))]


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _members(role: type) -> Iterator[str]:
    """The attributes and methods of a protocol, each with its docstring as a comment."""
    for name, annotation in inspect.get_annotations(role).items():
        yield f"{name}: {_type(annotation)}"
    for name, member in vars(role).items():
        if isinstance(member, property):
            function: Any = member.fget
            line = f"{name}: {inspect.signature(function).return_annotation}"
        elif inspect.isfunction(member) and not name.startswith("_"):
            function = member
            awaited = "async " if inspect.iscoroutinefunction(member) else ""
            line = f"{awaited}def {name}{_readable(inspect.signature(member))}: ..."
        else:
            continue
        text = inspect.getdoc(function)
        if text:
            yield from textwrap.wrap(text, HELP_WIDTH, initial_indent="# ", subsequent_indent="# ")
        yield line


def _tree(cls: type[exceptions.CBError], depth: int = 0) -> Iterator[tuple[Any, int]]:
    """The class and those derived from it inside the core, in the order they are defined."""
    yield cls, depth
    for derived in cls.__subclasses__():
        if derived.__module__ == exceptions.__name__:
            yield from _tree(derived, depth + 1)


def _page(parts: list[str]) -> str:
    return "\n".join(parts).rstrip("\n") + "\n"


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description="Write the reference pages made from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    arguments = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    stale = 0
    for name, make in PAGES.items():
        path = FOLDER / name
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        wanted = make()
        if found == wanted:
            continue
        stale += 1
        if arguments.check:
            difference = difflib.unified_diff(
                found.splitlines(),
                wanted.splitlines(),
                str(path),
                "made from the code",
                lineterm="",
            )
            print("\n".join(difference), file=sys.stderr)
        else:
            path.write_text(wanted, encoding="utf-8")
            print(f"written: {path}")
    if arguments.check and stale:
        print(f"{stale} pages are stale: run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
