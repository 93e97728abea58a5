"""What a suite file defines: a few of its top-level keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from cb_suites.engine.documents import read_document
from cbcore.exceptions import ConfigError


@attrs.frozen
class Glance:
    """The names in a suite file. `task` is set for a task, `group` for a group, never both.

    `tags` is None where the file has no `tag` of its own, and so takes that of its includes;
    so is `dataset`. `problem` says why a file could not be read at all.
    """

    task: str | None = None
    group: str | None = None
    tags: tuple[str, ...] | None = None
    includes: tuple[str, ...] = ()
    dataset: str | None = None
    line: int = 1
    problem: str = ""


def glance(path: Path) -> Glance:
    """Look at one file. What is wrong with it is told in `problem`."""
    try:
        found = read_document(path)
    except ConfigError as error:
        return Glance(problem=str(error))
    group, task, dataset = found.get("group"), found.get("task"), found.get("dataset")
    is_group = isinstance(group, str) and "class" not in found
    name = group if is_group else task if isinstance(task, str) else None
    origin = found.origins.get("group" if is_group else "task")
    return Glance(
        task=None if is_group else name,
        group=name if is_group else None,
        tags=_texts(found["tag"]) if "tag" in found else None,
        includes=_texts(found.get("include")),
        dataset=dataset if isinstance(dataset, str) else None,
        line=(origin and origin.line) or 1,
    )


def _texts(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(item for item in items if isinstance(item, str))
