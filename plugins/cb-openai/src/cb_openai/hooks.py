"""`--proxy`, `--name` and `--model`: endpoints under test without writing specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore.exceptions import UsageError
from cbcore.specs import Spec

if TYPE_CHECKING:
    from cbcore.settings import RunSettings


def cb_configure(settings: RunSettings) -> None:
    """Add a system for each proxy; systems and proxies keep the order in which they were given."""
    proxies = make_proxies(settings)
    if not proxies:
        return
    given = {"systems": iter(settings.systems), "proxy": iter(proxies)}
    in_order = [next(given[name]) for name in settings.order if name in given]
    settings.systems = [*in_order, *given["systems"], *given["proxy"]]


def make_proxies(settings: RunSettings) -> list[Spec]:
    """The systems that `--proxy`, `--name` and `--model` stand for."""
    urls, names, models = (settings.get(flag) or [] for flag in ("proxy", "name", "model"))
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
    models = models * len(urls) if len(models) == 1 else models
    proxies = []
    for index, url in enumerate(urls):
        params = {"model": models[index]} if models else {}
        proxies.append(
            Spec("cb-openai/openai", url, params | ({"name": names[index]} if names else {}))
        )
    return proxies
