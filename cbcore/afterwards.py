"""What can be done with a result afterwards, from Python: report it, and ask its metrics again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cbcore._build.builder import Builder
from cbcore._build.remaking import remade_metric
from cbcore.exceptions import ResultError
from cbcore.plugins._host import default_host
from cbcore.secrets import blot

if TYPE_CHECKING:
    from cbcore.plugins._host import PluginHost
    from cbcore.results import EvalResult
    from cbcore.runconfig import RunConfig

__all__ = ("metrics_of", "render")


def render(result: EvalResult, reporter: str = "html") -> str:
    """A result as the text of an installed reporter, named as for `--output`."""
    part = Builder(default_host()).build("reporter", reporter)
    if not hasattr(part.value, "render"):
        raise ResultError(f"the format {part.name!r} is not text: it can only write a file")
    document: str = part.value.render(result)
    return blot(document)


def metrics_of(config: RunConfig, host: PluginHost | None = None) -> list[Any]:
    """The metrics that a result records, made again by the plugins that are installed.

    Raises `ResultError` where one cannot be made.
    """
    builder = Builder(host or default_host())
    return [remade_metric(builder, record) for record in config.get("metrics") or ()]
