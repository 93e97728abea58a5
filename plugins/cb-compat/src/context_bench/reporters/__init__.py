"""Reports of a result as text."""

from context_bench.reporters.html import to_html
from context_bench.reporters.json_out import to_json
from context_bench.reporters.markdown import to_markdown

__all__ = ["to_html", "to_json", "to_markdown"]
