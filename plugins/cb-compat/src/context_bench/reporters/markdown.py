"""The result for pull requests and READMEs."""

from cb_reporters import Markdown
from cbcore.results import EvalResult


def to_markdown(result: EvalResult) -> str:
    """The comparison of the systems as Markdown tables."""
    return Markdown().render(result)
