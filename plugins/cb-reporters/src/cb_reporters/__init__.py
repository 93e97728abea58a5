"""Reports for cb: one result, as a terminal table, Markdown, JSON, JSON lines, CSV, Parquet or HTML.

Names, responses and errors come from data and models. Every reporter shows them as text:
none can move the cursor, break a table, become markup or start a formula.
"""

from cb_reporters.data import Csv, Json, JsonLines
from cb_reporters.markdown import Markdown
from cb_reporters.page import Html
from cb_reporters.parquet import Parquet
from cb_reporters.table import Table

__all__ = ["Csv", "Html", "Json", "JsonLines", "Markdown", "Parquet", "Table"]
