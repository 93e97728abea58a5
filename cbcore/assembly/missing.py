"""Every component that a run asks for and nobody offers, in one error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cbcore.assembly.builder import Builder
from cbcore.exceptions import CBError, UnknownComponentError, UsageError
from cbcore.plugins import Catalog
from cbcore.specs import Spec


def require_all(builder: Builder, asked: Iterable[tuple[str, Any]]) -> None:
    """Raise one error that names every component which is not there, and what would bring it.

    `asked` are kinds with specs, lists of specs or objects. One name that is missing alone, or
    that cannot be used for another reason, is reported where the component is built.
    """
    unknown: list[UnknownComponentError] = []
    for kind, name in dict.fromkeys(_find_names(asked)):
        try:
            builder.find(kind, name)
        except UnknownComponentError as error:
            unknown.append(error)
        except CBError:
            continue
    if len(unknown) > 1:
        listed = ", ".join(f"{error.kind} {error.name!r}" for error in unknown)
        hint = _hint(builder.catalog, unknown)
        raise UsageError(f"not installed: {listed}", hint=hint)


def _hint(catalog: Catalog, unknown: Sequence[UnknownComponentError]) -> str:
    """The command that installs what packages offer, then a hint for each other component."""
    packages: dict[str, None] = {}
    lines: list[str] = []
    for error in unknown:
        offering = catalog.packages_offering(error.kind, error.name)
        if offering:
            packages[offering[0]] = None
        else:
            lines.append(f"{error.kind} {error.name!r}: {error.hint}")
    if packages:
        lines.insert(0, f"cb install {' '.join(packages)}")
    return "\n".join(lines)


def _find_names(asked: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    """The names among the specs; none for an object or code of the user."""
    for kind, wanted in asked:
        specs = wanted if isinstance(wanted, list) else [wanted]
        for spec in specs:
            if isinstance(spec, Spec) and spec.name != "py" and not spec.name.endswith(".py"):
                yield kind, spec.name
