"""Finding plugins: one pass over the metadata of installed distributions, importing nothing.

`entry_points.txt` is the manifest. Each distribution is read under its own guard: whatever is
wrong with one, its own or somebody else's, concerns that one alone.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

from cbcore.components import KINDS, describe_exception
from cbcore.names import canonical

HOOK_GROUP = "cb.plugins"
KIND_BY_GROUP = {f"cb.{kind}s": kind for kind in KINDS}
_OUR_GROUPS = {HOOK_GROUP, *KIND_BY_GROUP}
_CORE_REQUIREMENT = re.compile(
    r"cbcore\s*(?:\[[^\]]*\])?\s*\(?(?P<specifier>[^;)]*)\)?\s*(?:;.*)?\Z", re.IGNORECASE
)


@attrs.frozen
class EntryPoint:
    """One line of a manifest."""

    group: str
    name: str
    value: str


@attrs.frozen
class Distribution:
    """An installed distribution that has a manifest for us, or one that cannot be read."""

    name: str
    version: str = ""
    summary: str = ""
    location: str = ""
    core_specifier: str = ""
    entries: tuple[EntryPoint, ...] = ()
    problem: str = ""
    stamp: str = ""


def scan(path: Iterable[str] | None = None) -> list[Distribution]:
    """Every distribution that offers something to `cb`, in the order of the import path.

    A distribution found twice is listed twice; the first is the one Python imports.
    """
    found = []
    distributions = iter(
        importlib.metadata.distributions()
        if path is None
        else importlib.metadata.distributions(path=list(path))
    )
    for installed in _guarded(distributions):
        distribution = _read(installed)
        if distribution is not None:
            found.append(distribution)
    return found


def _guarded(
    distributions: Iterator[importlib.metadata.Distribution],
) -> Iterator[importlib.metadata.Distribution]:
    """Iterate although a finder of somebody else's may raise."""
    while True:
        try:
            yield next(distributions)
        except StopIteration:
            return
        except Exception:  # noqa: BLE001 - a foreign finder failed; what it had cannot be known
            return


def _read(installed: importlib.metadata.Distribution) -> Distribution | None:
    try:
        text = installed.read_text("entry_points.txt")
        if not text:
            return None
        entries = _parse_entry_points(text)
    except Exception as error:  # noqa: BLE001 - metadata of any package may be broken in any way
        return Distribution(
            name=_name_from_path(installed),
            location=_location(installed),
            problem=f"its entry_points.txt cannot be read: {describe_exception(error)}",
        )
    ours = tuple(entry for entry in entries if entry.group in _OUR_GROUPS)
    if not ours:
        return None
    try:
        headers = _read_headers(installed)
    except Exception as error:  # noqa: BLE001 - as above
        return Distribution(
            name=_name_from_path(installed),
            location=_location(installed),
            entries=ours,
            problem=f"its METADATA cannot be read: {describe_exception(error)}",
        )
    return Distribution(
        name=headers.get("name", [_name_from_path(installed)])[0],
        version=headers.get("version", [""])[0],
        summary=headers.get("summary", [""])[0],
        location=_location(installed),
        core_specifier=_core_specifier(headers.get("requires-dist", [])),
        entries=ours,
        stamp=_stamp(installed, ours),
    )


def _parse_entry_points(text: str) -> list[EntryPoint]:
    entries = []
    group = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            if line[-1] != "]":
                raise ValueError(f"line {number}: {line[:40]!r} is not a section")
            group = line[1:-1].strip()
            continue
        name, equals, value = line.partition("=")
        if not equals or not group:
            raise ValueError(f"line {number}: {line[:40]!r} is not name = value in a section")
        entries.append(EntryPoint(group=group, name=name.strip(), value=value.strip()))
    return entries


def _read_headers(installed: importlib.metadata.Distribution) -> dict[str, list[str]]:
    """The header block of METADATA; the description below it, often long, is not parsed."""
    text = installed.read_text("METADATA") or installed.read_text("PKG-INFO")
    if not text:
        raise ValueError("it is missing or empty")
    headers: dict[str, list[str]] = {}
    for line in text.partition("\n\n")[0].splitlines():
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            headers.setdefault(key.lower(), []).append(value.strip())
    return headers


def _core_specifier(requirements: Iterable[str]) -> str:
    for requirement in requirements:
        match = _CORE_REQUIREMENT.match(requirement)
        if match and "extra ==" not in requirement:
            return match["specifier"].strip()
    return ""


def _metadata_folder(installed: importlib.metadata.Distribution) -> Path | None:
    folder = getattr(installed, "_path", None)
    return folder if isinstance(folder, Path) else None


def _name_from_path(installed: importlib.metadata.Distribution) -> str:
    folder = _metadata_folder(installed)
    return folder.name.split("-")[0] if folder is not None else "unknown"


def _location(installed: importlib.metadata.Distribution) -> str:
    folder = _metadata_folder(installed)
    return str(folder.parent) if folder is not None else ""


def _stamp(installed: importlib.metadata.Distribution, entries: tuple[EntryPoint, ...]) -> str:
    """What changes when the distribution, or the code of an editable one, changes.

    Empty when that cannot be told; such a distribution is looked at anew each time.
    """
    folder = _metadata_folder(installed)
    try:
        if folder is None:
            return ""
        times = [folder.joinpath("METADATA").stat().st_mtime_ns]
        if '"editable": true' in (installed.read_text("direct_url.json") or ""):
            times += _source_times(entries)
        return "-".join(map(str, times))
    except OSError:
        return ""


def _source_times(entries: tuple[EntryPoint, ...]) -> list[int]:
    import importlib.util

    times = []
    for module in sorted({entry.value.partition(":")[0].strip() for entry in entries}):
        top, _, inner = module.partition(".")
        spec = importlib.util.find_spec(top)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(top)
        origin = Path(spec.origin)
        path = origin.parent.joinpath(*inner.split(".")).with_suffix(".py") if inner else origin
        times.append((path if path.is_file() else origin).stat().st_mtime_ns)
    return times


def same_name(one: str, other: str) -> bool:
    """Whether two spellings name the same distribution."""
    return canonical(one) == canonical(other)
