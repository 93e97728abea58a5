"""Reports for cb: one result, as a terminal table, Markdown, JSON, JSON lines, CSV, Parquet or HTML.

Names, responses and errors come from data and models. Every reporter shows them as text:
none can move the cursor, break a table, become markup or start a formula.

A reporter is imported when it is first used.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_reporters.data import Csv as Csv
    from cb_reporters.data import JsonLines as JsonLines
    from cb_reporters.data import Parquet as Parquet
    from cb_reporters.markdown import Markdown as Markdown
    from cb_reporters.page.document import Html as Html
    from cb_reporters.table import Table as Table

_HOMES = {
    "Csv": "data",
    "Html": "page.document",
    "JsonLines": "data",
    "Markdown": "markdown",
    "Parquet": "data",
    "Table": "table",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.{_HOMES[name]}:{name}")
