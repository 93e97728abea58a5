"""`cb new`: start a plugin."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from cb_testing import scaffold
from cbcore.cli.kit import Settings, echo, pass_settings, shared_options
from cbcore.exceptions import UsageError

if TYPE_CHECKING:
    from cbcore.plugins import Catalog

_QUESTIONS = {
    "description": "What does it do, in one line?",
    "author": "Author",
    "license": "Licence",
    "github_user": "GitHub user or organisation (empty: no links)",
}
_LICENSE = click.Choice(scaffold.LICENSES, case_sensitive=False)


@click.command("new", short_help="Start a plugin: a complete package, ready to be tested.")
@click.argument("kind")
@click.argument("name")
@click.option("--description", metavar="TEXT", help="One line that says what it does.")
@click.option("--author", metavar="NAME", help="Who it is by.")
@click.option(
    "--license",
    type=_LICENSE,
    help="Licence, with its text; MIT unless you choose.",
)
@click.option("--github-user", metavar="NAME", help="User or organisation, for links and badges.")
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    show_default="this folder",
    help="Where to put the new folder.",
)
@click.option("--no-input", is_flag=True, help="Ask nothing: defaults for what is not given.")
@shared_options
@pass_settings
def command(
    settings: Settings, /, kind: str, name: str, output_dir: Path, no_input: bool, **given: Any
) -> None:
    """Write a new plugin: a package with one working component to make your own.

    KIND is evaluator, dataset, system, metric, reporter, executor, tokenizer, option (a flag of
    `cb run`), command, observer, or a kind of a plugin that has a template. NAME is what the
    component will be called, in lower case with hyphens; the package is called cb-NAME. What is
    not given as an option is asked for.
    """
    chosen = {option: value for option, value in given.items() if value is not None}
    name = scaffold.component_name(name)
    catalog = settings.catalog()
    project = scaffold.Project(name=name, **_kind(catalog, kind), **chosen)
    project.check_texts()
    catalog.load_all(describe=True)
    scaffold.check_possible(project, output_dir, catalog)
    if not no_input:
        project = _asked(project, [option for option in given if option not in chosen])
    folder = scaffold.write(project, output_dir)
    echo(
        f"wrote {folder}\n\n"
        f"  cd {shlex.quote(str(output_dir / project.distribution))}\n"
        '  pip install -e ".[dev]"\n'
        "  pytest\n"
        f"  {_to_look_at(project)}"
    )


def _to_look_at(project: scaffold.Project) -> str:
    """The command that shows what was installed."""
    if project.kind in ("option", "observer"):
        return f"cb plugins show {project.distribution}"
    return f"cb info {project.name}"


def _kind(catalog: Catalog, word: str) -> dict[str, Any]:
    """The kind that a word means, and for one that a plugin brings, what that has for a start."""
    known = scaffold.known_kinds()
    kind = word.lower().removesuffix("s")
    if kind in known:
        return {"kind": kind}
    kind = catalog.kind_of(word)
    template = catalog.kind(kind).template
    if template is None:
        raise UsageError(
            f"there is no template for the kind {kind!r}",
            hint=f"kinds: {', '.join(known)}; a hook or an entry point offers any other",
        )
    bringers = (
        p.name for p in catalog.plugins for c in p.components if (c.kind, c.name) == ("kind", kind)
    )
    return {"kind": kind, "template": template, "brought_by": next(bringers)}


def _acceptable(project: scaffold.Project, option: str, answer: str) -> str:
    """The answer, or the error that has the question asked again."""
    try:
        changed: dict[str, Any] = {option: answer}
        attrs.evolve(project, **changed).check_texts()
    except UsageError as error:
        raise click.BadParameter(error.message) from error
    return answer


def _asked(project: scaffold.Project, options: list[str]) -> scaffold.Project:
    """The project with what the user answers, each question with its default."""
    for option in options:
        try:
            answer = click.prompt(
                _QUESTIONS[option],
                default=getattr(project, option),
                type=_LICENSE if option == "license" else str,
                value_proc=None if option == "license" else partial(_acceptable, project, option),
                err=True,
            )
        except click.Abort:
            if sys.stdin.isatty():
                raise
            raise UsageError(
                "the input ended before every question was answered",
                hint="give the answers as options, or --no-input for the defaults",
            ) from None
        project = attrs.evolve(project, **{option: answer})
    return project
