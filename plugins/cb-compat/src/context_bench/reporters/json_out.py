"""The result for programs."""

from cbcore.results import EvalResult


def to_json(result: EvalResult) -> str:
    """The whole result as valid JSON: null where there is no finite number."""
    return result.to_json()
