"""Finding plugins: one pass over the metadata of installed distributions, importing nothing.

`entry_points.txt` is the manifest. Each distribution is read under its own guard: whatever is
wrong with one, its own or somebody else's, concerns that one alone.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

from cbcore.components import KINDS, describe_exception
from cbcore.names import canonical, near_matches
from cbcore.plugins._library import metadata

HOOK_GROUP = "cb.plugins"
KIND_BY_GROUP = {f"cb.{kind}s": kind for kind in KINDS}
GROUPS = (HOOK_GROUP, *KIND_BY_GROUP)
"""Every entry-point group that `cb` reads."""

_CORE_REQUIREMENT = re.compile(
    r"cbcore\s*(?:\[[^\]]*\])?\s*\(?\s*(?P<specifier>(?:[<>=!~][^;)]*)?)\)?\s*\Z", re.IGNORECASE
)
_EXTRAS = re.compile(r"\s*\[[^\]]*\]\Z")


@attrs.frozen
class EntryPoint:
    """One line of a manifest."""

    group: str
    name: str
    value: str


@attrs.frozen
class Distribution:
    """An installed distribution that has a manifest for us, or one that cannot be read.

    `misspelt_group` is set for one that means to be a plugin, and has no group that we read.
    """

    name: str
    version: str = ""
    summary: str = ""
    location: str = ""
    core_specifier: str = ""
    entries: tuple[EntryPoint, ...] = ()
    misspelt_group: str = ""
    problem: str = ""
    stamp: str = ""


def scan(path: Iterable[str] | None = None) -> list[Distribution]:
    """Every distribution that offers something to `cb`, in the order of the import path.

    A distribution found twice is listed twice; the first is the one Python imports. The same
    folder twice on the path is one.
    """
    found: list[Distribution] = []
    seen: set[tuple[str, str]] = set()
    for installed in installed_distributions(None if path is None else list(path)):
        distribution = _read(installed)
        if distribution is None:
            continue
        place = (canonical(distribution.name), os.path.realpath(distribution.location))
        if not distribution.location or place not in seen:
            found.append(distribution)
        seen.add(place)
    return found


def installed_distributions(path: list[str] | None) -> Iterator[metadata.Distribution]:
    """What every finder knows, asked one by one: a foreign one that fails hides only its own."""
    where = {} if path is None else {"path": path}
    context = metadata.DistributionFinder.Context(**where)  # type: ignore[no-untyped-call]
    for finder in list(sys.meta_path):
        find: Any = getattr(finder, "find_distributions", None)
        if find is None:
            continue
        try:
            yield from find(context)
        except Exception:  # noqa: BLE001, S112 - what it had cannot be known
            continue


def _read(installed: metadata.Distribution) -> Distribution | None:
    try:
        text = installed.read_text("entry_points.txt")
        if not text:
            return None
        entries, malformed = parse_entry_points(text)
    except Exception as error:  # noqa: BLE001 - metadata of any package may be broken in any way
        entries, malformed = [], describe_exception(error)
    ours = tuple(entry for entry in entries if entry.group in GROUPS)
    misspelt = "" if ours else next(filter(meant_group, (e.group for e in entries)), "")
    if not ours and not misspelt and not malformed:
        return None
    problem = f"its entry_points.txt cannot be read: {malformed}" if malformed else ""
    headers: dict[str, list[str]] = {}
    try:
        headers = read_headers(installed)
    except Exception as error:  # noqa: BLE001 - as above
        problem = problem or f"its METADATA cannot be read: {describe_exception(error)}"
    return Distribution(
        name=headers.get("name", [""])[0] or name_from_path(installed),
        version=headers.get("version", [""])[0],
        summary=headers.get("summary", [""])[0],
        location=_location(installed),
        core_specifier=_core_specifier(headers.get("requires-dist", [])),
        entries=ours,
        misspelt_group=misspelt,
        problem=problem,
        stamp="" if problem else _stamp(installed, ours),
    )


def looks_like_ours(group: str) -> bool:
    """Whether an entry-point group is one of ours, or an attempt at one."""
    return canonical(group).startswith(("cb-", "cbcore-"))


def meant_group(group: str) -> str:
    """The group of ours that one like it means, if any."""
    near = near_matches(group, GROUPS, limit=1) if looks_like_ours(group) else []
    return near[0] if near else ""


def parse_entry_points(text: str) -> tuple[list[EntryPoint], str]:
    """What can be read, and what is wrong with the first line that cannot."""
    entries = []
    group = problem = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            if line[-1] != "]":
                problem = problem or f"line {number}: {line[:40]!r} is not a section"
            group = line[1:].removesuffix("]").strip()
            continue
        name, equals, value = line.partition("=")
        if not equals or not group:
            problem = problem or f"line {number}: {line[:40]!r} is not name = value in a section"
            continue
        target = _EXTRAS.sub("", value.strip())
        entries.append(EntryPoint(group=group, name=name.strip(), value=target))
    return entries, problem


def read_headers(installed: metadata.Distribution) -> dict[str, list[str]]:
    """The header block of METADATA; the description below it, often long, is not parsed."""
    text = installed.read_text("METADATA") or installed.read_text("PKG-INFO")
    if not text:
        raise ValueError("it is missing or empty")
    headers: dict[str, list[str]] = {}
    for line in text.partition("\n\n")[0].splitlines():
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            headers.setdefault(key.lower(), []).append(value.strip())
    if "requires-dist" not in headers:  # an egg-info keeps requirements in a file of their own
        required = (installed.read_text("requires.txt") or "").partition("[")[0]
        headers["requires-dist"] = required.split("\n")
    return headers


def _core_specifier(requirements: Iterable[str]) -> str:
    """Which cores the distribution supports; a requirement under a marker is the installer's."""
    matches = map(_CORE_REQUIREMENT.match, requirements)
    return ",".join(match["specifier"].strip() for match in matches if match)


def _metadata_folder(installed: metadata.Distribution) -> Any:
    """A `Path`, something like it inside an archive, or None from a finder of another kind."""
    return getattr(installed, "_path", None)


def name_from_path(installed: metadata.Distribution) -> str:
    name = getattr(_metadata_folder(installed), "name", "")
    return name.removesuffix(".dist-info").removesuffix(".egg-info").split("-")[0] or "unknown"


def _location(installed: metadata.Distribution) -> str:
    parent = getattr(_metadata_folder(installed), "parent", "")
    return str(parent).rstrip("/\\")


def _stamp(installed: metadata.Distribution, entries: tuple[EntryPoint, ...]) -> str:
    """What changes when the distribution, its manifest, or the code of an editable one changes.

    Empty when that cannot be told; such a distribution is looked at anew each time.
    """
    folder = _metadata_folder(installed)
    if not isinstance(folder, Path):
        return ""
    try:
        times = [(folder / name).stat().st_mtime_ns for name in ("METADATA", "entry_points.txt")]
        if '"editable":true' in (installed.read_text("direct_url.json") or "").replace(" ", ""):
            times += _source_times(entries)
    except Exception:  # noqa: BLE001 - finders of others are asked where the code is
        return ""
    return "-".join(map(str, times))


def _source_times(entries: tuple[EntryPoint, ...]) -> list[int]:
    """For each top-level package of the entries, when a file of it last changed, and how many."""
    import importlib.util

    times = []
    for top in sorted({re.split(r"[.:]", entry.value)[0].strip() for entry in entries}):
        spec = importlib.util.find_spec(top)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(top)
        origin = Path(spec.origin)
        files = list(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]
        times += [max(file.stat().st_mtime_ns for file in files), len(files)]
    return times


def same_name(one: str, other: str) -> bool:
    """Whether two spellings name the same distribution."""
    return canonical(one) == canonical(other)
