"""Loading a plugin in another process, which it may end, hang or print in without harm."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import IO, Any

import attrs

from cb_testing.children import answer, ask_child
from cbcore.names import canonical
from cbcore.plugins import Catalog, read_distributions

_TIME_LIMIT_S = 60


@attrs.frozen
class Report:
    """How loading everything that a plugin offers went. `reason` is empty if it works."""

    reason: str = ""
    hint: str | None = None
    import_ms: float | None = None


def try_plugin(name: str, path: Sequence[str] = ()) -> Report:
    """Load a plugin in a new process; `path` is searched for it first."""
    answers, ending = ask_child(__name__, name, timeout_s=_TIME_LIMIT_S, path=path)
    if not answers:
        return Report(f"importing it ended the interpreter ({ending})")
    return Report(**answers[0])


# -- in the child -------------------------------------------------------------------------------


def main() -> None:
    """Read a name on standard input; write how loading the plugin went."""
    answer(_load)


def _load(name: str, _printed: IO[bytes]) -> Iterator[dict[str, Any]]:
    distributions = read_distributions()
    mine = [d for d in distributions if canonical(d.name) == canonical(name)][:1]
    catalog = Catalog(mine, kinds_from=distributions)
    started = time.perf_counter()
    catalog.load_all()
    import_ms = round((time.perf_counter() - started) * 1000, 1)
    error = next((plugin.error for plugin in catalog.plugins), None)
    if error is None:
        yield attrs.asdict(Report(import_ms=import_ms))
    else:
        yield attrs.asdict(Report(error.reason, error.hint, import_ms))
