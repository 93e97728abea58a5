"""Reports on trees of suite files, remembered by what is in the files.

The same files under the same names, with the same plugins installed, get the same report.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson

from cb_suites.engine.index import cache_folder

_READ = (".yaml", ".yml", ".py", "")
"""Endings of files that a report may depend on; what is included often has none."""
_MOST_KEPT = 20


def digest_of(folders: Iterable[Path], *facts: str) -> str:
    """A name for what all files below some folders hold."""
    digest = blake2b(digest_size=16)
    for fact in (metadata.version("cb-suites"), *facts):
        digest.update(fact.encode() + b"\0")
    for path in sorted(_files(folders)):
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - thousands of times
                content = file.read()
        except OSError:
            content = b""
        digest.update(os.fsencode(path) + b"\0%d\0" % len(content) + content)
    return digest.hexdigest()


def _files(folders: Iterable[Path]) -> Iterable[str]:
    for folder in dict.fromkeys(map(str, folders)):
        if not os.path.isdir(folder):  # noqa: PTH112
            yield folder
        for place, _, names in os.walk(folder):
            for name in names:
                if os.path.splitext(name)[1].lower() in _READ:  # noqa: PTH122
                    yield os.path.join(place, name)  # noqa: PTH118


def recalled(digest: str) -> Any:
    """What was remembered under a name; None where nothing is."""
    try:
        return orjson.loads(_place(digest).read_bytes())
    except (OSError, ValueError):
        return None


def remember(digest: str, report: Any) -> None:
    """Keep a report. A folder that cannot be written only costs time."""
    place = _place(digest)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = place.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(orjson.dumps(report))
        temporary.replace(place)
        kept = sorted(place.parent.glob("suite-report-*.json"), key=lambda p: p.stat().st_mtime)
        for old in kept[:-_MOST_KEPT]:
            old.unlink(missing_ok=True)
    except (OSError, TypeError):
        return


def _place(digest: str) -> Path:
    return cache_folder() / f"suite-report-{digest}.json"
