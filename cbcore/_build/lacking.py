"""Every component that a run asks for and nobody offers, in one error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cbcore._build.builder import Builder
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
        raise UsageError(
            f"not installed: {listed}", hint="\n".join(_hints(builder.catalog, unknown))
        )


def _hints(catalog: Catalog, unknown: Sequence[UnknownComponentError]) -> Iterator[str]:
    packages = {error: catalog.packages_offering(error.kind, error.name)[:1] for error in unknown}
    known = dict.fromkeys(package for found in packages.values() for package in found)
    if known:
        yield f"cb install {' '.join(known)}"
    for error, found in packages.items():
        if not found:
            yield f"{error.kind} {error.name!r}: {error.hint}"


def _find_names(asked: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    """The names among the specs; none for an object or code of the user."""
    for kind, wanted in asked:
        for spec in wanted if isinstance(wanted, list) else [wanted]:
            if isinstance(spec, Spec) and spec.name != "py" and not spec.name.endswith(".py"):
                yield kind, spec.name
