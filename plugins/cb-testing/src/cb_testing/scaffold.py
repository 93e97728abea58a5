"""Starting a plugin: names that will work, and the template that writes the project.

The template follows cookiecutter's rules. It is `cookiecutter-plugin/` of the repository, and part
of this package, so that it needs no network and always fits this version.
"""

from __future__ import annotations

import contextlib
import functools
import keyword
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import attrs

import cbcore
from cbcore.exceptions import UsageError
from cbcore.names import canonical, plural
from cbcore.plugins import Catalog

TEMPLATE = Path(__file__).with_name("_template")
"""A link to `cookiecutter-plugin/` in the repository, a folder in the wheel."""

LICENSES = ("MIT", "Apache-2.0", "BSD-3-Clause", "none")

PREFIX = "cb-"
MAX_LENGTH = 32
"""Longer names would break the lines of the generated code."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_GITHUB_USER = re.compile(r"[A-Za-z0-9-]*")
_NUMBERS = re.compile(r"(?P<major>\d+)\.(?P<minor>\d+)(?P<final>(?:\.\d+)*\Z)?")


@attrs.frozen(kw_only=True)
class Project:
    """A plugin to be written. `name` is that of its component, without the prefix.

    What is left out gets the default that the template has too. A kind that a plugin brings has
    the `template` of its own that this plugin carries; the distribution that brings it is then
    required too.
    """

    kind: str
    name: str
    description: str = attrs.Factory(lambda self: _described(self.kind), takes_self=True)
    author: str = attrs.Factory(lambda self: f"The {self.distribution} authors", takes_self=True)
    license: str = LICENSES[0]
    github_user: str = ""
    template: Path | None = None
    brought_by: str = ""

    @property
    def distribution(self) -> str:
        return f"{PREFIX}{self.name}"

    def check_texts(self) -> None:
        """Refuse what would end up as a broken project file."""
        for what in ("author", "description"):
            text: str = getattr(self, what)
            # The template engine would take the braces for its own.
            if not text.strip() or not text.isprintable() or re.search(r"\{[{%#]", text):
                raise UsageError(
                    f"the {what} {text!r} cannot be used",
                    hint="write one line of text, without line breaks and double braces",
                )
        if not _GITHUB_USER.fullmatch(self.github_user):
            raise UsageError(f"{self.github_user!r} is not the name of a GitHub user")


def _described(kind: str) -> str:
    return f"{'An' if kind[0] in 'aeiou' else 'A'} {kind} for cb"


def component_name(name: str) -> str:
    """The component's name for what the user typed, prefix or not; `UsageError` for a bad one."""
    stem = name[len(PREFIX) :] if name.startswith((PREFIX, "cb_")) else name
    if not _NAME.fullmatch(stem):
        raise UsageError(
            f"{name!r} is not a name for a plugin",
            hint="use lower-case letters, digits and single hyphens, starting with a letter: "
            "my-toxicity",
        )
    if keyword.iskeyword(stem.replace("-", "_")):
        raise UsageError(f"{name!r} is a word of the Python language", hint="choose another name")
    if stem == "py":
        raise UsageError(f"{name!r} is reserved: `py:` in a spec means the user's own code")
    if len(stem) > MAX_LENGTH:
        raise UsageError(
            f"{name!r} has {len(stem)} characters", hint=f"use at most {MAX_LENGTH} of them"
        )
    return canonical(stem)


def check_possible(project: Project, output_dir: Path, catalog: Catalog) -> None:
    """Refuse, before anything is asked or written, what could not be written or used in the end.

    That is the name of a component of this kind or of a package, if it is installed or in an
    installed directory of plugins, and a folder that exists.
    """
    owners = [
        plugin.name
        for plugin in catalog.plugins
        for component in plugin.components
        if component.kind == project.kind and canonical(component.name) == project.name
    ]
    owners += catalog.packages_offering(project.kind, project.name)
    if owners:
        raise UsageError(
            f"the {project.kind} name {project.name!r} is taken: {owners[0]} offers it",
            hint="choose another name",
        )
    with contextlib.suppress(metadata.PackageNotFoundError):
        version = metadata.version(project.distribution)
        raise UsageError(
            f"{project.distribution} {version} is installed already",
            hint="choose another name, or uninstall it first",
        )
    if catalog.packages_offering("plugin", project.distribution):
        raise UsageError(
            f"there is a plugin called {project.distribution}", hint="choose another name"
        )
    _new_folder(project, output_dir)


def write(project: Project, output_dir: Path) -> Path:
    """Write the project into a new folder of `output_dir`, which is returned.

    All of it or nothing: it is written elsewhere and then moved to its place.
    """
    import tempfile

    from jinja2 import TemplateError

    from cb_testing.rendering import render

    project.check_texts()
    folder = _new_folder(project, output_dir)
    answers = {**attrs.asdict(project, filter=_is_asked), "__cbcore": core_range()}
    answers["__plural"] = plural(project.kind)
    if project.brought_by:
        answers["__also"] = project.brought_by
    parts = {project.kind: project.template} if project.template is not None else {}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".cb-new-", dir=folder.parent) as scratch:
            render(TEMPLATE, answers, Path(scratch), parts).rename(folder)
    except (OSError, TemplateError) as error:
        raise UsageError(f"{folder} cannot be written: {error}") from error
    return folder


def _is_asked(field: attrs.Attribute[Any], _: Any) -> bool:
    return field.name not in ("template", "brought_by")


def _new_folder(project: Project, output_dir: Path) -> Path:
    folder = output_dir.absolute() / project.distribution
    if folder.exists() or folder.is_symlink():
        raise UsageError(
            f"{folder} exists already and is left as it is",
            hint="choose another name, or another place with --output-dir",
        )
    return folder


@functools.cache
def known_kinds() -> tuple[str, ...]:
    """What the template knows to write: the choices that it gives itself."""
    from cb_testing.rendering import questions_of

    return tuple(questions_of(TEMPLATE)["kind"])


def core_range(version: str = cbcore.__version__) -> str:
    """The cores that a plugin started with this version supports, as a version specifier.

    Up to the next version that may break it: the next minor one before 1.0, then the next major.
    """
    public = version.partition("+")[0]
    match = _NUMBERS.match(public)
    if match is None:
        raise ValueError(f"{version!r} is not a version of cbcore")
    major, minor = int(match["major"]), int(match["minor"])
    # A pre-release comes before the version it leads to, so only its own number includes it.
    lowest = f"{major}.{minor}" if match["final"] is not None else public
    return f">={lowest},<0.{minor + 1}" if major == 0 else f">={lowest},<{major + 1}"
