"""The result for programs."""

from cb_reporters import Json
from cbcore.results import EvalResult


def to_json(result: EvalResult) -> str:
    """The whole result as valid JSON: null where there is no finite number."""
    return Json().render(result)
