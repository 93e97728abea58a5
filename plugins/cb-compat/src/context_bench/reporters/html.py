"""The result as one page that needs nothing else."""

from cb_reporters import Html
from cbcore.results import EvalResult


def to_html(result: EvalResult) -> str:
    """The result as a web page with charts and a table of rows."""
    return Html().render(result)
