"""Where an installed distribution came from: its folder, its commit, its files. Read, not imported."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from cbcore.boundary import contained
from cbcore.plugins.installed import MetadataFiles, find_distribution
from cbcore.secrets import redact

# What installers note for themselves says nothing of the code, and differs between them.
_INSTALLERS_NOTES = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json")


class Origin(NamedTuple):
    """What the metadata of a distribution says of its source.

    `record_digest` sums up RECORD: every installed file with its hash. It is the same on every
    machine that installed the same wheel. `commit` is known when an installer was given a
    repository, `url` when it was given a place, and `editable` is the folder of a project
    installed in place, whose code may change without any of this changing.
    """

    record_digest: str | None = None
    commit: str | None = None
    url: str = ""
    editable: str = ""

    def to_dict(self) -> dict[str, str | None]:
        """The origin as plain data."""
        return {key: value or None for key, value in self._asdict().items()}

    def __str__(self) -> str:
        if self.editable:
            return f"editable, {self.editable}"
        return f"commit {self.commit[:12]} of {self.url}" if self.commit else self.url


@functools.lru_cache(maxsize=1024)
def origin_of(name: str) -> Origin:
    """The origin of an installed distribution; empty if it is unknown."""
    with contained():  # metadata of any package may be broken in any way
        distribution = find_distribution(name)
        if distribution is not None:
            return read_origin(distribution.files)
    return Origin()


def read_origin(installed: MetadataFiles) -> Origin:
    """The origin of a distribution, from its metadata files."""
    record = installed.read_text("RECORD")
    digest = _digest_of(_entries(record)) if record else None
    direct = _direct_url(installed)
    url = direct.get("url") if isinstance(direct.get("url"), str) else ""
    vcs, folder = direct.get("vcs_info"), direct.get("dir_info")
    commit = vcs.get("commit_id") if isinstance(vcs, dict) else None
    editable = isinstance(folder, dict) and folder.get("editable") is True
    return Origin(
        record_digest=digest,
        commit=commit if isinstance(commit, str) else None,
        url=redact(url or ""),
        editable=unquote(urlsplit(url or "").path) if editable else "",
    )


def _direct_url(installed: MetadataFiles) -> dict[str, Any]:
    try:
        direct = json.loads(installed.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return direct if isinstance(direct, dict) else {}


def _entries(record: str) -> Iterable[list[str]]:
    """The lines of a RECORD: path, hash and size, of which a path may be quoted."""
    for line in record.splitlines():
        path, quote, rest = line[1:].rpartition('",') if line.startswith('"') else ("", "", line)
        yield [path.replace('""', '"'), *rest.split(",")] if quote else line.split(",")


def _digest_of(record: Iterable[list[str]]) -> str | None:
    """A digest of the files a wheel brought, whoever installed it and wherever.

    Scripts, which name the interpreter they were installed for, and compiled files are left out.
    """
    lines = sorted(
        ",".join(entry[:2])
        for entry in record
        if entry[0]
        and not entry[0].startswith(("..", "/"))
        and not entry[0].endswith(".pyc")
        and entry[0].rpartition("/")[2] not in _INSTALLERS_NOTES
    )
    if not lines:
        return None
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()
