"""Flags that stand for components: `--proxy` for a system, `--judge-…` for an evaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cbcore.cli._settings import Settings

if TYPE_CHECKING:
    from cbcore.specs import Spec

_JUDGE_SETTINGS = (
    "judge_url",
    "judge_model",
    "judge_api_key_env",
    "judge_rubric",
    "judge_pairwise",
)


def proxies(settings: Settings, merged: dict[str, Any]) -> list[Spec]:
    """The systems that `--proxy`, `--name` and `--model` stand for, in their order."""
    from cbcore.exceptions import UnknownComponentError, UsageError
    from cbcore.registry import registry
    from cbcore.specs import Spec

    urls, names, models = merged["proxies"], merged["names"], merged["models"]
    for option, values, needed in (
        ("--name", names, len(names) != len(urls)),
        ("--model", models, len(models) not in (1, len(urls)) or not urls),
    ):
        if values and needed:
            raise UsageError(
                f"{option} is given {len(values)} times and --proxy {len(urls)} times, "
                "so it is not clear which belong together",
                hint=f"give {option} once for each --proxy, in the same order"
                + (", or once for all" if option == "--model" else ""),
            )
    if not urls:
        return []
    try:
        registry.get("system", "openai", host=settings.host())
    except UnknownComponentError as error:
        raise UsageError(
            "--proxy needs the plugin 'cb-openai', which is not installed",
            hint="pip install cb-openai",
        ) from error
    models = models * len(urls) if len(models) == 1 else models
    made = []
    for index, url in enumerate(urls):
        params = {"model": models[index]} if models else {}
        made.append(Spec("openai", url, params | ({"name": names[index]} if names else {})))
    return made


def judges(merged: dict[str, Any]) -> tuple[list[Spec], list[Spec]]:
    """The evaluators and metrics that the `--judge-…` flags ask for."""
    from cbcore.exceptions import UsageError
    from cbcore.specs import Spec

    given = [key for key in _JUDGE_SETTINGS if merged.get(key)]
    if not given:
        return [], []
    if lacking := [key for key in ("judge_url", "judge_model") if not merged[key]]:
        said, wanted = (f"--{key.replace('_', '-')}" for key in (given[0], lacking[0]))
        raise UsageError(f"{said} is given without {wanted}", hint=f"add {wanted}")
    endpoint = {"base_url": merged["judge_url"], "model": merged["judge_model"]}
    if merged["judge_api_key_env"]:
        endpoint["api_key_env"] = merged["judge_api_key_env"]
    rubric = {"rubric": merged["judge_rubric"]} if merged["judge_rubric"] else {}
    evaluators = [Spec("llm_judge", params={**endpoint, **rubric})]
    metrics = [Spec("judge_summary")]
    if merged["judge_pairwise"]:
        evaluators.append(Spec("judge_material"))
        metrics.append(Spec("pairwise_judge", params=endpoint))
    return evaluators, metrics
