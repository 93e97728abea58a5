"""All that a run asks for and nobody offers, found before anything is made: one message for all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cbcore import specs
from cbcore.exceptions import SpecError, UnknownComponentError, UsageError
from cbcore.plugins.catalog import Catalog
from cbcore.specs import Spec


def require_offered(catalog: Catalog, asked: Iterable[tuple[str, Any]]) -> None:
    """Raise one error that names every component which is not there, and what would bring it.

    `asked` are kinds with what is asked of them: specs, or what passes for a component. A single
    one that is missing is told where it is looked up.
    """
    unknown: list[UnknownComponentError] = []
    named = (found for kind, wanted in asked for found in _names(kind, wanted))
    for kind, name in dict.fromkeys(named):
        try:
            catalog.find(kind, name)
        except UnknownComponentError as error:
            unknown.append(error)
        except Exception:  # noqa: BLE001, S112 - told where the component is made, with its reason
            continue
    if len(unknown) > 1:
        listed = ", ".join(f"{error.kind} {error.name!r}" for error in unknown)
        raise UsageError(f"not installed: {listed}", hint="\n".join(_ways(catalog, unknown)))


def _ways(catalog: Catalog, unknown: Sequence[UnknownComponentError]) -> Iterator[str]:
    packages = {error: catalog.packages_offering(error.kind, error.name)[:1] for error in unknown}
    known = dict.fromkeys(package for found in packages.values() for package in found)
    if known:
        yield f"cb install {' '.join(known)}"
    for error, found in packages.items():
        if not found:
            yield f"{error.kind} {error.name!r}: {error.hint}"


def _names(kind: str, wanted: Any) -> Iterator[tuple[str, str]]:
    """Kind and name of the components that one wish names; none for an object or own code."""
    if isinstance(wanted, str):
        wanted = {
            "system": specs.parse_chain,
            "dataset": specs.parse_dataset,
            "reporter": _reporter,
        }.get(kind, specs.parse)(wanted)
    for spec in wanted if isinstance(wanted, list) else [wanted]:
        if isinstance(spec, Spec) and spec.name != "py" and not spec.name.endswith(".py"):
            yield kind, spec.name


def _reporter(text: str) -> Spec | None:
    if "=" not in text and ":" not in text and Path(text).suffix:
        return None  # a file, which tells its format by its ending
    try:
        return specs.parse_output(text)[0]
    except SpecError:  # told where reports are made
        return None
