"""The `--judge-…` flags: a model that rates the answers of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore.exceptions import UsageError
from cbcore.specs import Spec

if TYPE_CHECKING:
    from cbcore.settings import RunSettings

_FLAGS = ("judge-url", "judge-model", "judge-api-key-env", "judge-rubric", "judge-pairwise")


def cb_configure(settings: RunSettings) -> None:
    """Add the evaluators and metrics that the flags ask for."""
    given = {flag: settings.get(flag) for flag in _FLAGS if settings.get(flag)}
    if not given:
        return
    for flag in ("judge-url", "judge-model"):
        if flag not in given:
            raise UsageError(
                f"--{next(iter(given))} is given without --{flag}", hint=f"add --{flag}"
            )
    endpoint = {"base_url": given["judge-url"], "model": given["judge-model"]}
    if "judge-api-key-env" in given:
        endpoint["api_key_env"] = given["judge-api-key-env"]
    rubric = {"rubric": given["judge-rubric"]} if "judge-rubric" in given else {}
    settings.added_evaluators.append(Spec("llm_judge", params={**endpoint, **rubric}))
    settings.added_metrics.append(Spec("judge_summary"))
    if "judge-pairwise" in given:
        settings.added_evaluators.append(Spec("judge_material"))
        settings.added_metrics.append(Spec("pairwise_judge", params=endpoint))
