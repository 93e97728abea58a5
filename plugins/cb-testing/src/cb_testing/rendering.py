"""The template of plugins, rendered: what cookiecutter makes of it, without needing cookiecutter.

The template follows cookiecutter's rules, so that it can be used with either: the questions
stand in `cookiecutter.json`, names of files are rendered too, and a file whose name becomes
empty is left out.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

_SKIPPED = "__pycache__"  # by the installer, of the template


def questions_of(template: Path) -> dict[str, Any]:
    """What the template asks, with its defaults; the first of several choices is one."""
    found: dict[str, Any] = json.loads((template / "cookiecutter.json").read_text(encoding="utf-8"))
    return found


def render(
    template: Path, answers: Mapping[str, Any], place: Path, parts: Mapping[str, Path] | None = None
) -> Path:
    """Write the project that the template makes of the answers into `place`; its folder.

    `parts` are folders of templates by the name they are included under, beside those that the
    template has itself. Raises OSError, and `jinja2.TemplateError` for a template that is broken.
    """
    questions = questions_of(template)
    environment = _environment(template, questions, parts or {})
    context = {"cookiecutter": _answered(environment, questions, answers)}
    root = next(path for path in template.iterdir() if path.name.startswith("{{"))
    project = place / environment.from_string(root.name).render(context)
    for source, target in _files(environment, context, root, project):
        target.parent.mkdir(parents=True, exist_ok=True)
        text = environment.from_string(source.read_text(encoding="utf-8")).render(context)
        target.write_text(text, encoding="utf-8", newline="\n")
    return project


def _environment(
    template: Path, questions: Mapping[str, Any], parts: Mapping[str, Path]
) -> Environment:
    import jinja2

    given = {name: jinja2.FileSystemLoader(folder) for name, folder in parts.items()}
    loader = jinja2.ChoiceLoader(
        [jinja2.FileSystemLoader(template / "templates"), jinja2.PrefixLoader(given)]
    )
    environment = jinja2.Environment(  # noqa: S701 - it writes source files, not pages
        loader=loader,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        **questions.get("_jinja2_env_vars", {}),
    )
    environment.filters["slugify"] = _slug
    environment.filters.setdefault("tojson", json.dumps)
    return environment


def _answered(
    environment: Environment, questions: Mapping[str, Any], answers: Mapping[str, Any]
) -> dict[str, Any]:
    """Every question with its answer or default, which may rest on those before it."""
    given = {"__year": str(time.gmtime().tm_year), **answers}
    found: dict[str, Any] = {}
    for name, default in questions.items():
        if name in given:
            found[name] = given[name]
        elif name.startswith("__prompts") or (name.startswith("_") and name[1] != "_"):
            continue  # settings of cookiecutter itself
        else:
            text = default[0] if isinstance(default, list) else default
            found[name] = environment.from_string(text).render(cookiecutter=found)
    return found


def _files(
    environment: Environment, context: Mapping[str, Any], root: Path, project: Path
) -> Iterator[tuple[Path, Path]]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != _SKIPPED)
        for name in sorted(names):
            source = Path(folder, name)
            parts = [
                environment.from_string(part).render(context)
                for part in source.relative_to(root).parts
            ]
            if all(parts):
                yield source, project.joinpath(*parts)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
