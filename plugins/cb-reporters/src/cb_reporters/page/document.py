"""The document around the data: everything that reads without a script, and the data for it."""

from __future__ import annotations

from cb_reporters.page.index import ExampleIndex
from cbcore.results import EvalResult


def render(
    result: EvalResult,
    index: ExampleIndex | None = None,
    *,
    remote: bool = False,
    live: bool = False,
) -> str:
    """The whole page of a result.

    With `remote` it asks the server that it came from for examples, otherwise it holds them all.
    `live` says that the run is still going. `index` spares going through the rows once more.
    """
    from cb_reporters.html import Html

    return Html().render(result)
