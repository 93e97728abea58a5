"""Flags that stand for components: `--proxy` for a system, `--judge-…` for an evaluator, and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore.cli._settings import Settings
from cbcore.request import Invocation
from cbcore.request._options import options_of

if TYPE_CHECKING:
    from cbcore.specs import Spec


def proxies(settings: Settings, said: Invocation) -> list[Spec]:
    """The systems that `--proxy`, `--name` and `--model` stand for, in their order."""
    from cbcore.exceptions import UnknownComponentError, UsageError
    from cbcore.specs import Spec

    urls, names, models = list(said.proxies), list(said.names), list(said.models)
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
        settings.catalog().find("system", "openai")
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


def caching(said: Invocation) -> tuple[list[Spec], list[Spec]]:
    """The evaluator and the metric that `--cache-model` asks for."""
    from cbcore.specs import Spec, parse

    if said.cache_model is None:
        return [], []
    return [Spec("prompt_blocks")], [parse(f"net_cost:{said.cache_model}")]


def judges(said: Invocation) -> tuple[list[Spec], list[Spec]]:
    """The evaluators and metrics that the `--judge-…` flags ask for."""
    from cbcore.exceptions import UsageError
    from cbcore.specs import Spec

    flags = {
        name: option.flags[0]
        for name, option in options_of(Invocation).items()
        if name.startswith("judge_")
    }
    given = [flag for name, flag in flags.items() if getattr(said, name)]
    if not given:
        return [], []
    for name in ("judge_url", "judge_model"):
        if not getattr(said, name):
            wanted = flags[name]
            raise UsageError(f"{given[0]} is given without {wanted}", hint=f"add {wanted}")
    endpoint = {"base_url": said.judge_url, "model": said.judge_model}
    if said.judge_api_key_env:
        endpoint["api_key_env"] = said.judge_api_key_env
    rubric = {"rubric": said.judge_rubric} if said.judge_rubric else {}
    evaluators = [Spec("llm_judge", params={**endpoint, **rubric})]
    metrics = [Spec("judge_summary")]
    if said.judge_pairwise:
        evaluators.append(Spec("judge_material"))
        metrics.append(Spec("pairwise_judge", params=endpoint))
    return evaluators, metrics
