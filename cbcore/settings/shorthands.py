"""Settings that stand for components: `--proxy` for a system, `--judge-url` for an evaluator, …"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore.exceptions import UnknownComponentError, UsageError
from cbcore.settings.options import options_of
from cbcore.settings.run_settings import RunSettings
from cbcore.specs import Spec, parse

if TYPE_CHECKING:
    from cbcore.plugins.catalog import Catalog

__all__ = ()


def expand_shorthands(settings: RunSettings, catalog: Catalog) -> None:
    """Add the components that short forms stand for to the settings.

    Systems and proxies keep the order in which they were given.
    """
    given = {"systems": iter(settings.systems), "proxy": iter(_make_proxies(settings, catalog))}
    in_order = [next(given[name]) for name in settings.order]
    settings.systems = [*in_order, *given["systems"], *given["proxy"]]
    _add_judges(settings)
    if settings.cache_model is not None:
        settings.added_evaluators.append(Spec("prompt_blocks"))
        settings.added_metrics.append(parse(f"net_cost:{settings.cache_model}"))


def _make_proxies(settings: RunSettings, catalog: Catalog) -> list[Spec]:
    """The systems that `--proxy`, `--name` and `--model` stand for."""
    urls, names, models = settings.proxy, settings.name, settings.model
    for flag, values, is_unclear in (
        ("--name", names, len(names) != len(urls)),
        ("--model", models, len(models) not in (1, len(urls)) or not urls),
    ):
        if values and is_unclear:
            raise UsageError(
                f"{flag} is given {len(values)} times and --proxy {len(urls)} times, "
                "so it is not clear which belong together",
                hint=f"give {flag} once for each --proxy, in the same order"
                + (", or once for all" if flag == "--model" else ""),
            )
    if not urls:
        return []
    try:
        catalog.find("system", "openai")
    except UnknownComponentError as error:
        raise UsageError(
            "--proxy needs the plugin 'cb-openai', which is not installed",
            hint="pip install cb-openai",
        ) from error
    models = models * len(urls) if len(models) == 1 else models
    proxies = []
    for index, url in enumerate(urls):
        params = {"model": models[index]} if models else {}
        proxies.append(Spec("openai", url, params | ({"name": names[index]} if names else {})))
    return proxies


def _add_judges(settings: RunSettings) -> None:
    """Add the evaluators and metrics that the `--judge-…` flags ask for."""
    flags = {
        name: option.flags[0]
        for name, option in options_of(RunSettings).items()
        if name.startswith("judge_")
    }
    given = [flag for name, flag in flags.items() if getattr(settings, name)]
    if not given:
        return
    for name in ("judge_url", "judge_model"):
        if not getattr(settings, name):
            wanted = flags[name]
            raise UsageError(f"{given[0]} is given without {wanted}", hint=f"add {wanted}")
    endpoint = {"base_url": settings.judge_url, "model": settings.judge_model}
    if settings.judge_api_key_env:
        endpoint["api_key_env"] = settings.judge_api_key_env
    rubric = {"rubric": settings.judge_rubric} if settings.judge_rubric else {}
    settings.added_evaluators.append(Spec("llm_judge", params={**endpoint, **rubric}))
    settings.added_metrics.append(Spec("judge_summary"))
    if settings.judge_pairwise:
        settings.added_evaluators.append(Spec("judge_material"))
        settings.added_metrics.append(Spec("pairwise_judge", params=endpoint))
