"""Compare systems and runs: is one better than another, and may this build pass?

Cut a run into shards, and merge them.

    from cb_compare import compare_systems, compare_runs, assert_no_regression, merge

Every name is imported when it is first used.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_compare.comparing import compare_runs as compare_runs
    from cb_compare.comparing import compare_systems as compare_systems
    from cb_compare.gating import Rules as Rules
    from cb_compare.gating import assert_no_regression as assert_no_regression
    from cb_compare.gating import check as check
    from cb_compare.merging import merge as merge
    from cb_compare.records import Comparison as Comparison
    from cb_compare.records import Options as Options
    from cb_compare.records import Report as Report

_HOMES = {
    "Comparison": "records",
    "Options": "records",
    "Report": "records",
    "Rules": "gating",
    "assert_no_regression": "gating",
    "check": "gating",
    "compare_runs": "comparing",
    "compare_systems": "comparing",
    "merge": "merging",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.{_HOMES[name]}:{name}")
