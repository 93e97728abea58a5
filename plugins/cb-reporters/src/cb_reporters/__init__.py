"""Reports for cb: one result, as a terminal table, Markdown, JSON, JSON lines, CSV, Parquet or HTML.

Names, responses and errors come from data and models. Every reporter shows them as text:
none can move the cursor, break a table, become markup or start a formula.

A reporter is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_reporters.data import Csv as Csv
    from cb_reporters.data import Json as Json
    from cb_reporters.data import JsonLines as JsonLines
    from cb_reporters.html import Html as Html
    from cb_reporters.markdown import Markdown as Markdown
    from cb_reporters.parquet import Parquet as Parquet
    from cb_reporters.table import Table as Table

_HOMES = {
    "Csv": "data",
    "Html": "html",
    "Json": "data",
    "JsonLines": "data",
    "Markdown": "markdown",
    "Parquet": "parquet",
    "Table": "table",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cb_reporters' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"cb_reporters.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
